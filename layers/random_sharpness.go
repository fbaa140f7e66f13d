package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomSharpness moves, in training, each image towards a smoothed one or away from it. Otherwise y = x.
//
//	y = clip(x + (1-2·f)·(smooth(x)-x), ValueRange)     f uniform in [Factor[0], Factor[1])
//
// smooth weights a cell by 5/13 and its eight neighbours by 1/13 each, with zeros around the image. f = ½ changes
// nothing; smaller f makes the image smoother, and larger f sharper. A factor given as a single number f stands for {0,
// f}.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomSharpness struct {
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
func (l *RandomSharpness) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

func (l *RandomSharpness) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	factorRange(x.Graph(), "Factor", l.Factor, 0, 1)
	valueRange(x.Graph(), l.ValueRange)
}

func (l *RandomSharpness) draw(c *Context, x *ops.Tensor) drawn {
	low, high := spread(l.Factor, 0)
	return drawn{"factor": uniform(c, l.Seed, low, high, imageCount(x))}
}

func (l *RandomSharpness) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	axes, _ := imageAxes(x, l.DataFormat)
	low, high := valueRange(x.Graph(), l.ValueRange)
	third := ops.Constant(x, x.DType(), []int{3}, []float64{1, 1, 1})
	sum := blurAxis(blurAxis(x, axes[0], third), axes[1], third)
	smooth := ops.DivideScalar(ops.Add(sum, ops.MultiplyScalar(x, 4)), 13)
	f := ops.Subtract(ops.Scalar(x, 1), ops.MultiplyScalar(perImage(d["factor"], x), 2))
	return ops.Clip(ops.Add(x, ops.Multiply(f, ops.Subtract(smooth, x))), low, high)
}

// AmendConfig writes single numbers as the ranges that they stand for.
func (l *RandomSharpness) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", l.Factor, 0)
}

func (l *RandomSharpness) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomSharpness]() }
