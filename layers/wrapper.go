package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Wrapper passes its inputs to another layer and returns that layer's results: y = Layer(x). It is the basic form of
// layers that wrap another one, such as [TimeDistributed] and [Bidirectional].
//
// Input shapes, output shapes and masks: those of the layer. Weights: those of the layer. Configuration is that of
// keras.layers.Wrapper.
type Wrapper struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Layer Layer `keras:"layer,required"` // required
}

// Build builds the layer.
func (l *Wrapper) Build(b *Builder, in []ir.Shape) {
	if l.Layer == nil {
		b.Fail("Layer is nil; set layers.Wrapper{Layer: &layers.Dense{Units: n}}")
	}
	b.BuildMember(l.Layer, in...)
}

// Forward calls the layer.
func (l *Wrapper) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return InvokeAll(l.Layer, c, in...)
}

// ComputeMask passes on the masks that the layer made.
func (l *Wrapper) ComputeMask(_ *Context, _, out []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(out))
	for i, y := range out {
		masks[i] = y.Mask()
	}
	return masks
}

// MemberAttributes names the layer as Keras files do.
func (l *Wrapper) MemberAttributes() []string { return []string{"layer"} }

func init() { Register[Wrapper]() }
