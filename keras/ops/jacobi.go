package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// This file holds the two factorizations by Jacobi rotations behind [Svd] and [Eigh]. n/2 disjoint pairs of columns are
// rotated at a time. Then the columns move on like players of a round-robin tournament, so that after n-1 moves all
// pairs have met and all columns are back. Such sweeps are repeated until no pair needs a rotation. Source: Brent and
// Luk, "The solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays", 1985.

// maxSweeps bounds the sweeps; usually six to ten are enough.
const maxSweeps = 40

// epsilonOf is the distance from 1 to the next larger number of a type.
func epsilonOf(d ir.DType) float64 {
	if d == ir.Float64 {
		return math.Ldexp(1, -52)
	}
	return math.Ldexp(1, -23)
}

// moveOn lets the columns (or rows) along an axis of even length change partners: columns of the first half are paired
// with those of the second.
//
//dim:known matrices that are factorized have fixed axes
func moveOn(x *Tensor, axis int) *Tensor {
	n := x.Dim(axis)
	h := n / 2
	if h < 2 {
		return x
	}
	part := func(low, high int) *Tensor { return SliceAxis(x, axis, low, high) }
	return Concatenate(axis, part(0, 1), part(h, h+1), part(1, h-1), part(h+1, n), part(h-1, h))
}

// turn applies rotations to the pairs of columns (or rows) along an axis. c and s have one element for each pair along
// that axis.
//
//dim:known matrices that are factorized have fixed axes
func turn(x *Tensor, axis int, c, s *Tensor) *Tensor {
	n := x.Dim(axis)
	p, q := SliceAxis(x, axis, 0, n/2), SliceAxis(x, axis, n/2, n)
	return Concatenate(axis, Subtract(Multiply(c, p), Multiply(s, q)), Add(Multiply(s, p), Multiply(c, q)))
}

// rotation returns the cosine and sine that make the off-diagonal element gamma of [alpha gamma; gamma beta] zero, or 1
// and 0 where turn is false.
func rotation(alpha, beta, gamma, turn *Tensor) (c, s *Tensor) {
	zeta := Divide(Subtract(beta, alpha), MultiplyScalar(Where(turn, gamma, OnesLike(gamma)), 2))
	one := OnesLike(zeta)
	sign := Where(CompareScalar(ir.Lt, zeta, 0), Negative(one), one)
	size := Abs(zeta)
	huge := CompareScalar(ir.Gt, size, 1e15) // its square might not be a number
	t := Divide(sign, Add(size, Sqrt(AddScalar(Square(Where(huge, one, size)), 1))))
	t = Where(huge, Divide(sign, MultiplyScalar(size, 2)), t)
	t = Where(turn, t, ZerosLike(t))
	c = Rsqrt(AddScalar(Square(t), 1))
	return c, Multiply(t, c)
}

// sweeps repeats a step as often as necessary. The step reports how many pairs it rotated; the state belongs to the
// step.
//
//dim:known matrices that are factorized have fixed axes
func sweeps(n int, step func(state []*Tensor) (next []*Tensor, turned *Tensor), state ...*Tensor) []*Tensor {
	count := func(t Traced, v float64) *Tensor { return Full(t, ir.Float32, v) }
	init := append([]*Tensor{count(state[0], 0), count(state[0], 1)}, state...)
	out := WhileLoop(func(s []*Tensor) *Tensor {
		return LogicalAnd(CompareScalar(ir.Gt, s[1], 0), CompareScalar(ir.Lt, s[0], maxSweeps))
	}, func(s []*Tensor) []*Tensor {
		carry := append([]*Tensor{ZerosLike(s[1])}, s[2:]...)
		final := ForiLoop(0, n-1, func(_ *Tensor, c []*Tensor) []*Tensor {
			next, turned := step(c[1:])
			return append([]*Tensor{Add(c[0], turned)}, next...)
		}, carry...)
		return append([]*Tensor{AddScalar(s[0], 1)}, final...)
	}, init...)
	return out[2:]
}

// turned counts the pairs to rotate in all matrices.
func turned(pairs *Tensor) *Tensor { return Sum(Cast(pairs, ir.Float32)) }

// scaled divides matrices by their largest element, so that squares neither overflow nor underflow. scale is (..., 1,
// 1).
func scaled(x *Tensor) (y, scale *Tensor) {
	largest := ExpandDims(ExpandDims(Max(Abs(x), -2, -1), -1), -1)
	scale = Where(CompareScalar(ir.Eq, largest, 0), OnesLike(largest), largest)
	return Divide(x, scale), scale
}

// evenly adds a column of zeros if the number of columns is odd, and a row too if square is set.
//
//dim:known matrices that are factorized have fixed axes
func evenly(x *Tensor, square bool) *Tensor {
	if x.Dim(-1)%2 == 0 {
		return x
	}
	low, high := make([]int, x.Rank()), make([]int, x.Rank())
	high[x.Rank()-1] = 1
	if square {
		high[x.Rank()-2] = 1
	}
	return Pad(x, low, high, 0)
}

// stackOf repeats the identity of size n for each matrix of x.
func stackOf(x *Tensor, n int) *Tensor {
	return BroadcastTo(Identity(x, x.DType(), n), append(x.Shape()[:x.Rank()-2].Clone(), n, n)...)
}

// columnsBy puts the columns of x (..., m, n) in the order (..., n).
func columnsBy(x, order *Tensor) *Tensor {
	return TakeAlongAxis(x, BroadcastTo(ExpandDims(order, -2), x.Shape()...), -1)
}

// jacobiSvd returns the factors of x (..., m, n), m >= n > 0: u (..., m, n), or (..., m, m) with full set, s (..., n)
// in descending order and v (..., n, n) with x = u·diag(s)·vᵀ.
//
//dim:known matrices that are factorized have fixed axes
func jacobiSvd(x *Tensor, full bool) (u, s, v *Tensor) {
	m, n := x.Dim(-2), x.Dim(-1)
	x, scale := scaled(x)
	a := evenly(x, false)
	even := a.Dim(-1)
	tolerance := math.Sqrt(float64(m)) * epsilonOf(x.DType())
	if even > 1 {
		out := sweeps(even, func(state []*Tensor) ([]*Tensor, *Tensor) {
			a, v := state[0], state[1]
			p, q := SliceAxis(a, -1, 0, even/2), SliceAxis(a, -1, even/2, even)
			alpha, beta, gamma := Sum(Square(p), -2), Sum(Square(q), -2), Sum(Multiply(p, q), -2)
			needed := Greater(Abs(gamma), MultiplyScalar(Multiply(Sqrt(alpha), Sqrt(beta)), tolerance))
			c, s := rotation(alpha, beta, gamma, needed)
			c, s = ExpandDims(c, -2), ExpandDims(s, -2)
			return []*Tensor{moveOn(turn(a, -1, c, s), -1), moveOn(turn(v, -1, c, s), -1)}, turned(needed)
		}, a, stackOf(a, even))
		a, v = SliceAxis(out[0], -1, 0, n), SliceAxis(SliceAxis(out[1], -1, 0, n), -2, 0, n)
	}
	s = Sqrt(Sum(Square(a), -2))
	order := Argsort(Negative(s), -1)
	s, a, v = TakeAlongAxis(s, order, -1), columnsBy(a, order), columnsBy(v, order)
	size := ExpandDims(s, -2)
	none := CompareScalar(ir.Eq, size, 0)
	a = Divide(a, Where(none, OnesLike(size), size))
	// The factor Q of the columns equals the columns up to signs, and is something orthogonal to them where columns are
	// zero or missing.
	q, r := reflect(a)
	diagonal := Sum(Multiply(SliceAxis(r, -2, 0, n), Identity(r, r.DType(), n)), -2)
	sign := ExpandDims(Where(CompareScalar(ir.Lt, diagonal, 0), FullLike(diagonal, -1), OnesLike(diagonal)), -2)
	u = Multiply(SliceAxis(q, -1, 0, n), sign)
	if full {
		u = Concatenate(-1, u, SliceAxis(q, -1, n, m))
	}
	return u, Multiply(s, Squeeze(scale, -1)), v
}

// jacobiEigh returns the eigenvalues (..., n) in ascending order and the eigenvectors, as columns, of symmetric x (...,
// n, n), n > 0.
//
//dim:known matrices that are factorized have fixed axes
func jacobiEigh(x *Tensor) (w, v *Tensor) {
	n := x.Dim(-1)
	x, scale := scaled(x)
	a := evenly(x, true)
	even := a.Dim(-1)
	half := even / 2
	tolerance := math.Sqrt(float64(max(n, 4))) * epsilonOf(x.DType())
	block := func(a *Tensor, row, column int) *Tensor { // its diagonal
		b := SliceAxis(SliceAxis(a, -2, row, row+half), -1, column, column+half)
		return Sum(Multiply(b, Identity(b, b.DType(), half)), -1)
	}
	out := sweeps(even, func(state []*Tensor) ([]*Tensor, *Tensor) {
		a, v := state[0], state[1]
		gamma := block(a, 0, half)
		needed := CompareScalar(ir.Gt, Abs(gamma), tolerance)
		c, s := rotation(block(a, 0, 0), block(a, half, half), gamma, needed)
		wideC, wideS := ExpandDims(c, -2), ExpandDims(s, -2)
		a = turn(turn(a, -1, wideC, wideS), -2, ExpandDims(c, -1), ExpandDims(s, -1))
		return []*Tensor{moveOn(moveOn(a, -1), -2), moveOn(turn(v, -1, wideC, wideS), -1)}, turned(needed)
	}, a, stackOf(a, even))
	a, v = out[0], SliceAxis(SliceAxis(out[1], -1, 0, n), -2, 0, n)
	w = SliceAxis(Sum(Multiply(a, Identity(a, a.DType(), even)), -1), -1, 0, n)
	order := Argsort(w, -1)
	return Multiply(TakeAlongAxis(w, order, -1), Squeeze(scale, -1)), columnsBy(v, order)
}
