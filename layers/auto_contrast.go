package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// AutoContrast stretches the values of each channel of each image over the whole range, in training and in inference:
//
//	y = (x - min) / (max - min)
//
// as a fraction of ValueRange, with min and max over the cells of the channel, which as in Keras are those on axes 1
// and 2. A channel with a single value stays as it is.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input, in the compute type. A mask does not pass through.
type AutoContrast struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // has no effect on the result
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *AutoContrast) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	t := labelledInputs(l, in)
	t.castBoxes()
	x := ops.Cast(t.Images, c.ComputeDType())
	imageAxes(x, l.DataFormat)
	needSize(x, 1, 1)
	t.Images = l.stretch(x)
	return t.tensors()
}

func (l *AutoContrast) stretch(x *ops.Tensor) *ops.Tensor {
	low, high := valueRange(x.Graph(), l.ValueRange)
	single := x.Rank() == 3
	if single {
		x = ops.ExpandDims(x, 0)
	}
	y := rescale(x, low, high, 0, 255)
	least, most := ops.KeepDims(ops.Min(y, 1, 2), y, 1, 2), ops.KeepDims(ops.Max(y, 1, 2), y, 1, 2)
	flat := ops.Equal(least, most)
	scale := ops.Divide(ops.Scalar(y, 255), ops.Where(flat, ops.Scalar(y, 1), ops.Subtract(most, least)))
	y = ops.Add(ops.Multiply(y, scale), ops.Multiply(ops.Negative(least), scale))
	y = rescale(ops.Clip(y, 0, 255), 0, 255, low, high)
	y = ops.Where(flat, x, y)
	if single {
		y = ops.Squeeze(y, 0)
	}
	return y
}

func (l *AutoContrast) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[AutoContrast]() }
