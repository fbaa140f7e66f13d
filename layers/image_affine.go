package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// affineMap says for each image where its cells come from: the cell in column x and row y of the result is sampled at column
// a0·x + a1·y + a2 and row b0·x + b1·y + b2. Each entry is a vector with one number for each image.
type affineMap struct{ a0, a1, a2, b0, b1, b2 *ops.Tensor }

// sampling is how images are read between cells and outside of them.
type sampling struct {
	interpolation string  // "bilinear" or "nearest"
	fillMode      string  // "reflect", "wrap", "nearest" or "constant"; "mirror", which few layers have
	fillValue     float64 // of "constant"
}

// check reports unknown names.
func (s sampling) check(g *ops.Graph) {
	needChoice(g, "Interpolation", s.interpolation, "bilinear", "nearest")
	needChoice(g, "FillMode", s.fillMode, "reflect", "wrap", "nearest", "constant")
}

// samplingOf reads the three fields, whose defaults are "bilinear" and "reflect".
func samplingOf(interpolation, fillMode string, fillValue float64) sampling {
	if interpolation == "" {
		interpolation = "bilinear"
	}
	if fillMode == "" {
		fillMode = "reflect"
	}
	return sampling{interpolation, fillMode, fillValue}
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

// tap is one of the cells along an axis that a sampled point is made of.
type tap struct {
	cell   *ops.Tensor // int32, inside the axis
	weight *ops.Tensor // nil is 1
	inside *ops.Tensor // where the cell lies in the image; nil is everywhere
}

// read samples images x (batch, height, width, channels) at rows and columns (batch, height', width').
func (s sampling) read(x, rows, columns *ops.Tensor) *ops.Tensor {
	n, h, w, channels := x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(3)
	flat := ops.Reshape(x, dim.Mul(n, h, w), channels)
	index := ir.Int32
	if cells := dim.Mul(n, h, w); dim.Known(cells) && cells > math.MaxInt32 {
		index = ir.Int64
	}
	base := ops.MultiplyByLength(ops.Iota(x, index, 0, n, 1, 1), dim.Mul(h, w))
	var sum *ops.Tensor
	for _, r := range s.taps(rows, h) {
		line := ops.Add(ops.MultiplyByLength(ops.Cast(r.cell, index), w), base)
		for _, c := range s.taps(columns, w) {
			part := ops.Take(flat, ops.Add(line, ops.Cast(c.cell, index)), 0)
			if r.inside != nil {
				both := ops.ExpandDims(ops.LogicalAnd(r.inside, c.inside), -1)
				part = ops.Where(both, part, ops.Scalar(part, s.fillValue))
			}
			if r.weight != nil {
				part = ops.Multiply(part, ops.Cast(ops.ExpandDims(ops.Multiply(r.weight, c.weight), -1), x.DType()))
			}
			if sum == nil {
				sum = part
			} else {
				sum = ops.Add(sum, part)
			}
		}
	}
	return sum
}

// taps returns the cells of an axis of the given length around the points at: the nearest one, halves away from zero, or the two
// next to it.
func (s sampling) taps(at *ops.Tensor, length int) []tap {
	if s.interpolation == "nearest" {
		away := ops.Multiply(ops.Sign(at), ops.Floor(ops.AddScalar(ops.Abs(at), 0.5)))
		return []tap{s.fix(ops.Cast(away, ir.Int32), length)}
	}
	floor := ops.Floor(at)
	lower, upper := s.fix(ops.Cast(floor, ir.Int32), length), s.fix(ops.AddScalar(ops.Cast(floor, ir.Int32), 1), length)
	upper.weight = ops.Subtract(at, floor)
	lower.weight = ops.Subtract(ops.OnesLike(at), upper.weight)
	return []tap{lower, upper}
}

// fix brings cells outside of [0, length) inside, by the fill mode. "reflect" mirrors at the border: d c b a | a b c d | d c b a,
// "mirror" at the outermost cell: d c b | a b c d | c b a.
func (s sampling) fix(cell *ops.Tensor, length int) tap {
	n := lengthNumber(cell, length)
	switch s.fillMode {
	case "wrap":
		return tap{cell: ops.Mod(cell, ops.Scalar(cell, n))}
	case "reflect":
		folded := ops.Mod(cell, ops.Scalar(cell, 2*n)) // from 0 to 2n-1
		return tap{cell: ops.Minimum(folded, ops.Subtract(ops.Scalar(cell, 2*n-1), folded))}
	case "mirror":
		period := max(2*n-2, 1) // of one cell alone
		folded := ops.Mod(cell, ops.Scalar(cell, period))
		return tap{cell: ops.Minimum(folded, ops.Subtract(ops.Scalar(cell, period), folded))}
	case "constant":
		inside := ops.LogicalAnd(ops.CompareScalar(ir.Ge, cell, 0), ops.CompareScalar(ir.Lt, cell, n))
		return tap{cell: ops.Clip(cell, 0, n-1), inside: inside}
	}
	return tap{cell: ops.Clip(cell, 0, n-1)}
}

// lengthNumber is the length of an axis as a number; of an open one see [ops.Number].
func lengthNumber(x ops.Traced, n int) float64 {
	return ops.Number(x, func() float64 { return float64(n) }, n) //dim:known
}
