package optimizers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// Adadelta scales each step to the size of recent steps. With gradient g and learning rate a,
//
//	G ← ρ·G + (1-ρ)·g²
//	δ = -√(D + ε)/√(G + ε)·g
//	D ← ρ·D + (1-ρ)·δ²
//	w ← w + a·δ
//
// The paper has a = 1. Slots: accumulated_grad and accumulated_delta_var. Name: "adadelta". Behaviour of
// keras.optimizers.Adadelta. Source: Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012, algorithm 1.
type Adadelta struct {
	Base
	Options
	LearningRate any      `keras:"learning_rate,default=0.001"` // float64 or schedules.Schedule; nil is 0.001
	Rho          *float64 `keras:"rho,default=0.95"`            // ρ; nil is 0.95
	Epsilon      *float64 `keras:"epsilon,default=1e-07"`       // nil is 1e-7
	Name         string   `keras:"name,default=adadelta"`
}

// Settings implements [Rule].
func (o *Adadelta) Settings() Settings {
	return Settings{named(o.Name, "adadelta"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *Adadelta) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *Adadelta) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *Adadelta) Slots(w *distribute.Variable) []Slot {
	return []Slot{like(w, "accumulated_grad"), like(w, "accumulated_delta_var")}
}

// Elementwise reports whether the update works element by element; see [Rule].
func (*Adadelta) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *Adadelta) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	rho, epsilon := or(o.Rho, 0.95), or(o.Epsilon, 1e-7)
	rms := func(x *ops.Tensor) *ops.Tensor { return ops.Sqrt(ops.AddScalar(x, epsilon)) }
	squares := mix(slots[0], ops.Square(g), rho)
	delta := ops.Negative(ops.Divide(ops.Multiply(rms(slots[1]), g), rms(squares)))
	deltas := mix(slots[1], ops.Square(delta), rho)
	return ops.Add(w, ops.Multiply(s.Rate(w), delta)), []*ops.Tensor{squares, deltas}
}
