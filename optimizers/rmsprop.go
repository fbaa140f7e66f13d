package optimizers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// RMSprop divides the gradient g by a moving average of its size. With learning rate a,
//
//	v ← ρ·v + (1-ρ)·g²
//	d = v + ε, centered: d = v - ḡ² + ε with ḡ ← ρ·ḡ + (1-ρ)·g
//	m ← μ·m + a·g/√d;  w ← w - m
//
// where μ is Momentum; ε is inside the root. Slots: velocity of all weights, then momentum (if not 0), then
// average_gradient (if centered). Name: "rm_sprop". Behaviour of keras.optimizers.RMSprop. Sources: Hinton, "Neural
// Networks for Machine Learning", lecture 6e, 2012; Graves, "Generating Sequences With Recurrent Neural Networks",
// 2013, equations 38 to 41 (centered).
type RMSprop struct {
	Base
	Options
	LearningRate any      `keras:"learning_rate,default=0.001"` // float64 or schedules.Schedule; nil is 0.001
	Rho          *float64 `keras:"rho,default=0.9"`             // ρ; nil is 0.9
	Momentum     float64  `keras:"momentum"`
	Epsilon      *float64 `keras:"epsilon,default=1e-07"` // nil is 1e-7
	Centered     bool     `keras:"centered"`
	Name         string   `keras:"name,default=rm_sprop"`
}

func (o *RMSprop) check() error {
	if !(o.Momentum >= 0 && o.Momentum <= 1) {
		return fmt.Errorf("Momentum must be in [0, 1], received %v", o.Momentum)
	}
	return nil
}

// Settings implements [Rule].
func (o *RMSprop) Settings() Settings {
	return Settings{named(o.Name, "rm_sprop"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *RMSprop) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *RMSprop) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *RMSprop) Slots(w *distribute.Variable) []Slot {
	slots := []Slot{like(w, "velocity")}
	add := func(name string) {
		s := like(w, name)
		s.Run = len(slots)
		slots = append(slots, s)
	}
	if o.Momentum > 0 {
		add("momentum")
	}
	if o.Centered {
		add("average_gradient")
	}
	return slots
}

// Elementwise reports whether the update works element by element; see [Rule].
func (*RMSprop) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *RMSprop) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	rho := or(o.Rho, 0.9)
	v := mix(slots[0], ops.Square(g), rho)
	next := []*ops.Tensor{v}
	var momentum, average *ops.Tensor
	if o.Centered {
		average = mix(slots[len(slots)-1], g, rho)
		v = ops.Subtract(v, ops.Square(average))
	}
	change := ops.Divide(ops.Multiply(s.Rate(w), g), ops.Sqrt(ops.AddScalar(v, or(o.Epsilon, 1e-7))))
	if o.Momentum > 0 {
		momentum = ops.Add(ops.MultiplyScalar(slots[1], o.Momentum), change)
		change, next = momentum, append(next, momentum)
	}
	if o.Centered {
		next = append(next, average)
	}
	return ops.Subtract(w, change), next
}

// mix returns share·average + (1-share)·x.
func mix(average, x *ops.Tensor, share float64) *ops.Tensor {
	return ops.Add(ops.MultiplyScalar(average, share), ops.MultiplyScalar(x, 1-share))
}
