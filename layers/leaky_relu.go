package layers

import (
	"encoding/json"

	"github.com/gokeras/gokeras/keras/ops"
)

// LeakyReLU is a rectifier with a small slope for negative numbers:
//
//	y = x where x >= 0, NegativeSlope · x elsewhere
//
// Input shape: any. Output shape: that of the input. A mask passes through. The default slope is that of
// keras.layers.LeakyReLU, 0.3; the function "leaky_relu" has 0.2.
type LeakyReLU struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	NegativeSlope *float64 `keras:"negative_slope,default=0.3"` // at least 0; nil is 0.3
}

// Forward computes the layer.
func (l *LeakyReLU) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	slope := number(l.NegativeSlope, 0.3)
	if !(slope >= 0) {
		ops.Failf(c.Graph(), "NegativeSlope must be at least 0, received %v", slope)
	}
	return []*ops.Tensor{ops.LeakyRelu(one(c, in), slope)}
}

// SupportsMasking reports that a mask passes through.
func (l *LeakyReLU) SupportsMasking() bool { return true }

// MigrateConfig reads the name that the slope had in Keras 2.
func (l *LeakyReLU) MigrateConfig(keys map[string]json.RawMessage) error {
	if alpha, ok := keys["alpha"]; ok {
		keys["negative_slope"] = alpha
		delete(keys, "alpha")
	}
	return nil
}

func init() { Register[LeakyReLU]() }
