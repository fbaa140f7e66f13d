package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// AlphaDropout is the dropout for networks of scaled exponential linear units. In training an element becomes
//
//	y = a · x + b    with probability 1 - Rate
//	y = a · α' + b   with probability Rate
//
// with α' = -1.7580993408473766, the smallest value of selu, a = ((1-Rate)(1 + Rate·α'²))^(-1/2) and b = -a·α'·Rate,
// which keep mean 0 and variance 1. Otherwise y = x.
//
// Input shape: any. Output shape: that of the input. A mask passes through. Source: Klambauer et al., "Self-Normalizing
// Neural Networks", NeurIPS 2017, section "New Dropout Technique".
type AlphaDropout struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Rate       float64 `keras:"rate,required"`          // at least 0, below 1
	NoiseShape []int   `keras:"noise_shape,null,shape"` // as for Dropout; nil is the input's shape
	Seed       *int    `keras:"seed"`                   // different seeds draw different numbers
}

// Forward computes the layer.
func (l *AlphaDropout) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if !(l.Rate >= 0 && l.Rate < 1) {
		ops.Failf(c.Graph(), "Rate must be at least 0 and below 1, received %v", l.Rate)
	}
	if !c.Training || l.Rate == 0 {
		return []*ops.Tensor{x}
	}
	noise := x.Shape()
	if l.NoiseShape != nil {
		noise = noiseShape(c, x, l.NoiseShape)
	}
	const least = -1.6732632423543772 * 1.0507009873554805
	a := 1 / math.Sqrt((1-l.Rate)*(1+l.Rate*least*least))
	drawn := ops.RandomUniform(c, ir.Float32, 0, 1, seedOf(l.Seed), noise...)
	kept := ops.CompareScalar(ir.Ge, drawn, l.Rate)
	y := ops.Where(kept, x, ops.Scalar(x, least))
	return []*ops.Tensor{ops.AddScalar(ops.MultiplyScalar(y, a), -a*least*l.Rate)}
}

// SupportsMasking reports that a mask passes through.
func (l *AlphaDropout) SupportsMasking() bool { return true }

func init() { Register[AlphaDropout]() }
