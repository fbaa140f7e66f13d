package optimizers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// Adam keeps moving averages of the gradient g and of its square. In update t, from 1, with learning rate a,
//
//	m ← m + (1-β1)·(g - m)
//	v ← v + (1-β2)·(g² - v)
//	w ← w - a·√(1-β2^t)/(1-β1^t) · m/(√v + ε)
//
// ε is added to √v without bias correction: it is the ε̂ at the end of section 2 of the paper. AMSGrad divides by √v̂ +
// ε instead, where v̂ ← max(v̂, v).
//
// Slots: momentum and velocity of each weight, then velocity_hat. Name: "adam". Behaviour of keras.optimizers.Adam.
// Sources: Kingma, Ba, "Adam", ICLR 2015; Reddi et al., "On the Convergence of Adam and Beyond", ICLR 2018.
type Adam struct {
	Base
	Options
	LearningRate any      `keras:"learning_rate,default=0.001"` // float64 or schedules.Schedule; nil is 0.001
	Beta1        *float64 `keras:"beta_1,default=0.9"`          // nil is 0.9
	Beta2        *float64 `keras:"beta_2,default=0.999"`        // nil is 0.999
	Epsilon      *float64 `keras:"epsilon,default=1e-07"`       // nil is 1e-7
	AMSGrad      bool     `keras:"amsgrad"`
	Name         string   `keras:"name,default=adam"`
}

func (o *Adam) check() error { return checkBetas(o.Beta1, o.Beta2) }

// checkBetas makes sure that the betas give moving averages.
func checkBetas(betas ...*float64) error {
	for i, b := range betas {
		if b != nil && !(*b >= 0 && *b < 1) {
			return fmt.Errorf("Beta%d must be in [0, 1), received %v", i+1, *b)
		}
	}
	return nil
}

// Settings implements [Rule].
func (o *Adam) Settings() Settings {
	return Settings{named(o.Name, "adam"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *Adam) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *Adam) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *Adam) Slots(w *distribute.Variable) []Slot { return adamSlots(w, o.AMSGrad) }

// Elementwise reports whether the update works element by element; see [Rule].
func (*Adam) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *Adam) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	return adam(s, w, g, slots, s.Rate(w), or(o.Beta1, 0.9), or(o.Beta2, 0.999), or(o.Epsilon, 1e-7))
}

func adamSlots(w *distribute.Variable, amsgrad bool) []Slot {
	slots := []Slot{like(w, "momentum"), like(w, "velocity")}
	if amsgrad {
		hat := like(w, "velocity_hat")
		hat.Run = 1
		slots = append(slots, hat)
	}
	return slots
}

// adam is the update of [Adam], with AMSGrad if there is a third slot.
func adam(s *Step, w, g *ops.Tensor, slots []*ops.Tensor, rate *ops.Tensor, beta1, beta2, epsilon float64) (*ops.Tensor, []*ops.Tensor) {
	if len(slots) == 2 && beta1 > 0 && beta2 > 0 {
		return ops.OptimizerUpdate("adam", []float64{beta1, beta2, epsilon}, w, g, rate, s.Number(w), slots...)
	}
	m, v := toward(slots[0], g, 1-beta1), toward(slots[1], ops.Square(g), 1-beta2)
	next, root := []*ops.Tensor{m, v}, v
	if len(slots) == 3 {
		root = ops.Maximum(slots[2], v)
		next = append(next, root)
	}
	alpha := ops.Divide(ops.Multiply(rate, ops.Sqrt(s.Decayed(w, beta2))), s.Decayed(w, beta1))
	return ops.Subtract(w, ops.Divide(ops.Multiply(alpha, m), ops.AddScalar(ops.Sqrt(root), epsilon))), next
}
