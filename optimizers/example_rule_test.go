package optimizers_test

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/optimizers"
)

// signMomentum moves each weight by the learning rate in the direction of the sign of a moving average of its
// gradients.
type signMomentum struct {
	optimizers.Base
	optimizers.Options
	LearningRate any
}

func (o *signMomentum) Settings() optimizers.Settings {
	return optimizers.Settings{Name: "sign_momentum", LearningRate: o.LearningRate, DefaultRate: 0.01, Options: o.Options}
}

func (o *signMomentum) Slots(w *distribute.Variable) []optimizers.Slot {
	return []optimizers.Slot{{Name: "momentum", Shape: w.Type().Shape}}
}

func (o *signMomentum) Update(s *optimizers.Step, _ *distribute.Variable, w, gradient *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	m := ops.Add(ops.MultiplyScalar(slots[0], 0.9), ops.MultiplyScalar(gradient, 0.1))
	return ops.Subtract(w, ops.Multiply(s.Rate(w), ops.Sign(m))), []*ops.Tensor{m}
}

func (o *signMomentum) Build(w distribute.Variables) error           { return o.BuildRule(o, w) }
func (o *signMomentum) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// A custom optimizer has all options of the others: schedules, clipping, weight decay, averages, accumulation.
func ExampleRule() {
	train(&signMomentum{LearningRate: 0.25})
	// Output: 0.5000 2.5000 2.5000 4.0000
}
