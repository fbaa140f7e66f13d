package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Pipeline applies layers one after the other, usually layers that prepare images. The result of each is the input of
// the next. It is a plain layer, not a model.
//
// Input shape: that of the first layer. Output shape: that of the last one. Masks are those of the layers.
type Pipeline struct {
	Base

	Name   string  `keras:"name"`
	Layers []Layer `keras:"layers"` // required, each with one input and one output
}

// Build builds all layers.
func (l *Pipeline) Build(b *Builder, in []ir.Shape) {
	if len(l.Layers) == 0 {
		b.Fail("Layers is empty; give at least one layer")
	}
	for i, member := range l.Layers {
		if IsNil(member) {
			b.Fail("layer %d is nil", i)
		}
	}
	SetSublayers(l, l.Layers)
	if err := AssignNames(l); err != nil { // so that two layers of one class have weights of different paths
		ops.Fail(b.context.Graph(), err)
	}
}

// Forward computes the layer.
func (l *Pipeline) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	for _, member := range l.Layers {
		x = Invoke(member, c, x)
	}
	return []*ops.Tensor{x}
}

// MemberAttributes names the attribute of the layers in weights files.
func (l *Pipeline) MemberAttributes() []string {
	names := make([]string, len(l.Layers))
	for i := range names {
		names[i] = "_pipeline_layers[]" // of one, too
	}
	return names
}

// ComputeMask keeps the mask that the last layer made.
func (l *Pipeline) ComputeMask(_ *Context, _, outputs []*ops.Tensor) []*ops.Tensor {
	return []*ops.Tensor{outputs[0].Mask()}
}

func init() { Register[Pipeline]() }
