package optimizers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Adamax is [Adam] with the largest recent gradient in place of the mean square. In update t, with gradient g and learning rate a,
//
//	m ← m + (1-β1)·(g - m)
//	u ← max(β2·u, |g|)
//	w ← w - a·m/((1-β1^t)·(u + ε))
//
// Slots: momentum and norm. Name: "adamax". Behaviour of keras.optimizers.Adamax. Source: Kingma, Ba, "Adam", ICLR 2015, algorithm 2.
type Adamax struct {
	Base
	Options
	LearningRate any      `keras:"learning_rate,default=0.001"` // float64 or schedules.Schedule; nil is 0.001
	Beta1        *float64 `keras:"beta_1,default=0.9"`          // nil is 0.9
	Beta2        *float64 `keras:"beta_2,default=0.999"`        // nil is 0.999
	Epsilon      *float64 `keras:"epsilon,default=1e-07"`       // nil is 1e-7
	Name         string   `keras:"name,default=adamax"`
}

func (o *Adamax) check() error { return checkBetas(o.Beta1, o.Beta2) }

// Settings implements [Rule].
func (o *Adamax) Settings() Settings {
	return Settings{named(o.Name, "adamax"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *Adamax) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *Adamax) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *Adamax) Slots(w *distribute.Variable) []Slot {
	return []Slot{like(w, "momentum"), like(w, "norm")}
}

// Update implements [Rule].
func (o *Adamax) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	beta1 := or(o.Beta1, 0.9)
	m := toward(slots[0], g, 1-beta1)
	u := ops.Maximum(ops.MultiplyScalar(slots[1], or(o.Beta2, 0.999)), ops.Abs(g))
	below := ops.Multiply(s.Decayed(w, beta1), ops.AddScalar(u, or(o.Epsilon, 1e-7)))
	return ops.Subtract(w, ops.Divide(ops.Multiply(s.Rate(w), m), below)), []*ops.Tensor{m, u}
}

// Nadam is [Adam] with Nesterov momentum. In update t, with gradient g and learning rate a,
//
//	u_t = β1·(1 - 0.96^t/2);  P ← P·u_t (once, P begins at 1)
//	m ← m + (1-β1)·(g - m);   v ← v + (1-β2)·(g² - v)
//	m̂ = u_(t+1)·m/(1 - P·u_(t+1)) + (1-u_t)·g/(1 - P)
//	w ← w - a·m̂/(√(v/(1-β2^t)) + ε)
//
// Slots: momentum and velocity; the scalar P is the last variable. Name: "nadam". Behaviour of keras.optimizers.Nadam. Source: Dozat,
// "Incorporating Nesterov Momentum into Adam", 2015.
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

func (o *Nadam) advance(s *Step, shared []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{ops.Multiply(shared[0], o.decayOfMomentum(s, shared[0], 0))}
}

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

// Lion moves every element by the same distance, in the direction of a mean of gradients. With gradient g and learning rate a,
//
//	w ← w - a·sign(β1·m + (1-β1)·g)
//	m ← β2·m + (1-β2)·g
//
// Slots: momentum. Name: "lion". Behaviour of keras.optimizers.Lion. Source: Chen et al., "Symbolic Discovery of Optimization Algorithms",
// 2023, program 1.
type Lion struct {
	Base
	Options
	LearningRate any      `keras:"learning_rate,default=0.001"` // float64 or schedules.Schedule; nil is 0.001
	Beta1        *float64 `keras:"beta_1,default=0.9"`          // in (0, 1]; nil is 0.9
	Beta2        *float64 `keras:"beta_2,default=0.99"`         // nil is 0.99
	Name         string   `keras:"name,default=lion"`
}

func (o *Lion) check() error {
	if b := or(o.Beta1, 0.9); !(b > 0 && b <= 1) {
		return fmt.Errorf("Beta1 must be in (0, 1], received %v; with 0 this would be plain sign descent", b)
	}
	return nil
}

// Settings implements [Rule].
func (o *Lion) Settings() Settings {
	return Settings{named(o.Name, "lion"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *Lion) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *Lion) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *Lion) Slots(w *distribute.Variable) []Slot { return []Slot{like(w, "momentum")} }

// Update implements [Rule].
func (o *Lion) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	direction := ops.Sign(mix(slots[0], g, or(o.Beta1, 0.9)))
	return ops.Subtract(w, ops.Multiply(s.Rate(w), direction)), []*ops.Tensor{mix(slots[0], g, or(o.Beta2, 0.99))}
}

// Lamb is [Adam] with a step for each weight in proportion to the weight's length, for very large batches. In update t, with gradient g and
// learning rate a,
//
//	m ← m + (1-β1)·(g - m);  v ← v + (1-β2)·(g² - v)
//	r = m/(1-β1^t) / (√(v/(1-β2^t)) + ε)
//	w ← w - a·(‖w‖/‖r‖)·r, where the ratio is 1 if either length is 0
//
// Slots: momentum and velocity. Name: "lamb". Behaviour of keras.optimizers.Lamb. Source: You et al., "Large Batch Optimization for Deep
// Learning", ICLR 2020, algorithm 2.
type Lamb struct {
	Base
	Options
	LearningRate any      `keras:"learning_rate,default=0.001"` // float64 or schedules.Schedule; nil is 0.001
	Beta1        *float64 `keras:"beta_1,default=0.9"`          // nil is 0.9
	Beta2        *float64 `keras:"beta_2,default=0.999"`        // nil is 0.999
	Epsilon      *float64 `keras:"epsilon,default=1e-07"`       // nil is 1e-7
	Name         string   `keras:"name,default=lamb"`
}

func (o *Lamb) check() error { return checkBetas(o.Beta1, o.Beta2) }

// Settings implements [Rule].
func (o *Lamb) Settings() Settings {
	return Settings{named(o.Name, "lamb"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *Lamb) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *Lamb) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *Lamb) Slots(w *distribute.Variable) []Slot {
	return []Slot{like(w, "momentum"), like(w, "velocity")}
}

// Update implements [Rule].
func (o *Lamb) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	beta1, beta2 := or(o.Beta1, 0.9), or(o.Beta2, 0.999)
	m, v := toward(slots[0], g, 1-beta1), toward(slots[1], ops.Square(g), 1-beta2)
	root := ops.AddScalar(ops.Sqrt(ops.Divide(v, s.Decayed(w, beta2))), or(o.Epsilon, 1e-7))
	change := ops.Divide(ops.Divide(m, s.Decayed(w, beta1)), root)
	length := func(x *ops.Tensor) *ops.Tensor { return ops.Sqrt(ops.Sum(ops.Square(x))) }
	ofWeight, ofChange := length(w), length(change)
	both := ops.LogicalAnd(ops.CompareScalar(ir.Gt, ofWeight, 0), ops.CompareScalar(ir.Gt, ofChange, 0))
	ratio := ops.Where(both, ops.Divide(ofWeight, ofChange), ops.OnesLike(ofWeight))
	return ops.Subtract(w, ops.Multiply(ops.Multiply(ratio, s.Rate(w)), change)), []*ops.Tensor{m, v}
}
