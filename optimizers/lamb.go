package optimizers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Lamb is [Adam] with steps in proportion to the length (norm) of each weight. It is meant for very large batches. In
// update t, with gradient g and learning rate a,
//
//	m ← m + (1-β1)·(g - m);  v ← v + (1-β2)·(g² - v)
//	r = m/(1-β1^t) / (√(v/(1-β2^t)) + ε)
//	w ← w - a·(‖w‖/‖r‖)·r, where the ratio is 1 if either length is 0
//
// Slots: momentum and velocity. Name: "lamb". Behaviour of keras.optimizers.Lamb. Source: You et al., "Large Batch
// Optimization for Deep Learning", ICLR 2020, algorithm 2.
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
