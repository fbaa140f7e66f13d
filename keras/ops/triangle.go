package ops

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Tril keeps the lower triangle of the last two axes: elements with column - row <= k; the others become zero.
func Tril(x *Tensor, k int) *Tensor { return triangle(x, ir.Le, k) }

// Triu keeps the upper triangle of the last two axes: elements with column - row >= k; the others become zero.
func Triu(x *Tensor, k int) *Tensor { return triangle(x, ir.Ge, k) }

func triangle(x *Tensor, d ir.Direction, k int) *Tensor {
	if x.Rank() < 2 {
		Failf(x.g, "a triangle needs a tensor of rank 2 or more, received shape %v", x.Shape())
	}
	rows, columns := x.Dim(-2), x.Dim(-1)
	if dim.Known(rows) && dim.Known(columns) {
		if y := triangleOfParts(x, d, k, rows, columns); y != nil {
			return y
		}
	}
	return Where(diagonals(x, d, k, rows, columns), x, ZerosLike(x))
}

// largeTriangle is how many elements a matrix has, at least, if the diagonal is computed apart from what it does not
// cross.
const largeTriangle = 1 << 12

// triangleOfParts is a triangle of a matrix, most of which is kept as a whole or becomes zero; else it returns nil.
//
//dim:known the lengths of both axes
func triangleOfParts(x *Tensor, d ir.Direction, k, rows, columns int) *Tensor {
	if rows > 1 && rows*columns < largeTriangle {
		return nil
	}
	k = min(max(k, -rows), columns) // beyond these, all is kept or nothing
	firstRow, firstColumn := 1-k, k // the first ones that the diagonal crosses
	if d == ir.Le {
		firstRow, firstColumn = -k, k+1
	}
	y := crossed(x, -1, firstColumn, firstColumn+rows-1, d == ir.Le, func(x *Tensor, first int) *Tensor { return triangle(x, d, k-first) })
	if y == nil {
		y = crossed(x, -2, firstRow, firstRow+columns-1, d == ir.Ge, func(x *Tensor, first int) *Tensor { return triangle(x, d, k+first) })
	}
	return y
}

// crossed is a triangle of a matrix, of whose rows or columns, along axis, a diagonal crosses at most half: those from
// first up to last. Those before are kept and those after it become zero, or the other way round; they need no mask.
// It returns nil where the diagonal crosses more. some computes the triangle of a part that begins at the given place.
//
//dim:known the lengths of both axes
func crossed(x *Tensor, axis, first, last int, keepsFirst bool, some func(x *Tensor, first int) *Tensor) *Tensor {
	n := x.Dim(axis)
	first, last = min(max(first, 0), n), min(max(last, 0), n)
	if last < first {
		last = first
	}
	if 2*(last-first) > n {
		return nil
	}
	low, high := make([]int, x.Rank()), make([]int, x.Rank())
	var parts []*Tensor
	keep := func(from, to int) {
		if to > from || first == last && len(parts) == 0 {
			parts = append(parts, SliceAxis(x, axis, from, to))
		}
	}
	if keepsFirst {
		keep(0, first)
		high[x.Axis(axis)] = n - last
	}
	if last > first {
		parts = append(parts, some(SliceAxis(x, axis, first, last), first))
	}
	if !keepsFirst {
		keep(last, n)
		low[x.Axis(axis)] = first
	}
	y := parts[0]
	if len(parts) > 1 {
		y = Concatenate(axis, parts...)
	}
	return Pad(y, low, high, 0)
}
