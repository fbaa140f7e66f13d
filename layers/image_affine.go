package layers

import (
	"github.com/gokeras/gokeras/keras/boundingboxes"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// affineMap says for each image where its cells are sampled: the cell in column x and row y of the result is sampled at
// column a0·x + a1·y + a2 and row b0·x + b1·y + b2. Each entry is a vector with one number for each image.
type affineMap struct{ a0, a1, a2, b0, b1, b2 *ops.Tensor }

// sampling says how images are read between cells and outside of them.
type sampling struct {
	interpolation Interpolation // "bilinear" or "nearest"
	fillMode      FillMode      // "reflect", "wrap", "nearest" or "constant"; "mirror", which few layers have
	fillValue     float64       // of "constant"
}

// check reports unknown names.
func (s sampling) check(g *ops.Graph) {
	needChoice(g, "Interpolation", s.interpolation, "bilinear", "nearest")
	needChoice(g, "FillMode", s.fillMode, "reflect", "wrap", "nearest", "constant")
}

// samplingOf reads the three fields, whose defaults are "bilinear" and "reflect".
func samplingOf(interpolation Interpolation, fillMode FillMode, fillValue float64) sampling {
	if interpolation == "" {
		interpolation = "bilinear"
	}
	if fillMode == "" {
		fillMode = "reflect"
	}
	return sampling{interpolation, fillMode, fillValue}
}

// nearest returns the same sampling with the nearest cell, for masks of class numbers.
func (s sampling) nearest() sampling {
	s.interpolation = "nearest"
	return s
}

// transform samples images as a map says.
func (s sampling) transform(x *ops.Tensor, dataFormat DataFormat, cells func(images *ops.Tensor) affineMap) *ops.Tensor {
	images, restore := batchImages(x, dataFormat)
	return restore(s.affineImages(images, cells(images)))
}

// boxes maps the corners of boxes (batch, boxes, 4), given as left, top, right and bottom, through the inverse of the
// map, and returns the boxes around them.
func (m affineMap) boxes(boxes *ops.Tensor) *ops.Tensor {
	each := func(v *ops.Tensor) *ops.Tensor { return ops.Reshape(ops.Cast(v, boxes.DType()), v.Dim(0), 1, 1) }
	a0, a1, b0, b1 := each(m.a0), each(m.a1), each(m.b0), each(m.b1)
	side := func(i int) *ops.Tensor { return ops.SliceAxis(boxes, -1, i, i+1) }
	x := ops.Subtract(ops.Concatenate(-1, side(0), side(2), side(2), side(0)), each(m.a2))
	y := ops.Subtract(ops.Concatenate(-1, side(1), side(1), side(3), side(3)), each(m.b2))
	whole := ops.Subtract(ops.Multiply(a0, b1), ops.Multiply(a1, b0))
	flat := ops.CompareScalar(ir.Eq, whole, 0) // the image has collapsed to a line: no box is left
	whole = ops.Where(flat, ops.OnesLike(whole), whole)
	u := ops.Divide(ops.Subtract(ops.Multiply(b1, x), ops.Multiply(a1, y)), whole)
	v := ops.Divide(ops.Subtract(ops.Multiply(a0, y), ops.Multiply(b0, x)), whole)
	moved := boundingboxes.Around(u, v)
	return ops.Where(ops.BroadcastTo(flat, moved.Shape()...), ops.ZerosLike(moved), moved)
}

// affineImages samples images x (batch, height, width, channels), which have a float type.
func (s sampling) affineImages(x *ops.Tensor, m affineMap) *ops.Tensor {
	wide := m.a0.DType()
	n, h, w := x.Dim(0), x.Dim(1), x.Dim(2)
	column, row := ops.Iota(x, wide, 2, 1, 1, w), ops.Iota(x, wide, 1, 1, h, 1)
	per := func(v *ops.Tensor) *ops.Tensor { return ops.Reshape(v, n, 1, 1) }
	at := func(p, q, r *ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Add(ops.Multiply(per(q), row), ops.Multiply(per(p), column)), per(r))
	}
	return s.read(x, at(m.b0, m.b1, m.b2), at(m.a0, m.a1, m.a2))
}

// read samples images x (batch, height, width, channels) at rows and columns (batch, height', width').
func (s sampling) read(x, rows, columns *ops.Tensor) *ops.Tensor {
	return ops.SampleImages(x, rows, columns, s.options())
}

func (s sampling) options() ops.ImageSampling {
	return ops.ImageSampling{Interpolation: string(s.interpolation), FillMode: string(s.fillMode), FillValue: s.fillValue}
}

// lengthNumber returns the length of an axis as a number; for open axes see [ops.Number].
func lengthNumber(x ops.Traced, n int) float64 {
	return ops.Number(x, func() float64 { return float64(n) }, n) //dim:known
}
