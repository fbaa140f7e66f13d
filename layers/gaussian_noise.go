package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
)

// GaussianNoise adds, in training, normally distributed numbers of mean 0 and standard deviation Stddev. Otherwise y =
// x.
//
// Input shape: any. Output shape: that of the input. A mask passes through.
type GaussianNoise struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Stddev float64 `keras:"stddev,required"` // from 0 to 1
	Seed   *int    `keras:"seed"`            // different seeds draw different numbers
}

// Forward computes the layer.
func (l *GaussianNoise) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if !(l.Stddev >= 0 && l.Stddev <= 1) {
		ops.Failf(c.Graph(), "Stddev must be between 0 and 1, received %v", l.Stddev)
	}
	if !c.Training || l.Stddev == 0 {
		return []*ops.Tensor{x}
	}
	return []*ops.Tensor{ops.Add(x, ops.RandomNormal(c, x.DType(), 0, l.Stddev, seedOf(l.Seed), x.Shape()...))}
}

// SupportsMasking reports that a mask passes through.
func (l *GaussianNoise) SupportsMasking() bool { return true }

// GaussianDropout multiplies, in training, by normally distributed numbers of mean 1 and standard deviation
// sqrt(Rate/(1-Rate)), which is also that of [Dropout]'s factors. Otherwise y = x.
//
// Input shape: any. Output shape: that of the input. A mask passes through. Source: Srivastava et al., "Dropout", JMLR
// 2014, section 10.
type GaussianDropout struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Rate float64 `keras:"rate,required"` // at least 0, below 1
	Seed *int    `keras:"seed"`          // different seeds draw different numbers
}

// Forward computes the layer.
func (l *GaussianDropout) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if !(l.Rate >= 0 && l.Rate < 1) {
		ops.Failf(c.Graph(), "Rate must be at least 0 and below 1, received %v", l.Rate)
	}
	if !c.Training || l.Rate == 0 {
		return []*ops.Tensor{x}
	}
	stddev := math.Sqrt(l.Rate / (1 - l.Rate))
	return []*ops.Tensor{ops.Multiply(x, ops.RandomNormal(c, x.DType(), 1, stddev, seedOf(l.Seed), x.Shape()...))}
}

// SupportsMasking reports that a mask passes through.
func (l *GaussianDropout) SupportsMasking() bool { return true }

func init() {
	Register[GaussianNoise]()
	Register[GaussianDropout]()
}
