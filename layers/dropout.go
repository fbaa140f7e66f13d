package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Dropout sets, in training, each element to 0 with probability Rate and multiplies the others by 1/(1-Rate), so that
// the expected value is unchanged. Otherwise y = x.
//
// With NoiseShape several elements share one draw. It has the input's rank; elements along an axis of length 1 share
// one draw, and Unknown stands for the input's own length.
//
// Input shape: any. Output shape: that of the input. A mask passes through. Source: Srivastava et al., "Dropout", JMLR
// 2014.
type Dropout struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Rate       float64 `keras:"rate,required"`          // from 0 to 1
	NoiseShape []int   `keras:"noise_shape,null,shape"` // nil is the input's shape
	Seed       *int    `keras:"seed"`                   // different seeds draw different numbers
}

// Forward computes the layer.
func (l *Dropout) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	noise := x.Shape()
	if l.NoiseShape != nil {
		noise = noiseShape(c, x, l.NoiseShape)
	}
	return []*ops.Tensor{dropout(c, x, l.Rate, l.Seed, noise)}
}

// noiseShape fills in the open axes of a NoiseShape field. A fixed batch length counts only in training.
func noiseShape(c *Context, x *ops.Tensor, shape []int) ir.Shape {
	out := ir.Shape(shape).Clone()
	if len(out) != x.Rank() {
		ops.Failf(x.Graph(), "NoiseShape %v must have one entry for each axis of the input %v", shape, x.Shape())
	}
	for i, n := range out {
		if n == Unknown || i == 0 && n > 1 && !c.Training { //dim:known NoiseShape is given
			out[i] = x.Dim(i)
		}
		if out[i] != 1 && !dim.MayEqual(out[i], x.Dim(i)) {
			ops.Failf(x.Graph(), "NoiseShape %v must have 1 or the input's length on each axis, the input is %v", shape, x.Shape())
		}
	}
	return out
}

// checkRate reports a rate that is not a probability.
func checkRate(g *ops.Graph, rate float64) {
	if !(rate >= 0 && rate <= 1) {
		ops.Failf(g, "Rate must be between 0 and 1, received %v", rate)
	}
}

// dropout drops elements of x in training, with one draw for each element of the noise shape.
func dropout(c *Context, x *ops.Tensor, rate float64, seed *int, noise ir.Shape) *ops.Tensor {
	checkRate(c.Graph(), rate)
	switch {
	case !c.Training || rate == 0:
		return x
	case rate == 1:
		return ops.Where(ops.Zeros(x, ir.Bool), x, ops.Scalar(x, 0))
	case noise.Equal(x.Shape()):
		return ops.Dropout(x, rate, seedOf(seed))
	}
	return ops.Multiply(x, ops.Dropout(ops.Ones(x, x.DType(), noise...), rate, seedOf(seed)))
}

// SupportsMasking reports that a mask passes through.
func (l *Dropout) SupportsMasking() bool { return true }

func init() { Register[Dropout]() }
