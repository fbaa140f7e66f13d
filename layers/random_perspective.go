package layers

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RandomPerspective shows, in training, images as from another place: it moves the corners of each image and what lies between them,
// with a probability that is itself even in [Factor[0], Factor[1]). Otherwise y = x. Corner (u, v) moves to
//
//	u·(1 + p),   v·(1 + q)
//
// with p and q even in [-Scale/2, Scale/2), for each corner others; u is 0 or the width less 1, v is 0 or the height less 1. The cell
// in column u and row v is sampled at
//
//	(h0·u + h1·v + h2)/d,   (h3·u + h4·v + h5)/d,   d = h6·u + h7·v + 1
//
// with the h that send the four moved corners to the four corners before.
//
// Interpolation "bilinear" weighs the four cells around that place, "nearest" takes the nearest. Outside of the image lies FillValue.
// A factor given as one number f stands for {0, f}, as in Keras.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the channels come
// before the height. Height and width are at least 2. Output shape: that of the input, in the compute type. A mask does not pass
// through.
type RandomPerspective struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor        []float64 `keras:"factor"`                            // see above, from 0 to 1; nil is {0, 1}
	Scale         *float64  `keras:"scale,default=1.0"`                 // see above, from 0 to 1; nil is 1
	Interpolation string    `keras:"interpolation,default=bilinear"`    // see above; "" is "bilinear"
	FillValue     float64   `keras:"fill_value"`                        // outside of the image
	Seed          *int      `keras:"seed"`                              // sets the draws apart from those of other seeds
	DataFormat    string    `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
}

// Forward computes the layer.
func (l *RandomPerspective) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	return augment(c, l, in)
}

func (l *RandomPerspective) sampling() sampling {
	return samplingOf(l.Interpolation, "constant", l.FillValue)
}

func (l *RandomPerspective) check(x *ops.Tensor) {
	imageAxes(x, l.DataFormat)
	l.sampling().check(x.Graph())
	factorRange(x.Graph(), "Factor", orOne(l.Factor), 0, 1)
	if s := number(l.Scale, 1); !(s >= 0 && s <= 1) {
		ops.Failf(x.Graph(), "Scale must be from 0 to 1, received %v", s)
	}
}

// draw draws which images are changed, and the corners of each before and after as (image, corner, column and row).
//
//dim:known drawn in training, for the shapes of a step
func (l *RandomPerspective) draw(c *Context, x *ops.Tensor) drawn {
	axes, _ := imageAxes(x, l.DataFormat)
	if x.Dim(axes[0]) < 2 || x.Dim(axes[1]) < 2 {
		ops.Failf(x.Graph(), "expected images with a height and a width of at least 2, whose corners differ, received shape %v", x.Shape())
	}
	right, bottom := float64(x.Dim(axes[1])-1), float64(x.Dim(axes[0])-1)
	half, n := number(l.Scale, 1)/2, imageCount(x)
	apply := drawChoice(c, x, l.Seed, orOne(l.Factor))
	moves := uniform(c, l.Seed, -half, half, n, 4, 2)
	corners := ops.Constant(c, moves.DType(), ir.Shape{1, 4, 2}, []float64{0, 0, right, 0, 0, bottom, right, bottom})
	corners = ops.BroadcastTo(corners, n, 4, 2)
	return drawn{"apply_perspective": apply, "start_points": corners, "end_points": ops.Add(corners, ops.Multiply(corners, moves))}
}

func (l *RandomPerspective) transform(x *ops.Tensor, d drawn) *ops.Tensor {
	images, restore := batchImages(x, l.DataFormat)
	y := ops.PerspectiveTransform(images, d["start_points"], d["end_points"], l.sampling().options())
	return ops.Where(perImage(d["apply_perspective"], x), restore(y), x)
}

// Call applies the layer inside a trace.
func (l *RandomPerspective) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

// AmendConfig writes a factor of one number as the range that it stands for.
func (l *RandomPerspective) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", orOne(l.Factor), 0)
}

// IgnoredConfig adds what concerns labelled boxes.
func (l *RandomPerspective) IgnoredConfig() []string { return imageIgnored(&l.Base) }

func init() { Register[RandomPerspective]() }
