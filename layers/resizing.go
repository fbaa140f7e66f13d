package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/boundingboxes"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Resizing gives images another height and width. Cell i of an axis of new length n is sampled at (i + ½)·old/n - ½ of
// the old axis:
//
//	y[i] = Σ_j w(|at - j|)·x[j] / Σ_j w(|at - j|)     at = (i + ½)·old/n - ½
//
// with j over the cells of the image and, by Interpolation,
//
//	"bilinear"              w(d) = 1 - d below 1
//	"bicubic"               Keys's kernel with a = -½, of radius 2
//	"lanczos3", "lanczos5"  sinc(d)·sinc(d/r) with r = 3 or 5
//	"nearest"               y[i] = x[floor((i + ½)·old/n)]
//
// With Antialias, distances are multiplied by n/old if the axis becomes shorter (n < old), so that no cell is skipped.
//
// CropToAspectRatio first cuts the largest piece of the new proportions out of the middle; PadToAspectRatio first adds
// a border of FillValue. Otherwise the proportions change.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: the same with Height and Width. Integers stay integers: they are
// rounded to nearest, ties to even, and clipped to the range of their type. A mask does not pass through.
type Resizing struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Height            int               `keras:"height"`                            // required
	Width             int               `keras:"width"`                             // required
	Interpolation     Interpolation     `keras:"interpolation,default=bilinear"`    // see above; "" is "bilinear"
	CropToAspectRatio bool              `keras:"crop_to_aspect_ratio"`              // see above
	PadToAspectRatio  bool              `keras:"pad_to_aspect_ratio"`               // see above
	FillMode          FillMode          `keras:"fill_mode,default=constant"`        // "constant", the only one
	FillValue         float64           `keras:"fill_value,null"`                   // of the border
	Antialias         bool              `keras:"antialias"`                         // see above
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// Forward computes the layer.
func (l *Resizing) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	t := labelledInputs(l, in)
	t.castBoxes()
	x := t.Images
	imageAxes(x, l.DataFormat)
	needSize(x, l.Height, l.Width)
	switch {
	case l.CropToAspectRatio && l.PadToAspectRatio:
		ops.Failf(c.Graph(), "CropToAspectRatio and PadToAspectRatio are both set; use one of them")
	case l.FillMode != "" && l.FillMode != "constant":
		ops.Failf(c.Graph(), "unknown FillMode %q; only \"constant\" is there for resizing", l.FillMode)
	}
	interpolation := l.Interpolation
	if interpolation == "" {
		interpolation = "bilinear"
	}
	t.Images = l.resize(x, interpolation)
	if t.Masks != nil {
		t.Masks = l.resize(t.Masks, "nearest")
	}
	if t.Boxes != nil {
		t.keepFillers(func() {
			t.moveBoxes(x, t.Images, func(boxes *ops.Tensor) *ops.Tensor { return l.moveBoxes(boxes, x) })
		})
	}
	return t.tensors()
}

func (l *Resizing) resize(x *ops.Tensor, interpolation Interpolation) *ops.Tensor {
	axes, _ := imageAxes(x, l.DataFormat)
	y := x
	if l.CropToAspectRatio {
		y = cropToAspectRatio(y, axes, l.Height, l.Width)
	} else if l.PadToAspectRatio {
		y = padToAspectRatio(y, axes, l.Height, l.Width, l.FillValue)
	}
	y = resizeImages(y, axes, l.Height, l.Width, interpolation, l.Antialias)
	if y.DType() != x.DType() {
		if x.DType().IsInteger() {
			y = ops.Round(y)
		}
		y = ops.SaturateCast(y, x.DType())
	}
	return y
}

// moveBoxes follows Keras, which computes the position of the padded or cropped image in cells of the result.
func (l *Resizing) moveBoxes(boxes, x *ops.Tensor) *ops.Tensor {
	size := sizeOfImages(x, l.DataFormat)
	height, width := float64(l.Height), float64(l.Width)
	down, across := height/size.Height, width/size.Width
	switch {
	case l.PadToAspectRatio:
		down = min(down, across)
		across = down
	case l.CropToAspectRatio:
		down = max(down, across)
		across = down
	}
	top, left := math.Floor((height-size.Height*down)/2), math.Floor((width-size.Width*across)/2)
	if l.CropToAspectRatio {
		top, left = -math.Floor((size.Height*down-height)/2), -math.Floor((size.Width*across-width)/2)
	}
	scale := ops.Constant(boxes, boxes.DType(), ir.Shape{4}, []float64{across, down, across, down})
	return boundingboxes.Pad(ops.Multiply(boxes, scale), top, left)
}

// keepFillers runs move and, like Keras, sets boxes that are only padding (four zeros or four times -1) to four zeros.
func (t *together) keepFillers(move func()) {
	all := func(v float64) *ops.Tensor { return ops.All(ops.CompareScalar(ir.Eq, t.Boxes, v), -1) }
	filler := ops.ExpandDims(ops.LogicalOr(all(0), all(-1)), -1)
	move()
	t.Boxes = ops.Where(ops.BroadcastTo(filler, t.Boxes.Shape()...), ops.ZerosLike(t.Boxes), t.Boxes)
}

// needSize reports images without cells and an invalid size.
func needSize(x *ops.Tensor, height, width int) {
	if height < 1 || width < 1 || height > 1<<20 || width > 1<<20 {
		ops.Failf(x.Graph(), "Height and Width must be from 1 to %d, received %d and %d", 1<<20, height, width)
	}
	if x.Shape()[x.Rank()-3:].Size() == 0 {
		ops.Failf(x.Graph(), "the images of shape %v have no cells", x.Shape())
	}
}

func (l *Resizing) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[Resizing]() }
