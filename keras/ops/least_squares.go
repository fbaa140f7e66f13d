package ops

import "github.com/gokeras/gokeras/kernels/ir"

// leastSquares is Lstsq for matrices of one float type: P·b with the pseudoinverse P of a. Its gradient follows from
// that of P (see Pinv) for dP = dx·bᵀ: for b it is u = Pᵀ·dx, and for a, with the residual r = b - a·x, it is r·(P·u)ᵀ
// - u·xᵀ + Pᵀ·x·(dx - aᵀ·u)ᵀ.
func leastSquares(a, b *Tensor, limit float64) *Tensor {
	if a.Shape().Size() == 0 {
		return Matmul(adjoint(a), b)
	}
	return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		a, b := xs[0], xs[1]
		p := pseudoinverse(a, limit, ir.Ge) // for the gradient alone
		return []*Tensor{solveLeastSquares(a, b, limit)}, func(dys []*Tensor) []*Tensor {
			dx, pT, x := dys[0], adjoint(p), Matmul(p, b)
			u := Matmul(pT, dx)
			da := Subtract(Matmul(Subtract(b, Matmul(a, x)), adjoint(Matmul(p, u))), Matmul(u, adjoint(x)))
			return []*Tensor{Add(da, Matmul(Matmul(pT, x), adjoint(Subtract(dx, Matmul(adjoint(a), u))))), u}
		}
	}, a, b)[0]
}

// solveLeastSquares solves with the triangle R of a, or of its transpose, if all singular values are kept. Otherwise it
// multiplies by the pseudoinverse from singular values. If b has few columns, they take part in the factorization of a,
// which turns them into Qᵀ·b, so that Q is never formed.
func solveLeastSquares(a, b *Tensor, limit float64) *Tensor {
	m, n, k := a.Dim(-2), a.Dim(-1), b.Dim(-1)
	var r *Tensor
	var solve func() *Tensor
	switch {
	case m < n: //dim:known factors are of known sizes
		q, factor := Qr(adjoint(a), false)
		r, solve = factor, func() *Tensor { return Matmul(q, SolveTriangular(adjoint(factor), b, true)) }
	case k <= fewRightSides: //dim:known
		both := Concatenate(-1, a, b)
		if m < n+k { //dim:known
			both = Pad(both, []int{0, 0}, []int{n + k - m, 0}, 0) //dim:known rows of zeros change no sum
		}
		_, factors := Qr(both, false)
		factors = SliceAxis(factors, -2, 0, n)
		r = SliceAxis(factors, -1, 0, n)
		solve = func() *Tensor { return SolveTriangular(r, SliceAxis(factors, -1, n, n+k), false) } //dim:known
	default:
		q, factor := Qr(a, false)
		r, solve = factor, func() *Tensor { return SolveTriangular(factor, Matmul(adjoint(q), b), false) }
	}
	return Cond(isFull(r, limit), func() []*Tensor { return []*Tensor{solve()} }, func() []*Tensor {
		return []*Tensor{Matmul(singularInverse(a, limit, ir.Ge), b)}
	})[0]
}

// fewRightSides is the number of right-hand sides up to which they are factorized together with the matrix.
const fewRightSides = 8

// isFull reports whether all singular values of a matrix with the triangle R are kept: whether limit is less than
// 1/(|R|·|R⁻¹|), in Frobenius norms, which is at most the smallest singular value divided by the largest.
func isFull(r *Tensor, limit float64) *Tensor {
	n := r.Dim(-1)
	inverse := SolveTriangular(r, Identity(r, r.DType(), n), false)
	length := func(x *Tensor) *Tensor { return Sqrt(Sum(Square(x))) }
	const margin = 1.5                                            // for rounding
	least := margin * max(limit, float64(n)*epsilonOf(r.DType())) //dim:known factors are of known sizes
	return CompareScalar(ir.Lt, MultiplyScalar(Multiply(length(r), length(inverse)), least), 1)
}

// triangleInverse is the pseudoinverse R⁻¹·Qᵀ of a matrix with factors Q and R if all singular values are kept. Other
// matrices go through the singular values.
func triangleInverse(x *Tensor, limit float64) *Tensor {
	if x.Dim(-2) < x.Dim(-1) { //dim:known
		return adjoint(triangleInverse(adjoint(x), limit))
	}
	q, r := Qr(x, false)
	return Cond(isFull(r, limit), func() []*Tensor {
		return []*Tensor{SolveTriangular(r, adjoint(q), false)}
	}, func() []*Tensor { return []*Tensor{singularInverse(x, limit, ir.Ge)} })[0]
}
