package optimizers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// Adamax is [Adam] with the largest recent gradient instead of the mean square. In update t, with gradient g and
// learning rate a,
//
//	m ← m + (1-β1)·(g - m)
//	u ← max(β2·u, |g|)
//	w ← w - a·m/((1-β1^t)·(u + ε))
//
// Slots: momentum and norm. Name: "adamax". Behaviour of keras.optimizers.Adamax. Source: Kingma, Ba, "Adam", ICLR
// 2015, algorithm 2.
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

// Elementwise reports whether the update works element by element; see [Rule].
func (*Adamax) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *Adamax) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	beta1 := or(o.Beta1, 0.9)
	m := toward(slots[0], g, 1-beta1)
	u := ops.Maximum(ops.MultiplyScalar(slots[1], or(o.Beta2, 0.999)), ops.Abs(g))
	below := ops.Multiply(s.Decayed(w, beta1), ops.AddScalar(u, or(o.Epsilon, 1e-7)))
	return ops.Subtract(w, ops.Divide(ops.Multiply(s.Rate(w), m), below)), []*ops.Tensor{m, u}
}
