package layers

import "github.com/gokeras/gokeras/keras/ops"

// ReLU is the rectifier with its options. With threshold t and slope s,
//
//	y = min(x, MaxValue)   where x > t
//	y = s · (x - t)        elsewhere
//
// Input shape: any. Output shape: that of the input. A mask passes through. Behaviour and defaults are those of
// keras.layers.ReLU.
type ReLU struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	MaxValue      *float64 `keras:"max_value"`      // at least 0; nil is no limit
	NegativeSlope float64  `keras:"negative_slope"` // at least 0
	Threshold     float64  `keras:"threshold"`      // at least 0
}

// Forward computes the layer.
func (l *ReLU) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	limit := number(l.MaxValue, unlimited)
	if !(limit >= 0 && l.NegativeSlope >= 0 && l.Threshold >= 0) {
		ops.Failf(c.Graph(), "MaxValue, NegativeSlope and Threshold must be at least 0, received %v, %v and %v", limit, l.NegativeSlope, l.Threshold)
	}
	return []*ops.Tensor{ops.ReluWith(one(c, in), l.NegativeSlope, limit, l.Threshold)}
}

// SupportsMasking reports that a mask passes through.
func (l *ReLU) SupportsMasking() bool { return true }

func init() { Register[ReLU]() }
