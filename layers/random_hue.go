package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RandomHue turns, in training, the hue of each image. Otherwise y = x.
//
//	h' = h ± f/2     f uniform in [Factor[0], Factor[1]), with (h, saturation, value) the colour and h in turns
//
// Results are clipped to ValueRange. A factor given as a single number f stands for {0, f}.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomHue struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []float64         `keras:"factor"`                            // see above, from 0 to 1; required
	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomHue) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor { return augment(c, l, in) }

func (l *RandomHue) check(x *ops.Tensor) {
	_, channel := imageAxes(x, l.DataFormat)
	needColours(x, channel, 3)
	factorRange(x.Graph(), "Factor", l.Factor, 0, 1)
	valueRange(x.Graph(), l.ValueRange)
}

// draw draws the numbers to add to hues, as fractions of a turn.
func (l *RandomHue) draw(c *Context, x *ops.Tensor) drawn {
	low, high := spread(l.Factor, 0)
	sign := ops.CompareScalar(ir.Gt, uniform(c, l.Seed, 0, 1, imageCount(x)), 0.5)
	f := ops.MultiplyScalar(uniform(c, l.Seed, low, high, imageCount(x)), 0.5)
	return drawn{"factor": ops.Where(sign, ops.Negative(f), f)}
}

func (l *RandomHue) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	_, channel := imageAxes(x, l.DataFormat)
	low, high := valueRange(x.Graph(), l.ValueRange)
	hue, saturation, value := toHSV(rescale(x, low, high, 0, 1), channel)
	hue = ops.Add(hue, perImage(d["factor"], x))
	hue = ops.Where(ops.CompareScalar(ir.Gt, hue, 1), ops.SubtractScalar(hue, 1), hue)
	hue = ops.Where(ops.CompareScalar(ir.Lt, hue, 0), ops.AddScalar(hue, 1), hue)
	return rescale(ops.Clip(fromHSV(hue, saturation, value, channel), 0, 1), 0, 1, low, high)
}

// AmendConfig writes single numbers as the ranges that they stand for.
func (l *RandomHue) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", l.Factor, 0)
}

func (l *RandomHue) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomHue]() }
