package layers

import (
	"github.com/gokeras/gokeras/keras/boundingboxes"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RandomCrop cuts, in training, a piece of Height × Width cells out of images, at a position that is drawn once for all
// images of a batch:
//
//	y[i, j] = x[i + top, j + left]     top even in 0 ... height-Height, left in 0 ... width-Width
//
// Images that are not both higher and wider than that are cropped around their centre and resized bilinearly, as
// [Resizing] does. In inference y = x: as in Keras, the size then does not change, so the next layer must accept images
// of either size. If it does not, put a [CenterCrop] in between.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: in training the same with Height and Width, in the compute type. A
// mask does not pass through.
type RandomCrop struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Height            int               `keras:"height"`                            // required
	Width             int               `keras:"width"`                             // required
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer. Outside of training it returns images in their original type, as Keras does.
func (l *RandomCrop) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	if c.Training {
		return augment(c, l, in)
	}
	t := labelledInputs(l, in)
	t.castBoxes()
	l.check(t.Images)
	return t.tensors()
}

// keepsInputType: images are cast in training only.
func (l *RandomCrop) keepsInputType() {}

func (l *RandomCrop) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	needSize(x, l.Height, l.Width)
}

// draw draws the first row and column of the piece, as int32; none for images that are resized.
//
//dim:known drawn in training, for the shapes of a step
func (l *RandomCrop) draw(c *Context, x *ops.Tensor) drawn {
	axes, _ := imageAxes(x, l.DataFormat)
	down, right := x.Dim(axes[0])-l.Height, x.Dim(axes[1])-l.Width
	if down <= 0 || right <= 0 {
		return nil
	}
	start := func(room int) *ops.Tensor {
		return ops.Cast(uniform(c, l.Seed, 0, float64(room+1)), ir.Int32)
	}
	return drawn{"h_start": start(down), "w_start": start(right)}
}

func (l *RandomCrop) transform(x *ops.Tensor, d drawn) *ops.Tensor { return l.cut(x, d, "bilinear") }

func (l *RandomCrop) transformMasks(masks, _ *ops.Tensor, d drawn) *ops.Tensor {
	return l.cut(masks, d, "nearest")
}

//dim:known drawn in training, for the shapes of a step
func (l *RandomCrop) cut(x *ops.Tensor, d drawn, interpolation Interpolation) *ops.Tensor {
	axes, _ := imageAxes(x, l.DataFormat)
	if d != nil {
		starts, sizes := make([]*ops.Tensor, x.Rank()), append([]int{}, x.Shape()...)
		for i := range starts {
			starts[i] = ops.Zeros(x, ir.Int32)
		}
		starts[axes[0]], starts[axes[1]] = d["h_start"], d["w_start"]
		sizes[axes[0]], sizes[axes[1]] = l.Height, l.Width
		return ops.DynamicSlice(x, starts, sizes...)
	}
	top, bottom, left, right := l.middle(x)
	x = ops.SliceAxis(x, axes[0], top, bottom)
	x = ops.SliceAxis(x, axes[1], left, right)
	return resizeImages(x, axes, l.Height, l.Width, interpolation, false)
}

// middle returns the central piece of images that are too small, before it is resized.
//
//dim:known drawn in training, for the shapes of a step
func (l *RandomCrop) middle(x *ops.Tensor) (top, bottom, left, right int) {
	axes, _ := imageAxes(x, l.DataFormat)
	h, w := x.Dim(axes[0]), x.Dim(axes[1])
	top = (h - max(min(h, w*l.Height/l.Width), 1)) / 2
	left = (w - max(min(w, h*l.Width/l.Height), 1)) / 2
	return top, min(top+l.Height, h), left, min(left+l.Width, w)
}

//dim:known drawn in training, for the shapes of a step
func (l *RandomCrop) moveBoxes(boxes, x *ops.Tensor, d drawn) *ops.Tensor {
	if d != nil {
		left, top := ops.Cast(d["w_start"], boxes.DType()), ops.Cast(d["h_start"], boxes.DType())
		return ops.Subtract(boxes, ops.Stack(0, left, top, left, top))
	}
	top, bottom, left, right := l.middle(x)
	piece := boundingboxes.Size{Height: float64(bottom - top), Width: float64(right - left)}
	return scaleBoxes(boundingboxes.Pad(boxes, float64(-top), float64(-left)), piece, boundingboxes.Size{Height: float64(l.Height), Width: float64(l.Width)})
}

// scaleBoxes scales boxes from one image size to another.
func scaleBoxes(boxes *ops.Tensor, from, to boundingboxes.Size) *ops.Tensor {
	relative := boundingboxes.ConvertFormat(boxes, boundingboxes.XYXY, boundingboxes.RelXYXY, from)
	return boundingboxes.ConvertFormat(relative, boundingboxes.RelXYXY, boundingboxes.XYXY, to)
}

func (l *RandomCrop) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomCrop]() }
