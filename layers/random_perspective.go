package layers

import (
	"github.com/gokeras/gokeras/keras/boundingboxes"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// RandomPerspective shows, in training, images from another viewpoint: it moves the corners of each image and
// everything between them, with a probability that is itself uniform in [Factor[0], Factor[1]). Otherwise y = x. Corner
// (u, v) moves to
//
//	u·(1 + p),   v·(1 + q)
//
// with p and q uniform in [-Scale/2, Scale/2), drawn for each corner; u is 0 or the width minus 1, v is 0 or the height
// minus 1. The cell in column u and row v is sampled at
//
//	(h0·u + h1·v + h2)/d,   (h3·u + h4·v + h5)/d,   d = h6·u + h7·v + 1
//
// with the h that map the four moved corners to the four original corners.
//
// Interpolation "bilinear" weights the four cells around that point, "nearest" takes the nearest one. Outside the image
// the value is FillValue. A factor given as a single number f stands for {0, f}, as in Keras.
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Height and width are at least 2. Output shape: that of the input, in the compute
// type. A mask does not pass through.
type RandomPerspective struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Factor            []float64         `keras:"factor"`                            // see above, from 0 to 1; nil is {0, 1}
	Scale             *float64          `keras:"scale,default=1.0"`                 // see above, from 0 to 1; nil is 1
	Interpolation     Interpolation     `keras:"interpolation,default=bilinear"`    // see above; "" is "bilinear"
	FillValue         float64           `keras:"fill_value,null"`                   // outside of the image
	Seed              *int              `keras:"seed"`                              // different seeds draw different numbers
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
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
	return l.move(x, d, l.sampling())
}

func (l *RandomPerspective) transformMasks(masks, _ *ops.Tensor, d drawn) *ops.Tensor {
	return l.move(masks, d, l.sampling().nearest())
}

func (l *RandomPerspective) move(x *ops.Tensor, d drawn, s sampling) *ops.Tensor {
	images, restore := batchImages(x, l.DataFormat)
	y := ops.PerspectiveTransform(images, d["start_points"], d["end_points"], s.options())
	return ops.Where(perImage(d["apply_perspective"], x), restore(y), x)
}

func (l *RandomPerspective) moveBoxes(boxes, images *ops.Tensor, d drawn) *ops.Tensor {
	side := func(i int) *ops.Tensor { return ops.SliceAxis(boxes, -1, i, i+1) }
	x := ops.Concatenate(-1, side(0), side(2), side(2), side(0))
	y := ops.Concatenate(-1, side(1), side(1), side(3), side(3))
	moved := boundingboxes.Around(perspectivePoints(x, y, d["start_points"], d["end_points"], sizeOfImages(images, l.DataFormat)))
	apply := ops.Reshape(d["apply_perspective"], boxes.Dim(0), 1, 1)
	return ops.Where(ops.BroadcastTo(apply, boxes.Shape()...), moved, boxes)
}

// perspectivePoints maps points with columns x and rows y (batch, points) by the perspective maps that send the four
// points from (batch, 4, column and row) to the points to. Lengths are in units of widths and heights, so that the
// coefficients of the equations are of the order of 1. They are solved in float64, because corners that are close
// together make them ill-conditioned.
func perspectivePoints(x, y, from, to *ops.Tensor, size boundingboxes.Size) (newX, newY *ops.Tensor) {
	unit := ops.Constant(x, ir.Float64, ir.Shape{2}, []float64{size.Width, size.Height})
	part := func(points *ops.Tensor, axis int) *ops.Tensor {
		return ops.Index(ops.Divide(ops.Cast(points, ir.Float64), unit), 2, axis)
	}
	p, q, s, t := part(from, 0), part(from, 1), part(to, 0), part(to, 1)
	none, one := ops.ZerosLike(p), ops.OnesLike(p)
	equations := func(value *ops.Tensor, before ...*ops.Tensor) *ops.Tensor {
		value = ops.Negative(value)
		return ops.Stack(-1, append(before, ops.Multiply(p, value), ops.Multiply(q, value))...)
	}
	matrix := ops.Concatenate(1, equations(s, p, q, one, none, none, none), equations(t, none, none, none, p, q, one))
	solution := ops.Solve(matrix, ops.Concatenate(1, s, t))
	h := func(i int) *ops.Tensor { return ops.Reshape(ops.Index(solution, 1, i), solution.Dim(0), 1, 1) }
	dtype := x.DType()
	x, y = ops.DivideScalar(ops.Cast(x, ir.Float64), size.Width), ops.DivideScalar(ops.Cast(y, ir.Float64), size.Height)
	sum := func(i int, last *ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Add(ops.Multiply(h(i), x), ops.Multiply(h(i+1), y)), last)
	}
	depth := sum(6, ops.Scalar(x, 1))
	return ops.Cast(ops.MultiplyScalar(ops.Divide(sum(0, h(2)), depth), size.Width), dtype),
		ops.Cast(ops.MultiplyScalar(ops.Divide(sum(3, h(5)), depth), size.Height), dtype)
}

// AmendConfig writes a single number as the range that it stands for.
func (l *RandomPerspective) AmendConfig(keys map[string]any) error {
	return amendFactor(keys, "factor", orOne(l.Factor), 0)
}

func (l *RandomPerspective) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[RandomPerspective]() }
