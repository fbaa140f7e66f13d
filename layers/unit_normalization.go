package layers

import "github.com/gokeras/gokeras/keras/ops"

// UnitNormalization scales each example to length 1:
//
//	y = x / max(‖x‖, 1e-12)
//
// where ‖x‖ is the Euclidean length over Axis. Zeros stay zeros.
//
// Input shape: any. Output shape: that of the input. A mask passes through.
type UnitNormalization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Axis []int `keras:"axis,scalar,default=-1"` // nil is {-1}
}

// Forward computes the layer.
func (l *UnitNormalization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	return []*ops.Tensor{unitLength(x, fieldAxes(x, l.Axis), 1e-12)}
}

// unitLength divides x by its length over the given axes, or by epsilon if that is larger.
func unitLength(x *ops.Tensor, axes []int, epsilon float64) *ops.Tensor {
	wide := atLeastFloat32(x)
	squares := ops.KeepDims(ops.Sum(ops.Square(wide), axes...), wide, axes...)
	y := ops.Multiply(wide, ops.Rsqrt(ops.MaximumScalar(squares, epsilon*epsilon)))
	return ops.Cast(y, x.DType())
}

// SupportsMasking reports that a mask passes through.
func (l *UnitNormalization) SupportsMasking() bool { return true }

func init() { Register[UnitNormalization]() }
