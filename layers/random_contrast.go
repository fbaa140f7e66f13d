package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// RandomContrast moves, in training, the values of each channel of each image away from their mean. Otherwise y = x.
//
//	y = clip((x - mean)·f + mean, ValueRange)     f uniform in [1 - Factor[0], 1 + Factor[1])
//
// A factor given as a single number f stands for {0, f}, as in Keras, so that contrast only grows; {f, f} draws on both
// sides.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type RandomContrast struct {
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
func (l *RandomContrast) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

func (l *RandomContrast) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	factorRange(x.Graph(), "Factor", l.Factor, 0, 1)
	valueRange(x.Graph(), l.ValueRange)
}

func (l *RandomContrast) draw(c *Context, x *ops.Tensor) drawn {
	low, high := spread(l.Factor, 0)
	return drawn{"contrast_factor": uniform(c, l.Seed, 1-low, 1+high, imageCount(x))}
}

func (l *RandomContrast) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	axes, _ := imageAxes(x, l.DataFormat)
	mean := ops.Cast(ops.KeepDims(ops.Mean(atLeastFloat32(x), axes[:]...), x, axes[:]...), x.DType())
	low, high := valueRange(x.Graph(), l.ValueRange)
	return ops.Clip(ops.Add(ops.Multiply(ops.Subtract(x, mean), perImage(d["contrast_factor"], x)), mean), low, high)
}

// AmendConfig writes a single number as the range that it stands for.
func (l *RandomContrast) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", l.Factor, 0)
}

func (l *RandomContrast) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomContrast]() }
