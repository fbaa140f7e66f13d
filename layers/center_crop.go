package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// CenterCrop cuts the middle out of images:
//
//	y[i, j] = x[i + (height-Height)/2, j + (width-Width)/2]     rounded down
//
// Of images that are too low or too narrow it takes the largest piece of these proportions and resizes it, bilinearly as [Resizing]
// does.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the channels come
// before the height. Output shape: the same with Height and Width, in the compute type. A mask does not pass through.
type CenterCrop struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Height     int    `keras:"height"`                            // required
	Width      int    `keras:"width"`                             // required
	DataFormat string `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *CenterCrop) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := ops.Cast(one(c, in), c.ComputeDType())
	axes, _ := imageAxes(x, l.DataFormat)
	needSize(x, l.Height, l.Width)
	h, w := dim.Sub(x.Dim(axes[0]), l.Height), dim.Sub(x.Dim(axes[1]), l.Width)
	if !dim.Known(h) || !dim.Known(w) {
		c.Graph().OnlyShapes() // whether images are cut or enlarged shows later
	}
	if dim.Less(h, 0) || dim.Less(w, 0) {
		x = cropToAspectRatio(x, axes, l.Height, l.Width)
		return []*ops.Tensor{resizeImages(x, axes, l.Height, l.Width, "bilinear", false)}
	}
	top, left := dim.FloorDiv(h, 2), dim.FloorDiv(w, 2)
	x = ops.SliceAxis(x, axes[0], top, dim.Add(top, l.Height))
	return []*ops.Tensor{ops.SliceAxis(x, axes[1], left, dim.Add(left, l.Width))}
}

// Call applies the layer inside a trace.
func (l *CenterCrop) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

// IgnoredConfig adds what concerns labelled boxes.
func (l *CenterCrop) IgnoredConfig() []string { return imageIgnored(&l.Base) }

func init() { Register[CenterCrop]() }
