package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomSaturation multiplies, in training, the saturation of each image. Otherwise y = x.
//
//	s' = clip(s·f/(1-f), ValueRange)     f uniform in [Factor[0], Factor[1]), with (hue, s, value) the colour
//
// f = ½ leaves colours unchanged; smaller f fades them, and larger f strengthens them. 0 is gray. A factor given as a
// single number f stands for {-f, f}, as in Keras.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomSaturation struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []float64         `keras:"factor"`                            // range, from -1 to 1; required
	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomSaturation) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

func (l *RandomSaturation) check(x *ops.Tensor) {
	_, channel := imageAxes(x, l.DataFormat)
	needColours(x, channel, 3)
	factorRange(x.Graph(), "Factor", l.Factor, -1, 1)
	valueRange(x.Graph(), l.ValueRange)
}

// draw draws f/(1-f).
func (l *RandomSaturation) draw(c *Context, x *ops.Tensor) drawn {
	low, high := spread(l.Factor, -1)
	f := uniform(c, l.Seed, low, high, imageCount(x))
	return drawn{"factor": ops.Divide(f, ops.Subtract(ops.Scalar(f, 1+1e-7), f))}
}

func (l *RandomSaturation) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	_, channel := imageAxes(x, l.DataFormat)
	low, high := valueRange(x.Graph(), l.ValueRange)
	hue, saturation, value := toHSV(x, channel)
	saturation = ops.Clip(ops.Multiply(saturation, perImage(d["factor"], x)), low, high)
	return fromHSV(hue, saturation, value, channel)
}

// AmendConfig writes single numbers as the ranges that they stand for.
func (l *RandomSaturation) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", l.Factor, -1)
}

func (l *RandomSaturation) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomSaturation]() }
