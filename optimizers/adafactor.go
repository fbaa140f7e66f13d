package optimizers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// For a matrix, Adafactor keeps only the moving averages of its squared gradients over rows and over columns. In update
// t, with gradient g, learning rate a and the root mean square rms,
//
//	b = 1 - t^Beta2Decay;   α = max(ε2, rms(w))·min(a, 1/√t)
//	rank below 2:  v ← b·v + (1-b)·(g² + ε1)
//	otherwise:     r ← b·r + (1-b)·mean over the last axis of (g² + ε1)
//	               c ← b·c + (1-b)·mean over the last axis but one
//	               v ← (r/mean(r))·c
//	u = g/√v;  w ← w - α·u/max(1, rms(u)/ClipThreshold)
//
// Slots of each weight: r, c (unused scalars for rank below 2) and velocity (v). Name: "adafactor". Behaviour of
// keras.optimizers.Adafactor. Source: Shazeer, Stern, "Adafactor", ICML 2018, algorithms 4 and 5.
type Adafactor struct {
	Base
	Options
	LearningRate   any      `keras:"learning_rate,default=0.001"` // float64 or schedules.Schedule; nil is 0.001
	Beta2Decay     *float64 `keras:"beta_2_decay,default=-0.8"`   // nil is -0.8
	Epsilon1       *float64 `keras:"epsilon_1,default=1e-30"`     // nil is 1e-30
	Epsilon2       *float64 `keras:"epsilon_2,default=0.001"`     // nil is 0.001
	ClipThreshold  *float64 `keras:"clip_threshold,default=1"`    // positive; nil is 1
	NoRelativeStep bool     `keras:"relative_step,not"`           // no effect beyond the formula, as in Keras: min(a, 1/√t) is always taken
	Name           string   `keras:"name,default=adafactor"`
}

func (o *Adafactor) check() error {
	if c := or(o.ClipThreshold, 1); !(c > 0) {
		return fmt.Errorf("ClipThreshold must be positive, received %v", c)
	}
	return nil
}

// Settings implements [Rule].
func (o *Adafactor) Settings() Settings {
	return Settings{named(o.Name, "adafactor"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *Adafactor) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *Adafactor) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *Adafactor) Slots(w *distribute.Variable) []Slot {
	shape := w.Type().Shape
	r, c := Slot{Name: "r", DType: ir.Int32, placeholder: true}, Slot{Name: "c", DType: ir.Int32, placeholder: true}
	if n := len(shape); n >= 2 {
		r = Slot{Name: "r", Shape: shape.Without(n - 1)}
		c = Slot{Name: "c", Shape: shape.Without(n - 2)}
	}
	return []Slot{r, c, like(w, "velocity")}
}

// Update implements [Rule].
func (o *Adafactor) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	t := s.Number(w)
	rms := func(x *ops.Tensor) *ops.Tensor { return ops.Sqrt(ops.Mean(ops.Square(x))) }
	size := ops.MaximumScalar(rms(w), or(o.Epsilon2, 1e-3))
	alpha := ops.Multiply(size, ops.Minimum(s.Rate(w), ops.Rsqrt(t)))
	rest := ops.PowerScalar(t, or(o.Beta2Decay, -0.8)) // 1-b
	blend := func(old, x *ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Multiply(ops.Subtract(ops.OnesLike(rest), rest), old), ops.Multiply(rest, x))
	}
	squares := ops.AddScalar(ops.Square(g), or(o.Epsilon1, 1e-30))
	next := []*ops.Tensor{slots[0], slots[1], nil}
	if w.Rank() < 2 {
		next[2] = blend(slots[2], squares)
	} else {
		r, c := blend(slots[0], ops.Mean(squares, -1)), blend(slots[1], ops.Mean(squares, -2))
		share := ops.Divide(r, ops.KeepDims(ops.Mean(r, -1), r, -1))
		next = []*ops.Tensor{r, c, ops.Multiply(ops.ExpandDims(share, -1), ops.ExpandDims(c, -2))}
	}
	u := ops.Divide(g, ops.Sqrt(next[2]))
	u = ops.Divide(u, ops.MaximumScalar(ops.DivideScalar(rms(u), or(o.ClipThreshold, 1)), 1))
	return ops.Subtract(w, ops.Multiply(alpha, u)), next
}
