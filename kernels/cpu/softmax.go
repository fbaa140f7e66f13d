package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// rowLoop returns a function that runs body for every row along the last axis.
func (b *build) rowLoop(o *operand, work int, body func(w *worker, row, lo, hi int)) func() {
	s := o.typ.Shape
	n := s[len(s)-1]
	if o.n == 0 {
		return func() {}
	}
	return b.rt().parallel(o.n/n, grain(work*n), func(w *worker, lo, hi int) {
		for r := lo; r < hi; r++ {
			body(w, r, r*n, (r+1)*n)
		}
	})
}

// byFloat picks the float64 or float32 form of a kernel builder.
func byFloat(b *build, wide, single func(b *build) func()) (func(), error) {
	if b.in(0).typ.DType == ir.Float64 {
		return wide(b), nil
	}
	return single(b), nil
}

func buildSoftmax(b *build) (func(), error) { return byFloat(b, softmax[float64], softmax[float32]) }

func softmax[T float](b *build) func() {
	x, y := b.in(0), b.out(0)
	return b.rowLoop(x, 4, func(_ *worker, _, lo, hi int) { vec.Softmax(data[T](y)[lo:hi], data[T](x)[lo:hi]) })
}

func buildSoftmaxGrad(b *build) (func(), error) {
	return byFloat(b, softmaxGrad[float64], softmaxGrad[float32])
}

// softmaxGrad is dx = y·(dy - Σ y·dy).
func softmaxGrad[T float](b *build) func() {
	y, dy, dx := b.in(0), b.in(1), b.out(0)
	return b.rowLoop(y, 4, func(_ *worker, _, lo, hi int) {
		p, g, d := data[T](y)[lo:hi], data[T](dy)[lo:hi], data[T](dx)[lo:hi]
		vec.AffineMul(d, g, p, 1, -vec.Dot(p, g))
	})
}

func buildLogSoftmax(b *build) (func(), error) {
	return byFloat(b, logSoftmax[float64], logSoftmax[float32])
}

// logSumExp is log Σ exp(x), computed around the maximum, with scratch for the exponentials.
func logSumExp[T float](scratch, x []T) T {
	m := vec.MaxOf(x)
	return m + T(math.Log(float64(vec.ExpAffine(scratch[:len(x)], x, 1, -m, 1))))
}

// needRow reserves scratch memory for a row of the operand.
func (b *build) needRow(o *operand) int {
	n := o.typ.Shape[len(o.typ.Shape)-1]
	b.rt().need(n * o.typ.DType.Size())
	return n
}

func logSoftmax[T float](b *build) func() {
	x, y := b.in(0), b.out(0)
	n := b.needRow(x)
	return b.rowLoop(x, 4, func(w *worker, _, lo, hi int) {
		row := data[T](x)[lo:hi]
		vec.AddScalar(data[T](y)[lo:hi], row, -logSumExp(scratchOf[T](w, n), row))
	})
}

func buildLogSoftmaxGrad(b *build) (func(), error) {
	return byFloat(b, logSoftmaxGrad[float64], logSoftmaxGrad[float32])
}

// logSoftmaxGrad is dx = dy - exp(y)·Σ dy.
func logSoftmaxGrad[T float](b *build) func() {
	y, dy, dx := b.in(0), b.in(1), b.out(0)
	n := b.needRow(y)
	return b.rowLoop(y, 4, func(w *worker, _, lo, hi int) {
		e, g := scratchOf[T](w, n), data[T](dy)[lo:hi]
		vec.ExpAffine(e, data[T](y)[lo:hi], 1, 0, vec.Sum(g))
		vec.Sub(data[T](dx)[lo:hi], g, e)
	})
}

func buildCrossEntropy(b *build) (func(), error) {
	return byFloat(b, crossEntropy[float64], crossEntropy[float32])
}

// labels prepares the lookup of class labels.
func (b *build) labels(logits, labels *operand) (*operand, func() bool) {
	s := logits.typ.Shape
	return b.lookup(labels, len(s)-1, s[len(s)-1], ir.IndexError)
}

func crossEntropy[T float](b *build) func() {
	x, labels, loss, total := b.in(0), b.in(1), b.out(0), b.out(1)
	n := b.needRow(x)
	positions, find := b.labels(x, labels)
	rows := b.rowLoop(x, 4, func(w *worker, r, lo, hi int) {
		row := data[T](x)[lo:hi]
		t := logSumExp(scratchOf[T](w, n), row)
		data[T](total)[r] = t
		data[T](loss)[r] = t - row[data[int64](positions)[r]]
	})
	return func() {
		if find() {
			rows()
		}
	}
}

func buildCrossEntropyGrad(b *build) (func(), error) {
	return byFloat(b, crossEntropyGrad[float64], crossEntropyGrad[float32])
}

// crossEntropyGrad is dx = (exp(x - logsumexp) - onehot(label))·dloss.
func crossEntropyGrad[T float](b *build) func() {
	x, labels, total, dloss, dx := b.in(0), b.in(1), b.in(2), b.in(3), b.out(0)
	positions, find := b.labels(x, labels)
	rows := b.rowLoop(x, 4, func(_ *worker, r, lo, hi int) {
		d := data[T](dx)[lo:hi]
		g := data[T](dloss)[r]
		vec.ExpAffine(d, data[T](x)[lo:hi], 1, -data[T](total)[r], g)
		d[data[int64](positions)[r]] -= g
	})
	return func() {
		if find() {
			rows()
		}
	}
}
