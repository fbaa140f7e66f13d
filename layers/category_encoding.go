package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// CategoryEncoding writes integers from 0 to NumTokens-1 as rows of NumTokens zeros and ones, or counts:
//
//	OutputMode    x = [[1, 2, 2], [0, 1, 3]], NumTokens 4
//	"multi_hot"   [[0 1 1 0], [1 1 0 1]]     a one for each number that the sample holds; the default
//	"count"       [[0 1 2 0], [1 1 0 1]]     how often the sample holds it
//	"one_hot"     each number as a row of its own: shape (2, 3, 4)
//
// Numbers outside the range are ignored, as in Keras's JAX backend; its TensorFlow backend reports them. With "count" a
// second input of the shape of the first gives each number a weight, and the row holds sums of weights.
//
// Input shape: (batch, samples), or any other. Output shape: (batch, NumTokens); more axes after the samples stay
// between the two. "one_hot": the input's shape with NumTokens in place of a last axis of 1, else after the last axis.
// The type is the compute type.
type CategoryEncoding struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	NumTokens  int        `keras:"num_tokens"`                    // length of the rows; required
	OutputMode OutputMode `keras:"output_mode,default=multi_hot"` // see above; "" is "multi_hot"
}

// Forward computes the layer.
func (l *CategoryEncoding) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	mode := outputMode(l.OutputMode, MultiHotMode)
	if l.NumTokens < 1 {
		ops.Failf(c.Graph(), "NumTokens must be at least 1, received %d; set it to the number of different categories", l.NumTokens)
	}
	var weights *ops.Tensor
	if len(in) == 2 {
		if mode != CountMode {
			ops.Failf(c.Graph(), "takes weights only with OutputMode %q, received %q", CountMode, mode)
		}
		if weights = in[1]; !dim.ShapesMayEqual(weights.Shape(), in[0].Shape()) {
			ops.Failf(c.Graph(), "weights have shape %v, the numbers %v; the two must be equal", weights.Shape(), in[0].Shape())
		}
		in = in[:1]
	}
	dtype := c.ComputeDType()
	if weights == nil { // as Keras computes it, though it declares the compute type
		dtype = l.dtypePolicy(c).Variable
	}
	return []*ops.Tensor{encodeCategories(wholeNumbers(one(c, in)), weights, mode, l.NumTokens, dtype)}
}

// keepsInputType: numbers given as floats must not lose digits before they are truncated to integers.
func (l *CategoryEncoding) keepsInputType() {}

// IgnoredConfig adds the option for sparse results, which do not exist here.
func (l *CategoryEncoding) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "sparse")
}

func init() { Register[CategoryEncoding]() }
