package layers

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// UpSampling1D repeats each step of a sequence.
//
// Input shape: (batch, steps, channels). Output shape: the same with each length multiplied by Size. A mask does not
// pass through.
type UpSampling1D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Size int `keras:"size,default=2"` // number of repetitions; 0 is 2
}

// Forward computes the layer.
func (l *UpSampling1D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	if l.Size < 0 {
		ops.Failf(c.Graph(), "Size must be positive, received %d", l.Size)
	}
	needRank(x, 3, spatialForm(1, false))
	size := l.Size
	if size == 0 {
		size = 2
	}
	return []*ops.Tensor{ops.Repeat(x, size, 1)}
}

// UpSampling2D repeats each cell of an image.
//
// Input shape: (batch, height, width, channels). Output shape: the same with each length multiplied by Size. With
// DataFormat ChannelsFirst the channels come after the batch. A mask does not pass through.
//
// Interpolation "nearest" repeats; "bilinear", "bicubic" (Keys's kernel with a = -1/2) and "lanczos3", "lanczos5"
// weight the neighbours of each new cell, whose centre lies at (i + ½)/Size - ½ of the input; weights of cells outside
// the image are redistributed to those inside.
type UpSampling2D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Size          []int         `keras:"size,length=2,default=2"`           // number of repetitions along each axis; nil is 2
	Interpolation Interpolation `keras:"interpolation,default=nearest"`     // see above; "" is "nearest"
	DataFormat    DataFormat    `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *UpSampling2D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	axes := spatialAxes(x, 2, l.DataFormat)
	size := tuple(c.Graph(), "Size", l.Size, 2, 2, 1)
	switch l.Interpolation {
	case "", "nearest":
		return []*ops.Tensor{repeatCells(x, size, axes)}
	}
	resizing(x, l.Interpolation)
	for i, n := range size {
		if n == 1 && x.DType().IsFloat() {
			continue // each new cell is one of the input's
		}
		x = resizeAxis(x, axes[i], dim.Mul(n, x.Dim(axes[i])), l.Interpolation, false)
	}
	return []*ops.Tensor{x}
}

// UpSampling3D repeats each cell of a volume.
//
// Input shape: (batch, depth, height, width, channels). Output shape: the same with each length multiplied by Size.
// With DataFormat ChannelsFirst the channels come after the batch. A mask does not pass through.
type UpSampling3D struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Size       []int      `keras:"size,length=3,default=2"`           // number of repetitions along each axis; nil is 2
	DataFormat DataFormat `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *UpSampling3D) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	x := one(c, in)
	axes := spatialAxes(x, 3, l.DataFormat)
	return []*ops.Tensor{repeatCells(x, tuple(c.Graph(), "Size", l.Size, 3, 2, 1), axes)}
}

// repeatCells repeats each slice along axes, which are in ascending order, as often as size says: [ops.Repeat] of all
// of them at once.
func repeatCells(x *ops.Tensor, size, axes []int) *ops.Tensor {
	shape := x.Shape()
	var thin, wide, out []int
	for i, d := range shape {
		thin, wide, out = append(thin, d), append(wide, d), append(out, d)
		if k := slices.Index(axes, i); k >= 0 {
			thin, wide, out[i] = append(thin, 1), append(wide, size[k]), dim.Mul(d, size[k])
		}
	}
	return ops.Reshape(ops.BroadcastTo(ops.Reshape(x, thin...), wide...), out...)
}

func init() {
	Register[UpSampling1D]()
	Register[UpSampling2D]()
	Register[UpSampling3D]()
}
