package optimizers

import (
	"math"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// Nadam is [Adam] with Nesterov momentum. In update t, with gradient g and learning rate a,
//
//	u_t = β1·(1 - 0.96^t/2);  P ← P·u_t (once per update; P begins at 1)
//	m ← m + (1-β1)·(g - m);   v ← v + (1-β2)·(g² - v)
//	m̂ = u_(t+1)·m/(1 - P·u_(t+1)) + (1-u_t)·g/(1 - P)
//	w ← w - a·m̂/(√(v/(1-β2^t)) + ε)
//
// Slots: momentum and velocity; the scalar P is the last variable. Name: "nadam". Behaviour of keras.optimizers.Nadam.
// Source: Dozat, "Incorporating Nesterov Momentum into Adam", 2015.
type Nadam struct {
	Base
	Options
	LearningRate any      `keras:"learning_rate,default=0.001"` // float64 or schedules.Schedule; nil is 0.001
	Beta1        *float64 `keras:"beta_1,default=0.9"`          // nil is 0.9
	Beta2        *float64 `keras:"beta_2,default=0.999"`        // nil is 0.999
	Epsilon      *float64 `keras:"epsilon,default=1e-07"`       // nil is 1e-7
	Name         string   `keras:"name,default=nadam"`
}

func (o *Nadam) check() error { return checkBetas(o.Beta1, o.Beta2) }

// Settings implements [Rule].
func (o *Nadam) Settings() Settings {
	return Settings{named(o.Name, "nadam"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *Nadam) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *Nadam) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *Nadam) Slots(w *distribute.Variable) []Slot {
	return []Slot{like(w, "momentum"), like(w, "velocity")}
}

func (o *Nadam) sharedSlots() []Slot { return []Slot{{Name: "u_product", Value: 1}} }

// decayOfMomentum is u_(t+later).
func (o *Nadam) decayOfMomentum(s *Step, like *ops.Tensor, later float64) *ops.Tensor {
	t := ops.AddScalar(s.Number(like), later)
	share := ops.MultiplyScalar(ops.Power(ops.Scalar(t, 0.96), t), -0.5)
	return ops.MultiplyScalar(ops.AddScalar(share, 1), or(o.Beta1, 0.9))
}

// productAfter returns P after a number of updates.
func (o *Nadam) productAfter(updates int64) float64 {
	product := 1.0
	for t := int64(1); t <= updates && product != 0; t++ {
		product *= or(o.Beta1, 0.9) * (1 - math.Pow(0.96, float64(t))/2)
	}
	return product
}

func (o *Nadam) advance(s *Step, shared []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Multiply(shared[0], o.decayOfMomentum(s, shared[0], 0))}
}

// Elementwise reports whether the update works element by element; see [Rule].
func (*Nadam) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *Nadam) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	beta1, beta2 := or(o.Beta1, 0.9), or(o.Beta2, 0.999)
	one := ops.Ones(w, w.DType())
	u, next := o.decayOfMomentum(s, w, 0), o.decayOfMomentum(s, w, 1)
	product := ops.Cast(s.shared[0], w.DType())
	m, v := toward(slots[0], g, 1-beta1), toward(slots[1], ops.Square(g), 1-beta2)
	ahead := ops.Divide(next, ops.Subtract(one, ops.Multiply(product, next)))
	now := ops.Divide(ops.Subtract(one, u), ops.Subtract(one, product))
	mean := ops.Add(ops.Multiply(ahead, m), ops.Multiply(now, g))
	root := ops.Sqrt(ops.Divide(v, s.Decayed(w, beta2)))
	change := ops.Divide(ops.Multiply(s.Rate(w), mean), ops.AddScalar(root, or(o.Epsilon, 1e-7)))
	return ops.Subtract(w, change), []*ops.Tensor{m, v}
}
