package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomColorDegeneration mixes, in training, each image with its gray version. Otherwise y = x.
//
//	y = clip(x + f·(gray(x)-x), ValueRange)     f uniform in [Factor[0], Factor[1]), gray as in [RandomGrayscale]
//
// A factor given as a single number f stands for {-f, f}, as in Keras. Negative numbers strengthen colours.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomColorDegeneration struct {
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
func (l *RandomColorDegeneration) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

func (l *RandomColorDegeneration) check(x *ops.Tensor) {
	_, channel := imageAxes(x, l.DataFormat)
	needColours(x, channel, 1, 3)
	factorRange(x.Graph(), "Factor", l.Factor, -1, 1)
	valueRange(x.Graph(), l.ValueRange)
}

func (l *RandomColorDegeneration) draw(c *Context, x *ops.Tensor) drawn {
	low, high := spread(l.Factor, -1)
	return drawn{"factor": uniform(c, l.Seed, low, high, imageCount(x))}
}

func (l *RandomColorDegeneration) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	_, channel := imageAxes(x, l.DataFormat)
	low, high := valueRange(x.Graph(), l.ValueRange)
	gray := ops.Subtract(grayscale(x, channel), x)
	return ops.Clip(ops.Add(x, ops.Multiply(perImage(d["factor"], x), gray)), low, high)
}

// AmendConfig writes single numbers as the ranges that they stand for.
func (l *RandomColorDegeneration) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", l.Factor, -1)
}

func (l *RandomColorDegeneration) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomColorDegeneration]() }
