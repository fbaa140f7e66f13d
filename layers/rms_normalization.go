package layers

import (
	"encoding/json"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RMSNormalization divides each example by its root mean square over some axes and multiplies by a learned scale:
//
//	y = scale · x / sqrt(mean(x²) + Epsilon)
//
// Half precision is computed in float32.
//
// Input shape: any. Output shape: that of the input. A mask does not pass through, as in Keras. Weights: scale, of the
// lengths of Axis. Source: Zhang, Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019, equation 4.
type RMSNormalization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Axis    []int    `keras:"axis,default=[-1]"`        // nil is {-1}
	Epsilon *float64 `keras:"epsilon,default=0.000001"` // nil is 1e-6

	scale *distribute.Variable
}

// MigrateConfig reads an epsilon of null, which stands for 1e-7.
func (l *RMSNormalization) MigrateConfig(keys map[string]json.RawMessage) error {
	epsilonOfNone(keys)
	return nil
}

// Build creates the scale.
func (l *RMSNormalization) Build(b *Builder, in []ir.Shape) {
	l.scale = b.AddWeight("scale", axesShape(b, l.Axis, in[0]), WeightOptions{Initializer: "ones"})
}

// Forward computes the layer.
func (l *RMSNormalization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := atLeastFloat32(one(c, in))
	axes := fieldAxes(x, l.Axis)
	scale := alongAxes(ops.Cast(c.Weight(l.scale), x.DType()), x, axes)
	square := ops.KeepDims(ops.Mean(ops.Square(x), axes...), x, axes...)
	y := ops.Multiply(ops.Multiply(x, ops.Rsqrt(ops.AddScalar(square, number(l.Epsilon, 1e-6)))), scale)
	return []*ops.Tensor{ops.Cast(y, c.ComputeDType())}
}

func init() { Register[RMSNormalization]() }
