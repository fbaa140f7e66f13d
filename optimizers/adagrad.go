package optimizers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// Adagrad gives each element of a weight its own learning rate. It shrinks as the sum of the element's squared
// gradients g grows. With learning rate a,
//
//	s ← s + g²
//	w ← w - a·g/√(s + ε)
//
// Slots: accumulator. Name: "adagrad". Behaviour of keras.optimizers.Adagrad. Source: Duchi et al., "Adaptive
// Subgradient Methods for Online Learning and Stochastic Optimization", JMLR 2011.
type Adagrad struct {
	Base
	Options
	LearningRate            any      `keras:"learning_rate,default=0.001"`           // float64 or schedules.Schedule; nil is 0.001
	InitialAccumulatorValue *float64 `keras:"initial_accumulator_value,default=0.1"` // nil is 0.1
	Epsilon                 *float64 `keras:"epsilon,default=1e-07"`                 // nil is 1e-7
	Name                    string   `keras:"name,default=adagrad"`
}

func (o *Adagrad) check() error {
	return checkNotNegative("InitialAccumulatorValue", o.InitialAccumulatorValue)
}

func checkNotNegative(name string, v *float64) error {
	if v != nil && !(*v >= 0) {
		return fmt.Errorf("%s must not be negative, received %v", name, *v)
	}
	return nil
}

// Settings implements [Rule].
func (o *Adagrad) Settings() Settings {
	return Settings{named(o.Name, "adagrad"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *Adagrad) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *Adagrad) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *Adagrad) Slots(w *distribute.Variable) []Slot {
	s := like(w, "accumulator")
	s.Value = or(o.InitialAccumulatorValue, 0.1)
	return []Slot{s}
}

// Elementwise reports whether the update works element by element; see [Rule].
func (*Adagrad) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *Adagrad) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	sum := ops.Add(slots[0], ops.Square(g))
	root := ops.Sqrt(ops.AddScalar(sum, or(o.Epsilon, 1e-7)))
	return ops.Subtract(w, ops.Divide(ops.Multiply(s.Rate(w), g), root)), []*ops.Tensor{sum}
}
