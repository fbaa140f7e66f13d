package optimizers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// AdamW is [Adam] with weight decay: first w ← w - w·WeightDecay·a, then the update of Adam. WeightDecay defaults to
// 0.004. Name: "adam_w". Behaviour of keras.optimizers.AdamW. Source: Loshchilov, Hutter, "Decoupled Weight Decay
// Regularization", ICLR 2019.
type AdamW struct {
	Base
	Options
	LearningRate any      `keras:"learning_rate,default=0.001"` // float64 or schedules.Schedule; nil is 0.001
	WeightDecay  *float64 `keras:"weight_decay,default=0.004"`  // nil is 0.004
	Beta1        *float64 `keras:"beta_1,default=0.9"`          // nil is 0.9
	Beta2        *float64 `keras:"beta_2,default=0.999"`        // nil is 0.999
	Epsilon      *float64 `keras:"epsilon,default=1e-07"`       // nil is 1e-7
	AMSGrad      bool     `keras:"amsgrad"`
	Name         string   `keras:"name,default=adam_w"`
}

func (o *AdamW) check() error { return checkBetas(o.Beta1, o.Beta2) }

// Settings implements [Rule].
func (o *AdamW) Settings() Settings {
	options := o.Options
	if o.WeightDecay != nil {
		options.WeightDecay = o.WeightDecay
	}
	if options.WeightDecay == nil {
		options.WeightDecay = new(0.004)
	}
	return Settings{named(o.Name, "adam_w"), o.LearningRate, 0.001, options}
}

// Build implements [Optimizer].
func (o *AdamW) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *AdamW) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *AdamW) Slots(w *distribute.Variable) []Slot { return adamSlots(w, o.AMSGrad) }

// Elementwise reports whether the update works element by element; see [Rule].
func (*AdamW) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *AdamW) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	return adam(s, w, g, slots, s.Rate(w), or(o.Beta1, 0.9), or(o.Beta2, 0.999), or(o.Epsilon, 1e-7))
}
