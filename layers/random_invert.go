package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomInvert replaces, in training, the values of an image by their complement, with a probability that is itself
// uniform in [Factor[0], Factor[1]). Otherwise y = x.
//
//	y = ValueRange[1] - x
//
// A factor given as a single number f stands for {0, f}, as in Keras; {f, f} is the probability f itself.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomInvert struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []float64         `keras:"factor"`                            // see above, from 0 to 1; nil is {0, 1}
	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomInvert) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return augment(c, l, in) }

func (l *RandomInvert) factor() []float64 { return orOne(l.Factor) }

func (l *RandomInvert) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	factorRange(x.Graph(), "Factor", l.factor(), 0, 1)
	valueRange(x.Graph(), l.ValueRange)
}

// draw says which images are inverted.
func (l *RandomInvert) draw(c *Context, x *ops.Tensor) drawn {
	return drawn{"apply_inversion": drawChoice(c, x, l.Seed, l.factor())}
}

func (l *RandomInvert) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	_, high := valueRange(x.Graph(), l.ValueRange)
	return ops.Where(perImage(d["apply_inversion"], x), ops.Subtract(ops.Scalar(x, high), x), x)
}

// AmendConfig writes single numbers as the ranges that they stand for.
func (l *RandomInvert) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", l.factor(), 0)
}

func (l *RandomInvert) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomInvert]() }
