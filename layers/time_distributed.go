package layers

import (
	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// TimeDistributed applies a layer to every step of a sequence, with the same weights:
//
//	y[:, t] = Layer(x[:, t])    for each step t
//
// Input shape: (batch, steps, ...). Output shape: (batch, steps, ...) with the layer's result for each (batch, ...). A
// mask (batch, steps, ...) passes through, and the layer gets the part (batch, ...) of each step. Behaviour is that of
// keras.layers.TimeDistributed.
//
// The steps are computed together, as one batch of batch·steps examples. As in Keras, a layer that keeps statistics or
// states sees one step after the other instead: BatchNormalization normalizes each step with the statistics of that
// step. A custom layer that mixes the examples of a batch, but has no variables that are not trained, sees all steps at
// once. As in Keras, an ActivityRegularizer of the layer itself has no effect, but those of layers inside it do.
type TimeDistributed struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Layer Layer `keras:"layer,required"` // required
}

// Build creates the variables of the inner layer.
func (l *TimeDistributed) Build(b *Builder, in []ir.Shape) {
	if l.Layer == nil {
		b.Fail("Layer is nil; set layers.TimeDistributed{Layer: &layers.Dense{Units: n}}")
	}
	if len(in[0]) < 3 {
		b.Fail("needs an input (batch, steps, ...) of at least 3 axes, received shape %v", in[0])
	}
	b.BuildMember(l.Layer, ints.Concat(in[0][:1], in[0][2:]))
	l.Layer.base().activity = nil
}

// Forward applies the layer to all steps.
func (l *TimeDistributed) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if x.Rank() < 3 {
		ops.Failf(c.Graph(), "expected an input (batch, steps, ...) of at least 3 axes, received shape %v", x.Shape())
	}
	if m := x.Mask(); m != nil && (m.Rank() < 2 || !dim.MayEqual(m.Dim(0), x.Dim(0)) || !dim.MayEqual(m.Dim(1), x.Dim(1))) {
		ops.Failf(c.Graph(), "the mask has shape %v; it must begin with (batch, steps) of the input %v", m.Shape(), x.Shape())
	}
	if c.Training && keepsState(l.Layer) || IsStateful(l.Layer) {
		return []*ops.Tensor{l.stepByStep(c, x)}
	}
	y := callInside(l.Layer, c, withMaskOf(x, joinSteps))
	return []*ops.Tensor{ops.Reshape(y, ints.Concat(x.Shape()[:2], y.Shape()[1:])...)}
}

// callInside calls a layer like Keras's TimeDistributed, which runs the layer's computation without the rest of a call.
// The layer computes in the type of the wrapper, whatever its own policy says; only casts of its own, and layers inside
// it, use its own type. Layers that cast their input to their own type are called normally, and so are those with
// integer weights, because Keras multiplies these as they are.
func callInside(l Layer, c *Context, x *ops.Tensor) *ops.Tensor {
	b := attach(l)
	own := b.dtypePolicy(c)
	if len(b.sublayers) > 0 || own.Quantization.Mode != "" {
		return Invoke(l, c, x)
	}
	switch l.(type) {
	case *Rescaling, *Normalization, *CenterCrop, *Solarization, *RandomFlip, *RandomRotation:
		return Invoke(l, c, x)
	}
	y := invoke(l, c, []*ops.Tensor{x}, how{inside: true})[0]
	switch l.(type) {
	case *BatchNormalization, *LayerNormalization, *GroupNormalization, *Embedding, *ReversibleEmbedding:
		y = ops.Cast(y, own.Compute)
	}
	return y
}

// joinSteps reshapes (batch, steps, ...) to (batch·steps, ...).
func joinSteps(x *ops.Tensor) *ops.Tensor {
	s := x.Shape()
	return ops.Reshape(x, ints.Concat(ir.Shape{dim.Mul(s[0], s[1])}, s[2:])...)
}

// withMaskOf applies f to x and to its mask.
func withMaskOf(x *ops.Tensor, f func(*ops.Tensor) *ops.Tensor) *ops.Tensor {
	y := f(x)
	if m := x.Mask(); m != nil {
		return y.WithMask(f(m))
	}
	return y
}

func (l *TimeDistributed) stepByStep(c *Context, x *ops.Tensor) *ops.Tensor {
	if x.Dim(1) == 0 {
		ops.Failf(c.Graph(), "the input %v has no steps", x.Shape())
	}
	ops.Fixed(c, "a layer that keeps a state from step to step", x.Dim(1))
	ys := make([]*ops.Tensor, x.Dim(1)) //dim:known
	for t := range ys {
		ys[t] = callInside(l.Layer, c, withMaskOf(x, func(x *ops.Tensor) *ops.Tensor { return ops.Index(x, 1, t) }))
	}
	return ops.Stack(1, ys...)
}

// keepsState reports whether a layer, or one inside it, owns variables that are not trained but written by its calls.
// Layers that are known to have some count even before they are built.
func keepsState(l Layer) (keeps bool) {
	Walk(l, func(l Layer) {
		switch l.(type) {
		case *BatchNormalization, *SpectralNormalization:
			keeps = true
		}
		for _, v := range l.base().weights {
			keeps = keeps || v.Spec().Frozen
		}
	})
	return keeps
}

// IsStateful reports whether l, or a recurrent layer inside it, keeps states from call to call.
func IsStateful(l Layer) (stateful bool) {
	Walk(l, func(l Layer) { stateful = stateful || settingsOf(l).stateful })
	return stateful
}

// SupportsMasking reports that the mask of the steps passes through.
func (l *TimeDistributed) SupportsMasking() bool { return true }

// MemberAttributes names the inner layer as Keras files do.
func (l *TimeDistributed) MemberAttributes() []string { return []string{"layer"} }

func init() { Register[TimeDistributed]() }
