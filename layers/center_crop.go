package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/boundingboxes"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// CenterCrop crops the center of images:
//
//	y[i, j] = x[i + (height-Height)/2, j + (width-Width)/2]     rounded down
//
// If an image is too low or too narrow, it takes the largest crop with this aspect ratio and resizes it bilinearly,
// like [Resizing].
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: the same with Height and Width, in the compute type. A mask does not
// pass through.
type CenterCrop struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Height            int               `keras:"height"`                            // required
	Width             int               `keras:"width"`                             // required
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *CenterCrop) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	t := labelledInputs(l, in)
	t.castBoxes()
	x := ops.Cast(t.Images, c.ComputeDType())
	imageAxes(x, l.DataFormat)
	needSize(x, l.Height, l.Width)
	t.Images = l.cut(x, "bilinear")
	t.moveBoxes(x, t.Images, func(boxes *ops.Tensor) *ops.Tensor { return l.moveBoxes(boxes, x) })
	if t.Masks != nil {
		t.Masks = sampleMasks(t.Masks, func(m *ops.Tensor) *ops.Tensor { return l.cut(m, "nearest") })
	}
	return t.tensors()
}

func (l *CenterCrop) cut(x *ops.Tensor, interpolation Interpolation) *ops.Tensor {
	axes, _ := imageAxes(x, l.DataFormat)
	h, w := dim.Sub(x.Dim(axes[0]), l.Height), dim.Sub(x.Dim(axes[1]), l.Width)
	if !dim.Known(h) || !dim.Known(w) {
		x.Graph().OnlyShapes() // whether images are cut or enlarged shows later
	}
	if dim.Less(h, 0) || dim.Less(w, 0) {
		x = cropToAspectRatio(x, axes, l.Height, l.Width)
		return resizeImages(x, axes, l.Height, l.Width, interpolation, false)
	}
	top, left := dim.FloorDiv(h, 2), dim.FloorDiv(w, 2)
	x = ops.SliceAxis(x, axes[0], top, dim.Add(top, l.Height))
	return ops.SliceAxis(x, axes[1], left, dim.Add(left, l.Width))
}

func (l *CenterCrop) moveBoxes(boxes, x *ops.Tensor) *ops.Tensor {
	size := sizeOfImages(x, l.DataFormat)
	want := boundingboxes.Size{Height: float64(l.Height), Width: float64(l.Width)}
	piece := want
	if size.Height < want.Height || size.Width < want.Width {
		piece.Height = max(1, min(size.Height, math.Floor(size.Width*want.Height/want.Width)))
		piece.Width = max(1, min(size.Width, math.Floor(size.Height*want.Width/want.Height)))
	}
	top, left := math.Floor((size.Height-piece.Height)/2), math.Floor((size.Width-piece.Width)/2)
	return scaleBoxes(boundingboxes.Crop(boxes, top, left, piece), piece, want)
}

func (l *CenterCrop) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[CenterCrop]() }
