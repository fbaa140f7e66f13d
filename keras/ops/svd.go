package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// matrices checks that x is (..., m, n) and converts it to a type in which factorizations are computed. It also returns
// a function that converts results back to the type of x.
func matrices(what string, x *Tensor) (*Tensor, func(*Tensor) *Tensor) {
	if x.Rank() < 2 {
		Failf(x.g, "%s: needs matrices (..., m, n), received shape %v", what, x.Shape())
	}
	Fixed(x, what, x.Dim(-2), x.Dim(-1))
	x = float(x)
	d := x.DType()
	if d.Size() < 4 {
		return Cast(x, ir.Float32), func(y *Tensor) *Tensor { return Cast(y, d) }
	}
	return x, func(y *Tensor) *Tensor { return y }
}

// Svd returns the singular value decomposition x = u·diag(s)·vh of x (..., m, n): with k = min(m, n), u (..., m, k), s
// (..., k) in descending order and vh (..., k, n). With full set u is (..., m, m) and vh (..., n, n), and the added
// vectors complete an orthonormal basis. The signs of the vectors are not those of LAPACK.
//
// The gradient is U·[(F∘(UᵀdU-dUᵀU))·S + diag(ds) + S·(F∘(VᵀdV-dVᵀV))]·Vᵀ + (I-U·Uᵀ)·dU·S⁻¹·Vᵀ for m >= n, with F =
// 1/(sⱼ²-sᵢ²), which is 0 here where two singular values are equal. Source: Townsend, "Differentiating the singular
// value decomposition", 2016. The vectors that full adds have no meaningful gradient.
func Svd(x *Tensor, full bool) (u, s, vh *Tensor) {
	x, back := matrices("svd", x)
	m, n := x.Dim(-2), x.Dim(-1)
	if m < n { //dim:known
		u, s, vh = Svd(adjoint(x), full)
		return back(adjoint(vh)), back(s), back(adjoint(u))
	}
	if n == 0 {
		lead := x.Shape()[:x.Rank()-2]
		u = Zeros(x, x.DType(), append(lead.Clone(), m, 0)...)
		if full {
			u = stackOf(x, m)
		}
		return back(u), back(Zeros(x, x.DType(), append(lead.Clone(), 0)...)), back(Zeros(x, x.DType(), append(lead.Clone(), 0, 0)...))
	}
	out := CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		out := factor(ir.SVD, func(xs []*Tensor) []*Tensor {
			u, s, v := jacobiSvd(xs[0], full)
			return []*Tensor{u, s, v}
		}, xs[0])
		return []*Tensor{out[0], out[1], adjoint(out[2])}, func(dys []*Tensor) []*Tensor {
			u, s, vh := Svd(xs[0], false) // factorized again, in a form that has a gradient itself
			return []*Tensor{svdGradient(u, s, adjoint(vh), SliceAxis(dys[0], -1, 0, n), dys[1], adjoint(dys[2]))}
		}
	}, x)
	return back(out[0]), back(out[1]), back(out[2])
}

func svdGradient(u, s, v, du, ds, dv *Tensor) *Tensor {
	row, column := ExpandDims(s, -2), ExpandDims(s, -1)
	f := reciprocalOr0(Multiply(Subtract(row, column), Add(row, column)))
	turning := func(a, da *Tensor) *Tensor {
		p := Matmul(adjoint(a), da)
		return Multiply(f, Subtract(p, adjoint(p)))
	}
	n := s.Dim(-1)
	inner := Add(Multiply(turning(u, du), row), Multiply(column, turning(v, dv)))
	inner = Add(inner, Multiply(ExpandDims(ds, -1), Identity(ds, ds.DType(), n)))
	outside := Subtract(du, Matmul(u, Matmul(adjoint(u), du)))
	left := Add(Matmul(u, inner), Multiply(outside, reciprocalOr0(row)))
	return Matmul(left, adjoint(v))
}

// reciprocalOr0 is 1/x, and 0 where x is 0.
func reciprocalOr0(x *Tensor) *Tensor {
	zero := CompareScalar(ir.Eq, x, 0)
	return Where(zero, ZerosLike(x), Divide(OnesLike(x), Where(zero, OnesLike(x), x)))
}

// SingularValues returns the singular values (..., min(m, n)) of x (..., m, n) in descending order: svd with compute_uv
// false.
func SingularValues(x *Tensor) *Tensor {
	_, s, _ := Svd(x, false)
	return s
}

// spectralNorm is the matrix norm of order 2 (the largest singular value) or -2 (the smallest) along axes rows and
// columns.
func spectralNorm(x *Tensor, order float64, rows, columns int) *Tensor {
	s := SingularValues(MoveAxis(MoveAxis(x, max(rows, columns), -1), min(rows, columns), -2))
	if order > 0 {
		return largestNorm(s, -1)
	}
	if s.Dim(-1) == 0 {
		Failf(x.g, "norm: the matrices of %v along axes %d and %d have no elements, and nothing has no smallest singular value; expected one element at least", x.Shape(), rows, columns)
	}
	return Min(s, -1)
}

// NuclearNorm returns the sums of the singular values of the matrices along two axes, the norm "nuc" of Keras.
func NuclearNorm(x *Tensor, rows, columns int) *Tensor {
	x = float(x)
	rows, columns = x.Axis(rows), x.Axis(columns)
	if rows == columns {
		Failf(x.g, "nuclear norm: needs two different axes, received axis %d twice", rows)
	}
	return Sum(SingularValues(MoveAxis(MoveAxis(x, max(rows, columns), -1), min(rows, columns), -2)), -1)
}

// Eigh returns the eigenvalues w (..., n) in ascending order and the eigenvectors, the columns of v (..., n, n), of the
// symmetric matrices x (..., n, n). It uses the mean of x and its transpose. The signs of the vectors are not those of
// LAPACK. The gradient is V·(diag(dw) + F∘(Vᵀ·dV))·Vᵀ made symmetric, with F = 1/(wⱼ-wᵢ), which is 0 here where two
// eigenvalues are equal.
func Eigh(x *Tensor) (w, v *Tensor) {
	x, back := matrices("eigh", x)
	x, n := squareMatrix("eigh", x)
	if n == 0 {
		return back(Sum(x, -1)), back(x)
	}
	x = MultiplyScalar(Add(x, adjoint(x)), 0.5)
	out := CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		out := factor(ir.Eigh, func(xs []*Tensor) []*Tensor {
			w, v := jacobiEigh(xs[0])
			return []*Tensor{w, v}
		}, xs[0])
		return out, func(dys []*Tensor) []*Tensor {
			w, v := Eigh(xs[0]) // factorized again, in a form that has a gradient itself
			f := reciprocalOr0(Subtract(ExpandDims(w, -2), ExpandDims(w, -1)))
			inner := Add(Multiply(f, Matmul(adjoint(v), dys[1])), Multiply(ExpandDims(dys[0], -1), Identity(w, w.DType(), n)))
			dx := Matmul(Matmul(v, inner), adjoint(v))
			return []*Tensor{MultiplyScalar(Add(dx, adjoint(dx)), 0.5)}
		}
	}, x)
	return back(out[0]), back(out[1])
}

// Pinv returns the Moore-Penrose pseudoinverses (..., n, m) of x (..., m, n). Singular values up to cutoff times the
// largest one count as zero; nil is Keras's default, 10·max(m, n)·ε. Gradient: -Pᵀ·dP·Pᵀ + (I-x·P)·dPᵀ·P·Pᵀ +
// Pᵀ·P·dPᵀ·(I-P·x), after Golub and Pereyra, 1973. If values other than zero are cut off, it assumes, as Keras's
// backends do, that the rank stays the same.
func Pinv(x *Tensor, cutoff *float64) *Tensor {
	x, back := matrices("pinv", x)
	limit := 10 * float64(max(x.Dim(-1), x.Dim(-2))) * epsilonOf(x.DType()) //dim:known
	if cutoff != nil {
		limit = *cutoff
	}
	return back(pseudoinverse(x, limit, ir.Gt))
}

// pseudoinverse keeps the singular values for which the comparison with limit times the largest one holds.
func pseudoinverse(x *Tensor, limit float64, compare ir.Direction) *Tensor {
	if x.Shape().Size() == 0 {
		return adjoint(x)
	}
	return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		x := xs[0]
		var p *Tensor
		if compare == ir.Ge && x.Rank() == 2 {
			p = triangleInverse(x, limit)
		} else {
			p = singularInverse(x, limit, compare)
		}
		return []*Tensor{p}, func(dys []*Tensor) []*Tensor {
			dp, dpT, pT := dys[0], adjoint(dys[0]), adjoint(p)
			dx := Negative(Matmul(Matmul(pT, dp), pT))
			left := Matmul(dpT, Matmul(p, pT))
			dx = Add(dx, Subtract(left, Matmul(x, Matmul(p, left))))
			right := Matmul(Matmul(pT, p), dpT)
			return []*Tensor{Add(dx, Subtract(right, Matmul(Matmul(right, p), x)))}
		}
	}, x)[0]
}

// singularInverse is the pseudoinverse from the singular values.
func singularInverse(x *Tensor, limit float64, compare ir.Direction) *Tensor {
	u, s, vh := Svd(x, false)
	floor := MultiplyScalar(SliceAxis(s, -1, 0, 1), limit)
	keep := Greater(s, floor)
	if compare == ir.Ge {
		keep = GreaterEqual(s, floor)
	}
	inverse := Where(keep, reciprocalOr0(s), ZerosLike(s))
	return Matmul(Multiply(adjoint(vh), ExpandDims(inverse, -2)), adjoint(u))
}

// MatrixRank returns how many singular values of x (..., m, n) are larger than tolerance, as int32 (...). nil is
// Keras's default: the largest singular value times max(m, n)·ε.
func MatrixRank(x *Tensor, tolerance *float64) *Tensor {
	x, _ = matrices("matrix rank", x)
	s := SingularValues(x)
	if s.Dim(-1) == 0 {
		return Cast(Sum(s, -1), ir.Int32)
	}
	floor := MultiplyScalar(Max(s, -1), float64(max(x.Dim(-1), x.Dim(-2)))*epsilonOf(x.DType())) //dim:known
	if tolerance != nil {
		floor = FullLike(floor, *tolerance)
	}
	return Sum(Cast(Greater(s, ExpandDims(floor, -1)), ir.Int32), -1)
}

// Lstsq returns the x of smallest norm among those that minimize |a·x - b|, for a (m, n) and b (m) or (m, k). Singular
// values of a below cutoff times the largest one count as zero; nil is Keras's default, max(m, n)·ε, and a negative
// cutoff means ε. The result has the common float type of a and b.
func Lstsq(a, b *Tensor, cutoff *float64) *Tensor {
	if a.Rank() != 2 || b.Rank() < 1 || b.Rank() > 2 || !dim.MayEqual(a.Dim(0), b.Dim(0)) {
		Failf(graphOf(a, b), "lstsq: needs a matrix (m, n) and a right side (m) or (m, k), received shapes %v and %v", a.Shape(), b.Shape())
	}
	a, b = commonFloat(a, b)
	a, back := matrices("lstsq", a)
	b = Cast(b, a.DType())
	limit := float64(max(a.Dim(0), a.Dim(1))) * epsilonOf(a.DType()) //dim:known
	if cutoff != nil {
		if limit = *cutoff; math.Signbit(limit) {
			limit = epsilonOf(a.DType())
		}
	}
	if b.Rank() == 1 {
		return back(Squeeze(leastSquares(a, ExpandDims(b, -1), limit), -1))
	}
	return back(leastSquares(a, b, limit))
}
