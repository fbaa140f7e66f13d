package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// rowLoop returns a function that runs body for every row along the last axis.
func (b *build) rowLoop(o *plan.Operand, work int, body func(w *worker, row, lo, hi int)) func() {
	return b.lines(o, work, func(w *worker, n, lo, hi int) {
		for ; lo < hi; lo += n {
			body(w, lo/n, lo, lo+n)
		}
	})
}

// lines returns a function that runs body for blocks of rows along the last axis, of n elements each.
func (b *build) lines(o *plan.Operand, work int, body func(w *worker, n, lo, hi int)) func() {
	s := o.Typ.Shape
	n := s[len(s)-1]
	if o.N == 0 {
		return func() {}
	}
	return b.rt().parallel(o.N/n, grain(work*n), func(w *worker, lo, hi int) { body(w, n, lo*n, hi*n) })
}

// byFloat picks the float64 or the float32 version of a kernel builder.
//
//go:noinline
func byFloat(b *build, wide, single func(b *build) func()) (func(), error) {
	if b.Program.Type(b.n.Inputs[0]).DType == ir.Float64 {
		return wide(b), nil
	}
	return single(b), nil
}

func buildSoftmax(b *build) (func(), error) { return byFloat(b, softmax[float64], softmax[float32]) }

func softmax[T block.Float](b *build) func() {
	in, out, moved := softmaxOperands[T](b)
	x, y := in[0].Operand, out.Operand
	if inStrips(in, out) {
		return softmaxStrips(b, in, out)
	} else if n := out.n; isShort[T](n, shorter(shortSoftmaxRows, shortSoftmaxAVX2), shortDoubles) {
		return softmaxShort(b, in[0], out)
	} else if moved {
		return longColumns(b, in, out, func(y []T, x [2][]T, _ []T) { vec.SoftmaxLines(y, x[0], n) })
	}
	return b.lines(x, 4, func(_ *worker, n, lo, hi int) { vec.SoftmaxLines(plan.Data[T](y)[lo:hi], plan.Data[T](x)[lo:hi], n) })
}

func buildSoftmaxGrad(b *build) (func(), error) {
	return byFloat(b, softmaxGrad[float64], softmaxGrad[float32])
}

// softmaxGrad computes dx = y·(dy - Σ y·dy).
func softmaxGrad[T block.Float](b *build) func() {
	in, out, moved := softmaxOperands[T](b)
	y, dy, dx := in[0].Operand, in[1].Operand, out.Operand
	if inStrips(in, out) {
		return softmaxGradStrips(b, in, out)
	} else if n := out.n; isShort[T](n, shorter(shortSoftmaxRows, shortGradAVX2), shortSoftmaxDouble) {
		return softmaxGradShort(b, in, out)
	} else if moved {
		return longColumns(b, in, out, func(dx []T, x [2][]T, _ []T) { vec.SoftmaxLinesGrad(dx, x[0], x[1], n) })
	}
	return b.lines(y, 4, func(_ *worker, n, lo, hi int) {
		vec.SoftmaxLinesGrad(plan.Data[T](dx)[lo:hi], plan.Data[T](y)[lo:hi], plan.Data[T](dy)[lo:hi], n)
	})
}

func buildLogSoftmax(b *build) (func(), error) {
	return byFloat(b, logSoftmax[float64], logSoftmax[float32])
}

// needRow reserves scratch memory for a row of the operand.
func (b *build) needRow(o *plan.Operand) int {
	n := o.Typ.Shape[len(o.Typ.Shape)-1]
	b.rt().need(n * o.Typ.DType.Size())
	return n
}

func logSoftmax[T block.Float](b *build) func() {
	in, out, moved := softmaxOperands[T](b)
	n := out.n
	if inStrips(in, out) {
		return logSoftmaxStrips(b, in, out)
	}
	if isShort[T](n, shorter(shortSoftmaxRows, shortLogSoftmaxAVX2), shortDoubles) {
		return logSoftmaxShort(b, in[0], out)
	}
	if moved {
		return longColumns(b, in, out, func(y []T, x [2][]T, scratch []T) { vec.LogSoftmaxLines(y, x[0], n, scratch) })
	}
	x, y := in[0].Operand, out.Operand
	b.needRow(x)
	return b.lines(x, 4, func(w *worker, n, lo, hi int) {
		vec.LogSoftmaxLines(plan.Data[T](y)[lo:hi], plan.Data[T](x)[lo:hi], n, scratchOf[T](w, n))
	})
}

func buildLogSoftmaxGrad(b *build) (func(), error) {
	return byFloat(b, logSoftmaxGrad[float64], logSoftmaxGrad[float32])
}

// logSoftmaxGrad computes dx = dy - exp(y)·Σ dy.
func logSoftmaxGrad[T block.Float](b *build) func() {
	in, out, moved := softmaxOperands[T](b)
	n := out.n
	if inStrips(in, out) {
		return logSoftmaxGradStrips(b, in, out)
	}
	if isShort[T](n, shorter(shortSoftmaxRows, shortGradAVX2), shortDoubles) {
		return logSoftmaxGradShort(b, in, out)
	}
	if moved {
		return longColumns(b, in, out, func(dx []T, x [2][]T, scratch []T) { vec.LogSoftmaxLinesGrad(dx, x[0], x[1], n, scratch) })
	}
	y, dy, dx := in[0].Operand, in[1].Operand, out.Operand
	b.needRow(y)
	return b.lines(y, 4, func(w *worker, n, lo, hi int) {
		vec.LogSoftmaxLinesGrad(plan.Data[T](dx)[lo:hi], plan.Data[T](y)[lo:hi], plan.Data[T](dy)[lo:hi], n, scratchOf[T](w, n))
	})
}

func buildCrossEntropy(b *build) (func(), error) {
	return byFloat(b, crossEntropy[float64], crossEntropy[float32])
}

// labels prepares the lookup of class labels.
func (b *build) labels(logits, labels *plan.Operand) (*plan.Operand, func() bool) {
	s := logits.Typ.Shape
	return b.lookup(labels, len(s)-1, s[len(s)-1], ir.IndexError)
}

func crossEntropy[T block.Float](b *build) func() {
	x, labels, loss, total := b.in(0), b.in(1), b.out(0), b.out(1)
	n := b.needRow(x)
	b.rt().need(n * loss.Typ.DType.Size())
	positions, find := b.labels(x, labels)
	many := rowsAtOnce(total.N, max(n, 1), x)
	in := ports[T](b, n, n*many, x)[0]
	rows := b.rt().parallel(total.N, grain(4*n), func(w *worker, lo, hi int) {
		for ; lo < hi; lo += many {
			block := in.read(w, lo*n, min(lo+many, hi)*n)
			totals := plan.Data[T](total)[lo:min(lo+many, hi)]
			vec.LogSumLines(totals, block, n, scratchOf[T](w, n))
			for r, t := range totals {
				plan.Data[T](loss)[lo+r] = t - block[r*n+int(plan.Data[int64](positions)[lo+r])]
			}
		}
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

// crossEntropyGrad computes dx = (exp(x - logsumexp) - onehot(label))·dloss.
func crossEntropyGrad[T block.Float](b *build) func() {
	x, labels, total, dloss, dx := b.in(0), b.in(1), b.in(2), b.in(3), b.out(0)
	positions, find := b.labels(x, labels)
	p := ports[T](b, 0, x.N/max(total.N, 1), x, dx)
	inPlace := x.Typ.DType == ir.BFloat16 && dx.Typ.DType == ir.BFloat16
	rows := b.rowLoop(x, 4, func(w *worker, r, lo, hi int) {
		shift, g, label := -plan.Data[T](total)[r], plan.Data[T](dloss)[r], lo+int(plan.Data[int64](positions)[r])
		power := func(lo, hi int) {
			d := p[1].place(w, lo, hi)
			if vec.ExpAffine(d, p[0].read(w, lo, hi), 1, shift, g); lo <= label && label < hi {
				d[label-lo] -= g
			}
			p[1].store(lo, d)
		}
		if inPlace && vec.BFloat16.ExpAffine(p[1].halves(lo, hi), p[0].halves(lo, hi), float32(shift), float32(g)) {
			power(label, label+1)
		} else {
			power(lo, hi)
		}
	})
	return func() {
		if find() {
			rows()
		}
	}
}
