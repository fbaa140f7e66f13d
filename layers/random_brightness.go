package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomBrightness adds, in training, one number to all values of an image. Otherwise y = x.
//
//	y = clip(x + f·(ValueRange[1] - ValueRange[0]), ValueRange)     f uniform in [Factor[0], Factor[1])
//
// Input shape: (batch, height, width, channels), or one image without the batch. Output shape: that of the input, in
// the compute type. A mask does not pass through.
type RandomBrightness struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []float64         `keras:"factor"`                            // range from -1 to 1, or one number f for {-f, f}; required
	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // has no effect on the result
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *RandomBrightness) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

func (l *RandomBrightness) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	factorRange(x.Graph(), "Factor", l.Factor, -1, 1)
	valueRange(x.Graph(), l.ValueRange)
}

// draw draws the numbers to add.
func (l *RandomBrightness) draw(c *Context, x *ops.Tensor) drawn {
	low, high := spread(l.Factor, -1)
	least, most := valueRange(x.Graph(), l.ValueRange)
	return drawn{"rgb_delta": ops.MultiplyScalar(uniform(c, l.Seed, low, high, imageCount(x)), most-least)}
}

func (l *RandomBrightness) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	low, high := valueRange(x.Graph(), l.ValueRange)
	return ops.Clip(ops.Add(x, perImage(d["rgb_delta"], x)), low, high)
}

// AmendConfig writes a single number as the range that it stands for.
func (l *RandomBrightness) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", l.Factor, -1)
}

func (l *RandomBrightness) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomBrightness]() }
