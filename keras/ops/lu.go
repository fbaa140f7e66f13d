package ops

import "github.com/gokeras/gokeras/kernels/ir"

// LuFactor returns the factors of P·x = L·U for x (..., m, n), with rows exchanged so that the largest element of a
// column is its pivot. lu (..., m, n) holds U and, below its diagonal, L without the ones on its diagonal. Row k was
// exchanged with row pivots[k] (..., min(m, n)), int32, as in LAPACK, but counted from 0.
func LuFactor(x *Tensor) (lu, pivots *Tensor) {
	x, back := matrices("lu factor", x)
	m, n := x.Dim(-2), x.Dim(-1)
	k := min(m, n) //dim:known
	lead := x.Shape()[:x.Rank()-2]
	if k == 0 {
		return back(x), Zeros(x, ir.Int32, append(lead.Clone(), 0)...)
	}
	out := CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		out := factor(ir.LU, func(xs []*Tensor) []*Tensor { return luFactors(xs[0], m, n, k) }, xs[0])
		return out, func(dys []*Tensor) []*Tensor {
			lu, pivots := LuFactor(xs[0]) // factorized again, in a form that has a gradient itself
			return []*Tensor{rowsBack(luGradient(lu, dys[0], m, n, k), pivots)}
		}
	}, x)
	return back(out[0]), out[1]
}

// luGradient is the gradient of the rows in the order of the pivots. For a square matrix it is L⁻ᵀ·(tril(Lᵀ·dL, -1) +
// triu(dU·Uᵀ))·U⁻ᵀ. The part to the right of the square, or below it, is a division by L or U, which subtracts its
// product from that of the square.
func luGradient(lu, d *Tensor, m, n, k int) *Tensor {
	part := func(x *Tensor, rows, columns, toRow, toColumn int) *Tensor {
		return SliceAxis(SliceAxis(x, -2, rows, toRow), -1, columns, toColumn)
	}
	l, dl := part(lu, 0, 0, k, k), part(d, 0, 0, k, k)
	unit := Add(Tril(l, -1), Identity(l, l.DType(), k))
	low, high := Matmul(adjoint(unit), Tril(dl, -1)), Matmul(Triu(dl, 0), adjoint(Triu(l, 0)))
	var beside *Tensor
	if m < n { //dim:known
		dy := part(d, 0, k, m, n)
		low = Subtract(low, Matmul(dy, adjoint(part(lu, 0, k, m, n))))
		beside = SolveTriangular(adjoint(unit), dy, false)
	} else if m > n { //dim:known
		dy := part(d, k, 0, m, n)
		high = Subtract(high, Matmul(adjoint(part(lu, k, 0, m, n)), dy))
		beside = adjoint(SolveTriangular(l, adjoint(dy), false))
	}
	dx := SolveTriangular(adjoint(unit), Add(Tril(low, -1), Triu(high, 0)), false)
	dx = adjoint(SolveTriangular(l, adjoint(dx), false))
	switch {
	case m < n: //dim:known
		return Concatenate(-1, dx, beside)
	case m > n: //dim:known
		return Concatenate(-2, dx, beside)
	}
	return dx
}

// rowsBack moves the rows of x back to where they were before the exchanges.
func rowsBack(x, pivots *Tensor) *Tensor {
	m := x.Dim(-2)
	row := Arange(x, ir.Int32, m)
	start := BroadcastTo(row, append(x.Shape()[:x.Rank()-2].Clone(), m)...)
	final, _ := Scan(func(carry, xs []*Tensor) (next, ys []*Tensor) {
		places, p := carry[0], ExpandDims(xs[0], -1)
		isK, isP := Equal(row, xs[1]), Equal(row, p)
		pick := func(which *Tensor) *Tensor { return ExpandDims(Sum(Where(which, places, ZerosLike(places)), -1), -1) }
		return []*Tensor{Where(isK, pick(isP), Where(isP, pick(isK), places))}, nil
	}, []*Tensor{start}, []*Tensor{MoveAxis(pivots, -1, 0), Arange(x, ir.Int32, pivots.Dim(-1))}, ScanOptions{Reverse: true})
	return TakeAlongAxis(x, BroadcastTo(ExpandDims(final[0], -1), x.Shape()...), -2)
}

// luFactors is one step of elimination after the other, on all matrices at once.
func luFactors(x *Tensor, m, n, k int) []*Tensor {
	row, columns, zero := Arange(x, ir.Int32, m), Arange(x, ir.Int32, n), Zeros(x, x.DType())
	final, stacked := Scan(func(carry, xs []*Tensor) (next, ys []*Tensor) {
		a := carry[0]
		isK := Equal(row, xs[0])
		pick := func(a, which *Tensor) *Tensor { return Sum(Where(ExpandDims(which, -1), a, zero), -2) } // a row (..., n)
		column := Sum(Where(Equal(columns, xs[0]), a, zero), -1)
		size := Where(Less(row, xs[0]), FullLike(column, -1), Abs(column))
		p := Argmax(size, -1)
		isP := Equal(row, ExpandDims(p, -1))
		top, moved := ExpandDims(pick(a, isP), -2), ExpandDims(pick(a, isK), -2)
		a = Where(ExpandDims(isP, -1), moved, a)
		a = Where(ExpandDims(isK, -1), top, a)
		column = Sum(Where(Equal(columns, xs[0]), a, zero), -1)
		pivot := Sum(Where(isK, column, zero), -1)
		factor := Multiply(Where(Greater(row, xs[0]), column, zero), ExpandDims(reciprocalOr0(pivot), -1))
		factor = ExpandDims(factor, -1)
		reduced := Subtract(a, Multiply(factor, Where(Greater(columns, xs[0]), top, zero)))
		below := LogicalAnd(ExpandDims(Greater(row, xs[0]), -1), Equal(columns, xs[0]))
		return []*Tensor{Where(below, BroadcastTo(factor, a.Shape()...), reduced)}, []*Tensor{Cast(p, ir.Int32)}
	}, []*Tensor{x}, []*Tensor{Arange(x, ir.Int32, k)}, ScanOptions{})
	return []*Tensor{final[0], MoveAxis(stacked[0], 0, -1)}
}
