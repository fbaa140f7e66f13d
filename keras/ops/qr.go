package ops

import "github.com/gokeras/gokeras/kernels/ir"

// Qr returns Q with orthonormal columns and the upper triangular R with Q·R = x, for x (..., m, n), by Householder
// reflections with the signs of LAPACK. Without complete, Q is (..., m, min(m, n)) and R (..., min(m, n), n); with it
// they are (..., m, m) and (..., m, n).
//
// The gradient, for m >= n: dx = (dQ + Q·C)·R⁻ᵀ, where C is the lower triangle of R·dRᵀ - dQᵀ·Q mirrored at the
// diagonal. Source: Seeger et al., "Auto-Differentiating Linear Algebra", 2017. The columns that complete adds to Q
// have no meaningful gradient.
func Qr(x *Tensor, complete bool) (q, r *Tensor) {
	if x.Rank() < 2 {
		Failf(x.g, "qr: needs matrices (..., m, n), received shape %v", x.Shape())
	}
	Fixed(x, "qr", x.Dim(-2), x.Dim(-1))
	x = float(x)
	m, n := x.Dim(-2), x.Dim(-1)
	if m < n { //dim:known Q is that of the first m columns
		q, left := Qr(SliceAxis(x, -1, 0, m), complete)
		return q, Concatenate(-1, left, Matmul(adjoint(q), SliceAxis(x, -1, m, n)))
	}
	if n == 0 || complete && m > n { //dim:known
		q, r = factorQR(x, m)
		if !complete {
			q, r = SliceAxis(q, -1, 0, n), SliceAxis(r, -2, 0, n)
		}
		return q, r
	}
	out := CustomGradient(func(xs ...*Tensor) ([]*Tensor, func([]*Tensor) []*Tensor) {
		q, r := factorQR(xs[0], n)
		return []*Tensor{q, r}, func(dys []*Tensor) []*Tensor {
			c := Subtract(Matmul(r, adjoint(dys[1])), Matmul(adjoint(dys[0]), q))
			c = Add(Tril(c, 0), adjoint(Tril(c, -1)))
			return []*Tensor{adjoint(Solve(r, adjoint(Add(dys[0], Matmul(q, c)))))}
		}
	}, x)
	return out[0], out[1]
}

// factorQR returns the given number of columns of Q, and as many rows of R.
func factorQR(x *Tensor, columns int) (q, r *Tensor) {
	if x.Dim(-1) == 0 { //dim:known
		return reflect(x)
	}
	out := factor(ir.QR, func(xs []*Tensor) []*Tensor {
		q, r := reflect(xs[0])
		return []*Tensor{SliceAxis(q, -1, 0, columns), SliceAxis(r, -2, 0, columns)}
	}, x)
	return out[0], out[1]
}

// reflect turns x (..., m, n), m >= n, into an upper triangle: reflection k maps column k below the diagonal to zero.
func reflect(x *Tensor) (q, r *Tensor) {
	m, n, d := x.Dim(-2), x.Dim(-1), x.DType()
	square := append(x.Shape()[:x.Rank()-2].Clone(), m, m)
	row, zero := Arange(x, ir.Int32, m), Zeros(x, d)
	start := []*Tensor{BroadcastTo(Identity(x, d, m), square...), x}
	if n == 0 {
		return start[0], x
	}
	columns := Arange(x, ir.Int32, n)
	final, _ := Scan(func(carry, xs []*Tensor) (next, ys []*Tensor) {
		q, r := carry[0], carry[1]
		isK, below := Equal(row, xs[0]), Greater(row, xs[0])
		column := Sum(Where(Equal(columns, xs[0]), r, zero), -1) // (..., m)
		head := Sum(Where(isK, column, zero), -1)
		tail := Sum(Where(below, Square(column), zero), -1)
		done := CompareScalar(ir.Eq, tail, 0) // no reflection is needed, as in LAPACK
		length := Sqrt(Where(done, OnesLike(tail), Add(Square(head), tail)))
		beta := Where(CompareScalar(ir.Ge, head, 0), Negative(length), length)
		v := Where(isK, ExpandDims(Subtract(head, beta), -1), Where(below, column, zero))
		size := Where(done, OnesLike(tail), Sum(Square(v), -1))
		tau := Where(done, ZerosLike(tail), Divide(FullLike(size, 2), size))
		tall, wide := ExpandDims(v, -1), ExpandDims(v, -2)
		scaled := Multiply(tall, ExpandDims(ExpandDims(tau, -1), -1))
		r = Subtract(r, Matmul(scaled, Matmul(wide, r)))
		q = Subtract(q, Matmul(Matmul(q, tall), adjoint(scaled)))
		return []*Tensor{q, r}, nil
	}, start, []*Tensor{columns}, ScanOptions{})
	return final[0], Triu(final[1], 0)
}
