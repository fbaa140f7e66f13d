package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// squareMatrix checks that x is (..., n, n), and returns it with a float type, and n.
func squareMatrix(what string, x *Tensor) (*Tensor, int) {
	if x.Rank() < 2 || !dim.MayEqual(x.Dim(-1), x.Dim(-2)) {
		Failf(x.g, "%s: needs square matrices (..., n, n), received shape %v", what, x.Shape())
	}
	return float(x), x.Dim(-1)
}

// adjoint exchanges the last two axes.
func adjoint(x *Tensor) *Tensor { return SwapAxes(x, -1, -2) }

// Solve returns x with a·x = b, for a (..., n, n) and b (..., n, m) or a vector (..., n). It uses elimination with the
// largest element of the column as pivot; a singular matrix gives infinities and NaN. Gradients: db = solve(aᵀ, dx), da
// = -db·xᵀ. The result has the common float type of a and b.
func Solve(a, b *Tensor) *Tensor {
	a, b = commonFloat(a, b)
	a, n := squareMatrix("solve", a)
	if b.Rank() == a.Rank()-1 && b.Rank() > 0 && b.Dim(-1) == n {
		return Squeeze(Solve(a, ExpandDims(b, -1)), -1)
	}
	if b.Rank() < 2 || !dim.MayEqual(b.Dim(-2), n) {
		Failf(graphOf(a, b), "solve: needs a right side (..., %d, m) or (..., %d) for matrices %v, received shape %v", n, n, a.Shape(), b.Shape())
	}
	a, b = sameBatch(a, b)
	x, _, _ := eliminate(a, b)
	return x
}

// sameBatch broadcasts the axes before the last two.
func sameBatch(a, b *Tensor) (*Tensor, *Tensor) {
	cut := func(s ir.Shape) (lead, matrix ir.Shape) { return s[:len(s)-2], s[len(s)-2:] }
	aLead, aMatrix := cut(a.Shape())
	bLead, bMatrix := cut(b.Shape())
	lead, err := ir.BroadcastShapes(aLead, bLead)
	if err != nil {
		Fail(graphOf(a, b), err)
	}
	return BroadcastTo(a, append(lead.Clone(), aMatrix...)...), BroadcastTo(b, append(lead.Clone(), bMatrix...)...)
}

// eliminate returns a⁻¹·b, and the sign of the determinant of a and the logarithm of its absolute value.
func eliminate(a, b *Tensor) (x, sign, logDet *Tensor) {
	out := apply(ir.Eliminate, nil, a, b)
	return out[0], out[1], out[2]
}

func init() {
	rules[ir.Eliminate] = func(c *vjp) []*Tensor {
		if c.dys[0] == nil && c.dys[2] == nil {
			return []*Tensor{ZerosLike(c.in(0)), nil}
		}
		var da, db *Tensor
		if c.dys[0] != nil {
			db = Solve(adjoint(c.in(0)), c.dy(0))
			da = Negative(Matmul(db, adjoint(c.out(0))))
		}
		if c.dys[2] != nil {
			d := Multiply(ExpandDims(ExpandDims(c.dy(2), -1), -1), adjoint(Inv(c.in(0))))
			if da == nil {
				da = d
			} else {
				da = Add(da, d)
			}
		}
		return []*Tensor{da, db}
	}
}

// Inv returns the inverses of the matrices x (..., n, n); see [Solve]. The gradient is -yᵀ·dy·yᵀ with y the inverse.
func Inv(x *Tensor) *Tensor {
	x, n := squareMatrix("inv", x)
	return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		y := Solve(xs[0], BroadcastTo(Identity(x, x.DType(), n), x.Shape()...))
		return []*Tensor{y}, func(dys []*Tensor) []*Tensor { // that of Solve would eliminate again
			t := adjoint(y)
			return []*Tensor{Negative(Matmul(Matmul(t, dys[0]), t))}
		}
	}, x)[0]
}

// Slogdet returns the sign of the determinant of each matrix x (..., n, n) and the natural logarithm of its absolute
// value, 0 and -Inf for a singular matrix. The gradient of the logarithm is the transposed inverse.
func Slogdet(x *Tensor) (sign, logarithm *Tensor) {
	x, n := squareMatrix("slogdet", x)
	if n == 1 || n == 2 { //dim:known an open length is a number far from these
		return smallSlogdet(x, n)
	}
	_, sign, logarithm = eliminate(x, SliceAxis(x, -1, 0, 0))
	return sign, logarithm
}

// smallSlogdet eliminates as for larger matrices, with the larger element of the first column as the pivot, so that
// nothing overflows, but for all matrices at once.
func smallSlogdet(x *Tensor, n int) (sign, logarithm *Tensor) {
	if d := x.DType(); d.IsHalf() {
		sign, logarithm = smallSlogdet(Cast(x, ir.Float32), n)
		return Cast(sign, d), Cast(logarithm, d)
	}
	e := elementsOf(x, n)
	if n == 1 {
		return Sign(e[0]), Log(Abs(e[0]))
	}
	ordered := GreaterEqual(Abs(e[0]), Abs(e[2]))
	row := func(above, below *Tensor) (pivot, other *Tensor) {
		return Where(ordered, above, below), Where(ordered, below, above)
	}
	pivot, left := row(e[0], e[2])
	beside, corner := row(e[1], e[3])
	last := Subtract(corner, Multiply(DivideNoNan(left, pivot), beside))
	sign = Multiply(Sign(pivot), Sign(last))
	return Where(ordered, sign, Negative(sign)), Add(Log(Abs(pivot)), Log(Abs(last)))
}

// elementsOf returns the elements of matrices of n rows, row by row.
func elementsOf(x *Tensor, n int) []*Tensor {
	return Unstack(Reshape(x, append(slices.Clone(x.Shape()[:x.Rank()-2]), n*n)...), -1) //dim:known at most 3
}

// Det returns the determinants of the matrices x (..., n, n). Up to three rows it is a polynomial of the elements,
// which rounding or an overflow may leave different from 0 for a singular matrix. The gradient is det(x)·(x⁻¹)ᵀ; from
// four rows on it is NaN for a singular matrix.
func Det(x *Tensor) *Tensor {
	x, n := squareMatrix("det", x)
	if n > 0 && n <= 3 { //dim:known an open length is a number far from these
		return smallDet(x, n)
	}
	sign, logarithm := Slogdet(x)
	return Multiply(sign, Exp(logarithm)) // 0·exp(-Inf) is 0
}

// smallDet is the determinant of matrices of one to three rows as a polynomial of their elements.
func smallDet(x *Tensor, n int) *Tensor {
	if d := x.DType(); d.IsHalf() {
		return Cast(smallDet(Cast(x, ir.Float32), n), d)
	}
	e := elementsOf(x, n)
	minor := func(a, b, c, d int) *Tensor { return Subtract(Multiply(e[a], e[d]), Multiply(e[b], e[c])) }
	switch n {
	case 1:
		return e[0]
	case 2:
		return minor(0, 1, 2, 3)
	}
	return Add(Subtract(Multiply(e[0], minor(4, 5, 7, 8)), Multiply(e[1], minor(3, 5, 6, 8))), Multiply(e[2], minor(3, 4, 6, 7)))
}

// Logdet returns the natural logarithm of the determinants of the symmetric, positive definite matrices x (..., n, n).
func Logdet(x *Tensor) *Tensor { _, logarithm := Slogdet(x); return logarithm }

// SolveTriangular returns x with a·x = b as [Solve] does. It reads only the lower triangle of a, or the upper one if
// lower is false.
func SolveTriangular(a, b *Tensor, lower bool) *Tensor {
	a, b = commonFloat(a, b)
	a, n := squareMatrix("solve triangular", a)
	kind, triangle := ir.Upper, Triu
	if lower {
		kind, triangle = ir.Lower, Tril
	}
	if b.Rank() != a.Rank() || !dim.Known(n) || !dim.MayEqual(b.Dim(-2), n) {
		return Solve(triangle(a, 0), b)
	}
	a, b = sameBatch(a, b)
	return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		x := factor(kind, func(xs []*Tensor) []*Tensor { return []*Tensor{Solve(triangle(xs[0], 0), xs[1])} }, xs...)[0]
		return []*Tensor{x}, func(dys []*Tensor) []*Tensor {
			db := SolveTriangular(adjoint(xs[0]), dys[0], !lower)
			return []*Tensor{Negative(triangle(Matmul(db, adjoint(x)), 0)), db}
		}
	}, a, b)[0]
}

// Cholesky returns the lower triangular L with L·Lᵀ = x for symmetric, positive definite matrices x (..., n, n), and
// NaN for others. It uses the mean of x and its transpose. With upper set it returns Lᵀ. The gradient is that of
// Murray, "Differentiation of the Cholesky decomposition", 2016, equation 10: dx = L⁻ᵀ·Φ(Lᵀ·dL)·L⁻¹ made symmetric,
// where Φ is the lower triangle with half the diagonal.
func Cholesky(x *Tensor, upper bool) *Tensor {
	x, n := squareMatrix("cholesky", x)
	if n == 0 {
		return x
	}
	l := CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		l := factor(ir.Cholesky, func(xs []*Tensor) []*Tensor {
			wide := Cast(xs[0], ir.Float64) // in float32, differences of squares would lose the last pivots
			return []*Tensor{Cast(choleskyFactor(MultiplyScalar(Add(wide, adjoint(wide)), 0.5), n), xs[0].DType())}
		}, xs[0])[0]
		return []*Tensor{l}, func(dys []*Tensor) []*Tensor {
			p := Tril(Matmul(adjoint(l), dys[0]), 0)
			p = Subtract(p, MultiplyScalar(Multiply(p, Identity(p, p.DType(), n)), 0.5))
			s := adjoint(Solve(adjoint(l), adjoint(Solve(adjoint(l), p))))
			return []*Tensor{MultiplyScalar(Add(s, adjoint(s)), 0.5)}
		}
	}, x)[0]
	if upper {
		return adjoint(l)
	}
	return l
}

// choleskyFactor makes one column after the other: column k is (x_k - L·(row k of L)ᵀ) divided by the square root of
// its element k.
func choleskyFactor(x *Tensor, n int) *Tensor {
	row, zero := Arange(x, ir.Int32, n), Zeros(x, x.DType())
	final, _ := Scan(func(carry, xs []*Tensor) (next, ys []*Tensor) {
		l := carry[0]
		isK := Equal(row, xs[0])
		line := Sum(Where(ExpandDims(isK, -1), l, zero), -2)
		c := Subtract(Sum(Where(isK, x, zero), -1), Sum(Multiply(l, ExpandDims(line, -2)), -1))
		root := Sqrt(Sum(Where(isK, c, zero), -1))
		column := Where(GreaterEqual(row, xs[0]), Divide(c, ExpandDims(root, -1)), zero)
		return []*Tensor{Where(isK, ExpandDims(column, -1), l)}, nil
	}, []*Tensor{ZerosLike(x)}, []*Tensor{row}, ScanOptions{})
	return final[0]
}

// CholeskyInverse returns the inverse of L·Lᵀ for a lower triangular L (..., n, n), or of Uᵀ·U if upper is set.
func CholeskyInverse(x *Tensor, upper bool) *Tensor {
	if upper {
		x = adjoint(x)
	}
	x, n := squareMatrix("cholesky inverse", x)
	inverse := SolveTriangular(x, BroadcastTo(Identity(x, x.DType(), n), x.Shape()...), true)
	return Matmul(adjoint(inverse), inverse)
}

// MatrixPower returns the n-th power of the matrices x (..., m, m). A negative n takes powers of the inverse.
func MatrixPower(x *Tensor, n int) *Tensor {
	x, m := squareMatrix("matrix power", x)
	if n < 0 {
		return MatrixPower(Inv(x), -n)
	}
	y := BroadcastTo(Identity(x, x.DType(), m), x.Shape()...)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y = Matmul(y, x)
		}
		if n > 1 {
			x = Matmul(x, x)
		}
	}
	return y
}
