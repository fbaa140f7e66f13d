package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// MaxNumBoundingBoxes gives every image the same number of boxes, MaxNumber: if there are more, the first ones are
// kept; if there are fewer, boxes and labels of FillValue are added. It changes nothing else.
//
// Inputs and results: images and what belongs to them, see [LabelledImages]; boxes (batch, boxes, 4) become (batch,
// MaxNumber, 4), and their labels (batch, MaxNumber). A mask does not pass through.
type MaxNumBoundingBoxes struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	MaxNumber         int               `keras:"max_number"`                        // required
	FillValue         *int              `keras:"fill_value,omitempty"`              // nil is -1. Files of Keras do not hold it
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of the boxes, see [LabelledImages]
}

// maxBoxes limits the boxes of an image.
const maxBoxes = 1 << 20

// Forward computes the layer.
func (l *MaxNumBoundingBoxes) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	t := labelledInputs(l, in)
	t.castBoxes()
	if l.MaxNumber < 1 || l.MaxNumber > maxBoxes {
		ops.Failf(c.Graph(), "MaxNumber must be from 1 to %d, received %d", maxBoxes, l.MaxNumber)
	}
	imageAxes(t.Images, l.DataFormat)
	if t.Boxes != nil {
		axis := t.Boxes.Rank() - 2
		t.Boxes, t.BoxLabels = l.fill(t.Boxes, axis), l.fill(t.BoxLabels, axis)
	}
	return t.tensors()
}

// fill gives an axis the length MaxNumber.
func (l *MaxNumBoundingBoxes) fill(x *ops.Tensor, axis int) *ops.Tensor {
	value := -1
	if l.FillValue != nil {
		value = *l.FillValue
	}
	n, more := x.Dim(axis), l.MaxNumber
	if dim.Known(n) {
		more = max(0, l.MaxNumber-n) //dim:known
	}
	if more > 0 { //dim:known a number of boxes
		low, high := make([]int, x.Rank()), make([]int, x.Rank())
		high[axis] = more
		x = ops.Pad(x, low, high, float64(value))
	}
	return ops.SliceAxis(x, axis, 0, l.MaxNumber)
}

func (l *MaxNumBoundingBoxes) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[MaxNumBoundingBoxes]() }
