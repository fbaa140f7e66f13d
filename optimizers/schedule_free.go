package optimizers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// ScheduleFreeAdamW averages the weights along its path instead of lowering the learning rate. In update t, with
// gradient g and learning rate a (times min(t/WarmupSteps, 1)),
//
//	v ← v + (1-β2)·(g² - v)
//	z' = z - a·g/(√(v/(1-β2^t)) + ε)
//	x' = (1-1/t)·x + z'/t with x = (w - (1-β1)·z')/β1
//	w ← (1-β1)·z' + β1·x';  z ← z'
//
// z begins as the weight; the method is meant to be evaluated at the average x. Slots: momentum (z) and velocity (v).
// Name: "schedule_free_adam_w". Behaviour of keras.optimizers.ScheduleFreeAdamW on TensorFlow and PyTorch; on JAX and
// NumPy x is computed from z and not from z'. Source: Defazio et al., "The Road Less Scheduled", NeurIPS 2024,
// algorithm 1, which has z.
type ScheduleFreeAdamW struct {
	Base
	Options
	LearningRate any      `keras:"learning_rate,default=0.0025"` // float64 or schedules.Schedule; nil is 0.0025
	Beta1        *float64 `keras:"beta_1,default=0.9"`           // in (0, 1); nil is 0.9
	Beta2        *float64 `keras:"beta_2,default=0.999"`         // nil is 0.999
	Epsilon      *float64 `keras:"epsilon,default=1e-08"`        // nil is 1e-8
	WarmupSteps  int      `keras:"warmup_steps"`
	Name         string   `keras:"name,default=schedule_free_adam_w"`
}

func (o *ScheduleFreeAdamW) check() error {
	if b := or(o.Beta1, 0.9); b == 0 {
		return fmt.Errorf("Beta1 must be in (0, 1), received %v", b)
	}
	if o.WarmupSteps < 0 {
		return fmt.Errorf("WarmupSteps must not be negative, received %d", o.WarmupSteps)
	}
	return checkBetas(o.Beta1, o.Beta2)
}

// Settings implements [Rule].
func (o *ScheduleFreeAdamW) Settings() Settings {
	return Settings{named(o.Name, "schedule_free_adam_w"), o.LearningRate, 0.0025, o.Options}
}

// Build implements [Optimizer].
func (o *ScheduleFreeAdamW) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *ScheduleFreeAdamW) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *ScheduleFreeAdamW) Slots(w *distribute.Variable) []Slot {
	z := like(w, "momentum")
	z.OfWeight = true
	return []Slot{z, like(w, "velocity")}
}

// Elementwise reports whether the update works element by element; see [Rule].
func (*ScheduleFreeAdamW) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *ScheduleFreeAdamW) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	beta1, beta2 := or(o.Beta1, 0.9), or(o.Beta2, 0.999)
	t, rate := s.Number(w), s.Rate(w)
	if o.WarmupSteps > 0 {
		rate = ops.Multiply(rate, ops.MinimumScalar(ops.DivideScalar(t, float64(o.WarmupSteps)), 1))
	}
	v := toward(slots[1], ops.Square(g), 1-beta2)
	root := ops.AddScalar(ops.Sqrt(ops.Divide(v, s.Decayed(w, beta2))), or(o.Epsilon, 1e-8))
	z := ops.Subtract(slots[0], ops.Divide(ops.Multiply(rate, g), root))
	x := ops.DivideScalar(ops.Subtract(w, ops.MultiplyScalar(z, 1-beta1)), beta1)
	share := ops.Reciprocal(t)
	x = ops.Add(ops.Multiply(ops.Subtract(ops.OnesLike(share), share), x), ops.Multiply(share, z))
	return mix(x, z, beta1), []*ops.Tensor{z, v}
}
