package optimizers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// SGD is stochastic gradient descent. With gradient g, learning rate a and momentum μ,
//
//	μ = 0:    w ← w - a·g
//	else:     m ← μ·m - a·g;  w ← w + m
//	Nesterov: m ← μ·m - a·g;  w ← w + μ·m - a·g
//
// Slots: momentum, unless Momentum is 0. Name: "sgd". Behaviour of keras.optimizers.SGD. Source: Sutskever et al., "On
// the importance of initialization and momentum in deep learning", ICML 2013.
type SGD struct {
	Base
	Options
	LearningRate any     `keras:"learning_rate,default=0.01"` // float64 or schedules.Schedule; nil is 0.01
	Momentum     float64 `keras:"momentum"`                   // in [0, 1]
	Nesterov     bool    `keras:"nesterov"`
	Name         string  `keras:"name,default=sgd"`
}

func (o *SGD) check() error {
	if !(o.Momentum >= 0 && o.Momentum <= 1) {
		return fmt.Errorf("Momentum must be in [0, 1], received %v", o.Momentum)
	}
	return nil
}

// Settings implements [Rule].
func (o *SGD) Settings() Settings {
	return Settings{named(o.Name, "sgd"), o.LearningRate, 0.01, o.Options}
}

// Build implements [Optimizer].
func (o *SGD) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *SGD) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *SGD) Slots(w *distribute.Variable) []Slot {
	if o.Momentum == 0 {
		return nil
	}
	return []Slot{like(w, "momentum")}
}

// Elementwise reports whether the update works element by element; see [Rule].
func (*SGD) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *SGD) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	switch {
	case o.Momentum == 0:
		return ops.OptimizerUpdate("sgd", nil, w, g, s.Rate(w), s.Number(w))
	case o.Nesterov:
		return ops.OptimizerUpdate("nesterov", []float64{o.Momentum}, w, g, s.Rate(w), s.Number(w), slots...)
	}
	return ops.OptimizerUpdate("momentum", []float64{o.Momentum}, w, g, s.Rate(w), s.Number(w), slots...)
}

// named returns the user's name or the default.
func named(name, def string) string {
	if name == "" {
		return def
	}
	return name
}
