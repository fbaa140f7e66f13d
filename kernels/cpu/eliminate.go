package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

func buildEliminate(b *build) (func(), error) {
	return byFloat(b, eliminate[float64], eliminate[float32])
}

// eliminate factors every matrix into triangular ones and solves with those. Many matrices are spread over the workers;
// the products within few large ones are. Many small ones are worked on in groups.
func eliminate[T block.Float](b *build) func() {
	in, right, out, sign, logarithm := b.in(0), b.in(1), b.out(0), b.out(1), b.out(2)
	s := in.Typ.Shape
	n, m := s[len(s)-1], right.Typ.Shape[len(s)-1]
	matrices := s[:len(s)-2].Size()
	if inLanes(matrices, n, m, in.Typ.DType.Size()) {
		return eliminateLanes[T](b)
	}
	workers := b.rt().pool.Size()
	few := matrices < workers && n > smallestBlock
	var shared *pool.Pool
	if few {
		shared = b.rt().pool
	}
	products := eliminationScratch[T](n, m, shared)
	elements := n*n + n + products
	one := func(scratch []T, i int) {
		e := elimination[T]{n: n, a: scratch[:n*n], diagonal: scratch[n*n : n*n+n], scratch: scratch[n*n+n:], pool: shared}
		copy(e.a, plan.Data[T](in)[i*n*n:])
		x := plan.Data[T](out)[i*n*m : (i+1)*n*m]
		copy(x, plan.Data[T](right)[i*n*m:(i+1)*n*m])
		e.x, e.m, e.sign = x, m, 1
		e.factor(0, n)
		if m > 0 {
			e.forward(0, n, x, m, m)
			e.unit()
			e.backward(0, n)
		}
		plan.Data[T](sign)[i], plan.Data[T](logarithm)[i] = e.determinant()
	}
	if few {
		scratch := b.scratch(in.Typ.DType, elements)
		return func() {
			for i := range matrices {
				one(plan.Data[T](scratch), i)
			}
		}
	}
	b.rt().need(elements * in.Typ.DType.Size())
	return b.rt().parallel(matrices, grain(n*n*(n/3+m)+n), func(w *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			one(scratchOf[T](w, elements), i)
		}
	})
}

// smallestBlock is the number of rows or columns up to which a part of a matrix is worked on row by row.
const smallestBlock = 16

// eliminationScratch returns the elements of scratch memory that the products need.
func eliminationScratch[T block.Float](n, m int, p *pool.Pool) int {
	size := 0
	for h := n; h > smallestBlock; h = (h + 1) / 2 {
		k := (h + 1) / 2
		for _, rows := range []int{n, k} {
			for _, columns := range []int{k, m} {
				size = max(size, gemm.ScratchSize(&gemm.Args[T]{M: rows, N: columns, K: k, LDA: n, LDB: max(columns, n), LDC: max(columns, n), Accumulate: true}, p.Size()))
			}
		}
	}
	return size
}

// elimination is the work on one matrix a (n, n) with right sides x (n, m). In place of a come its factors: below the
// diagonal the multiples of the pivots' rows, negative, so that all that is left to do is add products.
type elimination[T block.Float] struct {
	n, m     int
	a, x     []T
	diagonal []T
	scratch  []T
	sign     T
	pool     *pool.Pool
	args     gemm.Args[T]
}

// factor works on the columns from lo to hi, below row lo. The left half of them is followed by the products that it
// adds to the right half.
func (e *elimination[T]) factor(lo, hi int) {
	if hi-lo <= smallestBlock {
		for k := lo; k < hi; k++ {
			e.column(k, hi)
		}
		return
	}
	mid := (lo + hi + 1) / 2
	n := e.n
	e.factor(lo, mid)
	e.forward(lo, mid, e.a[mid:], n, hi-mid)
	e.add(e.a[mid*n+mid:], n, e.a[mid*n+lo:], e.a[lo*n+mid:], n, n-mid, mid-lo, hi-mid)
	e.factor(mid, hi)
}

// column brings the largest element of column k to the diagonal and adds multiples of its row to those below, up to
// column hi.
func (e *elimination[T]) column(k, hi int) {
	n, a := e.n, e.a
	p, best := k, T(-1)
	for r := k; r < n; r++ {
		v := a[r*n+k]
		if v < 0 {
			v = -v
		}
		if v > best || v != v {
			p, best = r, v
			if v != v {
				break
			}
		}
	}
	if p != k {
		e.sign = -e.sign
		swapRows(a[p*n:p*n+n], a[k*n:k*n+n])
		swapRows(e.x[p*e.m:(p+1)*e.m], e.x[k*e.m:(k+1)*e.m])
	}
	top := a[k*n : k*n+n]
	pivot := top[k]
	e.diagonal[k] = pivot
	if pivot == 0 {
		return // and so is what lies below
	}
	inverse := -1 / pivot
	exact := inverse-inverse == 0 && best > 1e-30
	for r := k + 1; r < n; r++ {
		row := a[r*n : r*n+hi]
		f := row[k] * inverse
		if !exact {
			f = -row[k] / pivot
		}
		row[k] = f
		addMultiple(row[k+1:], f, top[k+1:hi])
	}
}

// forward adds to the rows from lo to hi of y, of so many columns, what the factors below the diagonal say.
func (e *elimination[T]) forward(lo, hi int, y []T, stride, columns int) {
	if hi-lo <= smallestBlock {
		for r := lo + 1; r < hi; r++ {
			e.addRows(y[r*stride:][:columns], e.a[r*e.n+lo:r*e.n+r], y[lo*stride:], stride)
		}
		return
	}
	mid := (lo + hi + 1) / 2
	e.forward(lo, mid, y, stride, columns)
	e.add(y[mid*stride:], stride, e.a[mid*e.n+lo:], y[lo*stride:], stride, hi-mid, mid-lo, columns)
	e.forward(mid, hi, y, stride, columns)
}

// unit divides the rows of the upper factor and of x by the elements of the diagonal, and makes the former negative.
func (e *elimination[T]) unit() {
	for r := range e.n {
		d := e.diagonal[r]
		divideRow(e.x[r*e.m:(r+1)*e.m], d)
		divideRow(e.a[r*e.n+r+1:(r+1)*e.n], -d)
	}
}

// divideRow divides all elements by d.
func divideRow[T block.Float](row []T, d T) {
	var by [64]T
	for i := range by[:min(len(row), len(by))] {
		by[i] = d
	}
	for ; len(row) > 0; row = row[min(len(row), len(by)):] {
		part := row[:min(len(row), len(by))]
		vec.Div(part, part, by[:len(part)])
	}
}

// backward solves for the rows from lo to hi of x with the upper factor.
func (e *elimination[T]) backward(lo, hi int) {
	if hi-lo <= smallestBlock {
		for r := hi - 2; r >= lo; r-- {
			e.addRows(e.x[r*e.m:(r+1)*e.m], e.a[r*e.n+r+1:r*e.n+hi], e.x[(r+1)*e.m:], e.m)
		}
		return
	}
	mid := (lo + hi + 1) / 2
	e.backward(mid, hi)
	e.add(e.x[lo*e.m:], e.m, e.a[lo*e.n+mid:], e.x[mid*e.m:], e.m, mid-lo, hi-mid, e.m)
	e.backward(lo, mid)
}

// add adds to y (rows, columns) the product of a part of a (rows, k) and x (k, columns).
func (e *elimination[T]) add(y []T, yStride int, a, x []T, xStride, rows, k, columns int) {
	e.args = gemm.Args[T]{M: rows, N: columns, K: k, A: a, LDA: e.n, B: x, LDB: xStride, C: y, LDC: yStride, Accumulate: true}
	gemm.Run(e.pool, &e.args, e.scratch)
}

// addRows adds multiples of rows that lie stride apart.
func (e *elimination[T]) addRows(to, factors, rows []T, stride int) {
	for i, f := range factors {
		addMultiple(to, f, rows[i*stride:])
	}
}

// determinant returns its sign and the logarithm of its absolute value.
func (e *elimination[T]) determinant() (sign, logarithm T) {
	sign = e.sign
	sum := 0.0
	for i, d := range e.diagonal {
		switch {
		case d == 0:
			sign = 0 * sign
		case d < 0:
			sign, d = -sign, -d
		case d != d:
			sign = d
		}
		e.diagonal[i] = d
	}
	vec.Log(e.diagonal, e.diagonal)
	for _, v := range e.diagonal {
		sum += float64(v)
	}
	return sign, T(sum)
}

// addMultiple adds f times the first numbers of x to all of y.
func addMultiple[T block.Float](y []T, f T, x []T) {
	if len(y) >= fewColumns {
		vec.Axpy(y, f, x[:len(y)])
		return
	}
	x = x[:len(y)]
	for i := range y {
		y[i] += f * x[i]
	}
}

const fewColumns = 8 // up to here a loop takes less time than a call

func swapRows[T block.Float](x, y []T) {
	for i, v := range x {
		x[i], y[i] = y[i], v
	}
}
