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

// matrixWork is a factorization of many matrices, shared among workers. Small matrices are computed in float64 whatever
// the type of the operands.
type matrixWork struct {
	scratch int // elements of scratch memory
	work    int // estimated cost of a matrix
	run     func(i int, scratch []float64)
	all     func(lo, hi int, scratch []float64) // used in place of run, for several matrices at once
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
		if inTriangleLanes(b) && byTriangleLanes.Taken() {
			return triangleLanes(b, kind == ir.Lower), nil
		}
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

// finiteOnly returns w for methods that iterate until numbers are small enough. A matrix with NaN or an infinity would
// never get there, so its results are NaN without running w.
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
	for _, v := range x { // the sum of finite numbers may overflow
		if v-v != 0 {
			return false
		}
	}
	return true
}

// isRead reports whether anything reads result i of the node.
func (b *build) isRead(i int) bool {
	v := b.n.Outputs[i]
	return slices.ContainsFunc(b.Program.Nodes, func(n ir.Node) bool { return slices.Contains(n.Inputs, v) }) ||
		slices.ContainsFunc(b.Program.Outputs, func(o ir.Output) bool { return o.Value == v })
}

// fewestColumns is the number of rows and columns up to which loops are faster than calls.
const fewestColumns = 8

// matrixLengths returns the number of rows and columns of each matrix.
func matrixLengths(o *plan.Operand) (m, n int) {
	s := o.Typ.Shape
	return s[len(s)-2], s[len(s)-1]
}

// readDoubles copies numbers from an operand to dst. The first is number at of the operand.
func readDoubles(dst []float64, o *plan.Operand, at int) {
	if o.Typ.DType == ir.Float64 {
		copy(dst, plan.Data[float64](o)[at:])
		return
	}
	x := plan.Data[float32](o)[at:][:len(dst)]
	if len(x) > shortTurn {
		vec.FloatsToDoubles(dst, x)
		return
	}
	for i, v := range x {
		dst[i] = float64(v)
	}
}

// readNumbers copies numbers from an operand to dst. The first is number at of the operand.
//
//go:noinline
func readNumbers[T block.Float](dst []T, o *plan.Operand, at int) {
	if unsafe.Sizeof(T(0)) == uintptr(o.Typ.DType.Size()) {
		copy(dst, plan.Data[T](o)[at:])
		return
	}
	readDoubles(block.View[float64](unsafe.Pointer(unsafe.SliceData(dst)), len(dst)), o, at) // of float32
}

// numbersAt returns len(memory) numbers of an operand from number at on. It returns the operand's memory if the types
// are equal, and otherwise copies to memory.
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
	if len(src) > shortTurn {
		vec.DoublesToFloats(dst, src)
		return
	}
	for i, v := range src {
		dst[i] = float32(v)
	}
}

// cut takes n numbers from scratch memory.
func cut(scratch *[]float64, n int) []float64 {
	part := (*scratch)[:n:n]
	*scratch = (*scratch)[n:]
	return part
}

// inDoubles returns how many float64 take the memory of n numbers of type T, rounded up to cache lines.
func inDoubles[T block.Float](n int) int {
	const line = 64
	bytes := n * int(unsafe.Sizeof(T(0)))
	return (bytes + line - 1) / line * line / 8
}

// scratchSlice takes n numbers of type T from scratch memory.
//
//go:noinline
func scratchSlice[T block.Float](scratch *[]float64, n int) []T {
	part := cut(scratch, inDoubles[T](n))
	return block.View[T](unsafe.Pointer(unsafe.SliceData(part)), n)
}

// gatherColumn copies numbers that are stride apart.
func gatherColumn[T block.Float](dst, src []T, stride int) {
	for i := range dst {
		dst[i] = src[i*stride]
	}
}
