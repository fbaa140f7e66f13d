package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// Resizing gives images another height and width. Cell i of an axis of new length n is sampled at (i + ½)·old/n - ½ of the old
// axis:
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
// With Antialias distances count n/old-fold where the axis becomes shorter (n < old), so that no cell is passed over.
//
// CropToAspectRatio first cuts the largest piece of the new proportions out of the middle; PadToAspectRatio first adds a border of
// FillValue. Otherwise the proportions change.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the channels come
// before the height. Output shape: the same with Height and Width. Integers stay integers: they are rounded to the nearest, halves
// to even, and kept in the range of their type. A mask does not pass through.
type Resizing struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Height            int     `keras:"height"`                            // required
	Width             int     `keras:"width"`                             // required
	Interpolation     string  `keras:"interpolation,default=bilinear"`    // see above; "" is "bilinear"
	CropToAspectRatio bool    `keras:"crop_to_aspect_ratio"`              // see above
	PadToAspectRatio  bool    `keras:"pad_to_aspect_ratio"`               // see above
	FillMode          string  `keras:"fill_mode,default=constant"`        // "constant", the only one
	FillValue         float64 `keras:"fill_value"`                        // of the border
	Antialias         bool    `keras:"antialias"`                         // see above
	DataFormat        string  `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *Resizing) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	axes, _ := imageAxes(x, l.DataFormat)
	needSize(x, l.Height, l.Width)
	switch {
	case l.CropToAspectRatio && l.PadToAspectRatio:
		ops.Failf(c.Graph(), "CropToAspectRatio and PadToAspectRatio are both set; use one of them")
	case l.FillMode != "" && l.FillMode != "constant":
		ops.Failf(c.Graph(), "unknown FillMode %q; only \"constant\" is there for resizing", l.FillMode)
	}
	y := x
	if l.CropToAspectRatio {
		y = cropToAspectRatio(y, axes, l.Height, l.Width)
	} else if l.PadToAspectRatio {
		y = padToAspectRatio(y, axes, l.Height, l.Width, l.FillValue)
	}
	interpolation := l.Interpolation
	if interpolation == "" {
		interpolation = "bilinear"
	}
	y = resizeImages(y, axes, l.Height, l.Width, interpolation, l.Antialias)
	if y.DType() != x.DType() {
		if x.DType().IsInteger() {
			y = ops.Round(y)
		}
		y = ops.SaturateCast(y, x.DType())
	}
	return []*ops.Tensor{y}
}

// needSize reports images without cells, and a size that is none.
func needSize(x *ops.Tensor, height, width int) {
	if height < 1 || width < 1 || height > 1<<20 || width > 1<<20 {
		ops.Failf(x.Graph(), "Height and Width must be from 1 to %d, received %d and %d", 1<<20, height, width)
	}
	if x.Shape()[x.Rank()-3:].Size() == 0 {
		ops.Failf(x.Graph(), "the images of shape %v have no cells", x.Shape())
	}
}

// Call applies the layer inside a trace.
func (l *Resizing) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

// IgnoredConfig adds what concerns labelled boxes.
func (l *Resizing) IgnoredConfig() []string { return imageIgnored(&l.Base) }

// imageIgnored lists keys of image layers that are about boxes around objects, which do not exist here.
func imageIgnored(b *Base) []string {
	return append(b.IgnoredConfig(), "bounding_box_format=null")
}

func init() { Register[Resizing]() }
