package optimizers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// Lion moves every element by the same distance, in the direction given by the sign of a mean of gradients. With
// gradient g and learning rate a,
//
//	w ← w - a·sign(β1·m + (1-β1)·g)
//	m ← β2·m + (1-β2)·g
//
// Slots: momentum. Name: "lion". Behaviour of keras.optimizers.Lion. Source: Chen et al., "Symbolic Discovery of
// Optimization Algorithms", 2023, program 1.
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

// Elementwise reports whether the update works element by element; see [Rule].
func (*Lion) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *Lion) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	direction := ops.Sign(mix(slots[0], g, or(o.Beta1, 0.9)))
	return ops.Subtract(w, ops.Multiply(s.Rate(w), direction)), []*ops.Tensor{mix(slots[0], g, or(o.Beta2, 0.99))}
}
