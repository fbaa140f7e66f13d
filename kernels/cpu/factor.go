package cpu

import (
	"math"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// matrixWork is a factorization of one matrix after the other, which workers share. It computes small matrices in
// float64 whatever its operands are.
type matrixWork struct {
	scratch int // numbers of scratch memory
	work    int // estimates what a matrix takes
	run     func(i int, scratch []float64)
	all     func(lo, hi int, scratch []float64) // in place of run, for several
}

func buildFactor(b *build) (func(), error) {
	var w matrixWork
	switch kind := b.n.Attrs.(ir.FactorAttrs).Kind; kind {
	case ir.Cholesky:
		if inCholeskyLanes(b) {
			return choleskyLanes(b), nil
		}
		w = choleskyWorkOf(b)
	case ir.LU:
		w = luWorkOf(b)
	case ir.QR:
		w = qrWorkOf(b)
	case ir.SVD:
		w = finiteOnly(b, svdWorkOf(b))
	case ir.Eigh:
		w = finiteOnly(b, eighWorkOf(b))
	case ir.Lower, ir.Upper:
		w = triangleWorkOf(b, kind == ir.Lower)
	default:
		return nil, b.unsupported("factorization %q", kind)
	}
	s := b.in(0).Typ.Shape
	b.rt().need(w.scratch * 8)
	return b.rt().parallel(s[:len(s)-2].Size(), grain(w.work), func(worker *worker, lo, hi int) {
		scratch := scratchOf[float64](worker, w.scratch)
		if w.all != nil {
			w.all(lo, hi, scratch)
			return
		}
		for i := lo; i < hi; i++ {
			w.run(i, scratch)
		}
	}), nil
}

// finiteOnly is the work that spares what ends when numbers have become small enough the matrices in which they never do:
// where a number is infinite or none, all results are none.
func finiteOnly(b *build, w matrixWork) matrixWork {
	in, run := b.in(0), w.run
	m, n := matrixLengths(in)
	var out []*plan.Operand
	for k := range b.n.Outputs {
		out = append(out, b.out(k))
	}
	w.run = func(i int, scratch []float64) {
		if in.Typ.DType == ir.Float32 && finite(plan.Data[float32](in)[i*m*n:][:m*n]) || in.Typ.DType == ir.Float64 && finite(plan.Data[float64](in)[i*m*n:][:m*n]) {
			run(i, scratch)
			return
		}
		for _, o := range out {
			size := o.Typ.Shape.Size() / (in.Typ.Shape.Size() / (m * n))
			none := [1]float64{math.NaN()}
			for k := range size {
				writeDoubles(o, i*size+k, none[:])
			}
		}
	}
	return w
}

// finite reports whether all numbers are finite.
func finite[T block.Float](x []T) bool {
	if sum := vec.Sum(x); sum-sum == 0 {
		return true
	}
	for _, v := range x { // finite ones may have a sum that is not
		if v-v != 0 {
			return false
		}
	}
	return true
}

// fewestColumns is the number of rows and columns up to which loops take less time than calls.
const fewestColumns = 8

// matrixLengths returns the rows and columns of matrices.
func matrixLengths(o *plan.Operand) (m, n int) {
	s := o.Typ.Shape
	return s[len(s)-2], s[len(s)-1]
}

// readDoubles copies numbers from place at of an operand on.
func readDoubles(dst []float64, o *plan.Operand, at int) {
	if o.Typ.DType == ir.Float64 {
		copy(dst, plan.Data[float64](o)[at:])
		return
	}
	for i, v := range plan.Data[float32](o)[at:][:len(dst)] {
		dst[i] = float64(v)
	}
}

// readNumbers copies numbers from place at of an operand on.
//
//go:noinline
func readNumbers[T block.Float](dst []T, o *plan.Operand, at int) {
	if unsafe.Sizeof(T(0)) == uintptr(o.Typ.DType.Size()) {
		copy(dst, plan.Data[T](o)[at:])
		return
	}
	readDoubles(block.View[float64](unsafe.Pointer(unsafe.SliceData(dst)), len(dst)), o, at) // of float32
}

// numbersAt is so many numbers from place at of an operand on: its own where they are of the type, or copies.
func numbersAt[T block.Float](memory []T, o *plan.Operand, at int) []T {
	if unsafe.Sizeof(T(0)) == uintptr(o.Typ.DType.Size()) {
		return plan.Data[T](o)[at:][:len(memory)]
	}
	readNumbers(memory, o, at)
	return memory
}

// writeNumbers is the opposite of readNumbers.
//
//go:noinline
func writeNumbers[T block.Float](o *plan.Operand, at int, src []T) {
	if unsafe.Sizeof(T(0)) == uintptr(o.Typ.DType.Size()) {
		copy(plan.Data[T](o)[at:], src)
		return
	}
	writeDoubles(o, at, block.View[float64](unsafe.Pointer(unsafe.SliceData(src)), len(src)))
}

// writeDoubles is the opposite of readDoubles.
func writeDoubles(o *plan.Operand, at int, src []float64) {
	if o.Typ.DType == ir.Float64 {
		copy(plan.Data[float64](o)[at:], src)
		return
	}
	dst := plan.Data[float32](o)[at:][:len(src)]
	for i, v := range src {
		dst[i] = float32(v)
	}
}

// cut takes numbers off scratch memory.
func cut(scratch *[]float64, n int) []float64 {
	part := (*scratch)[:n:n]
	*scratch = (*scratch)[n:]
	return part
}

// inDoubles is how many numbers of float64 take the memory of n others, in whole cache lines.
func inDoubles[T block.Float](n int) int {
	const line = 64
	bytes := n * int(unsafe.Sizeof(T(0)))
	return (bytes + line - 1) / line * line / 8
}

// cutOf takes numbers of any type off scratch memory.
//
//go:noinline
func cutOf[T block.Float](scratch *[]float64, n int) []T {
	part := cut(scratch, inDoubles[T](n))
	return block.View[T](unsafe.Pointer(unsafe.SliceData(part)), n)
}

// gatherColumn copies numbers that are stride apart.
func gatherColumn[T block.Float](dst, src []T, stride int) {
	for i := range dst {
		dst[i] = src[i*stride]
	}
}

// fewSides is the number of right sides up to which each is solved for by itself.
const fewSides = 4

// triangleWorkOf computes in float64 unless much is to be moved, one right side after the other if they are few.
func triangleWorkOf(b *build, lower bool) matrixWork {
	in, right, out := b.in(0), b.in(1), b.out(0)
	switch n, m := matrixLengths(right); {
	case m <= fewSides:
		return matrixWork{scratch: n*m + n, work: n * n * m, run: func(i int, scratch []float64) { solveTriangle(out, in, right, i, lower, scratch) }}
	case in.Typ.DType == ir.Float32 && n > leastSingleTriangle:
		return triangleWork[float32](b, lower)
	}
	return triangleWork[float64](b, lower)
}

// leastSingleTriangle is the number of rows up to which triangles of float32 are solved with in float64.
const leastSingleTriangle = 96

// triangleWork solves with a triangle: a lower one read from its end is an upper one.
func triangleWork[T block.Float](b *build, lower bool) matrixWork {
	in, right, out := b.in(0), b.in(1), b.out(0)
	n, m := matrixLengths(right)
	x := paddedColumns(n)
	stride := eliminationStride[T](n, n, m)
	products := eliminationScratch[T](n, n, m, nil)
	size := inDoubles[T](n*stride) + inDoubles[T](n) + inDoubles[T](products)
	return matrixWork{scratch: size, work: n * n * m, run: func(i int, scratch []float64) {
		e := elimination[T]{n: n, m: m, stride: stride}
		e.a, e.diagonal, e.scratch = cutOf[T](&scratch, n*stride), cutOf[T](&scratch, n), cutOf[T](&scratch, products)
		e.x = e.a[min(x, len(e.a)):]
		clear(e.a)
		place := func(r int) int {
			if lower {
				return n - 1 - r
			}
			return r
		}
		for r := range n {
			row := e.a[r*stride:][:n]
			if readNumbers(row, in, (i*n+place(r))*n); lower {
				slices.Reverse(row)
			}
			e.diagonal[r] = row[r]
			readNumbers(e.x[r*stride:][:m], right, (i*n+place(r))*m)
		}
		e.backward(0, n)
		for r := range n {
			row := e.x[r*stride:][:m]
			vec.Neg(row, row)
			writeNumbers(out, (i*n+place(r))*m, row)
		}
	}}
}

// solveTriangle finds one number of each right side after the other: what is left of the right side without the numbers
// before it, divided by the diagonal's.
func solveTriangle(out, in, right *plan.Operand, i int, lower bool, scratch []float64) {
	n, m := matrixLengths(right)
	x, given := cut(&scratch, n*m), cut(&scratch, n)
	for step := range n {
		r, first, end := step, 0, step
		if !lower {
			r = n - 1 - step
			first, end = r+1, n
		}
		at, row := (i*n+r)*n, given[:end-first]
		if in.Typ.DType == ir.Float64 {
			row = plan.Data[float64](in)[at+first : at+end]
		} else {
			readDoubles(row, in, at+first)
		}
		var side [fewSides]float64
		var diagonal [1]float64
		readDoubles(side[:m], right, (i*n+r)*m)
		readDoubles(diagonal[:], in, at+r)
		for c, v := range side[:m] {
			x[c*n+r] = (v - dot(row, x[c*n+first:c*n+end])) / diagonal[0]
			side[c] = x[c*n+r]
		}
		writeDoubles(out, (i*n+r)*m, side[:m])
	}
}
