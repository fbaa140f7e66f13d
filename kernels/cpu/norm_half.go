package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// halfPieces is roughly how many elements are widened at a time, so that they stay in the first-level cache.
const halfPieces = 1 << 11

// rowPort is an operand or a result of a kernel that computes in T. If it has 16 bits, it is widened into a worker's
// scratch memory, or rounded from there, a piece at a time.
type rowPort[T block.Float] struct {
	o    *plan.Operand
	half *vec.Half
	at   int // offset in scratch memory
}

// ports returns the ports of operands, for pieces of at most the given number of elements. In scratch memory, those of
// 16-bit operands follow the first before elements. Nothing reads ports of nil operands.
//
//go:noinline
func ports[T block.Float](b *build, before, piece int, operands ...*plan.Operand) []rowPort[T] {
	all := make([]rowPort[T], len(operands))
	for i, o := range operands {
		all[i] = rowPort[T]{o: o, at: before}
		if o == nil {
			continue
		}
		if all[i].half = halfOf[o.Typ.DType]; all[i].half != nil {
			before += piece
			b.rt().need(4 * before)
		}
	}
	return all
}

// anyHalf reports whether any operand has 16 bits.
func anyHalf(operands ...*plan.Operand) bool {
	for _, o := range operands {
		if o != nil && halfOf[o.Typ.DType] != nil {
			return true
		}
	}
	return false
}

// floatsOf views elements of T as float32, which T must be.
func floatsOf[T block.Float](x []T) []float32 {
	return block.View[float32](unsafe.Pointer(unsafe.SliceData(x)), len(x))
}

// place returns the memory in which elements [lo, hi) of a result are to be computed. store must follow.
//
//go:noinline
func (p *rowPort[T]) place(w *worker, lo, hi int) []T {
	if p.half == nil {
		return plan.Data[T](p.o)[lo:hi]
	}
	return scratchOf[T](w, p.at+hi-lo)[p.at:]
}

// read returns elements [lo, hi) of an operand.
//
//go:noinline
func (p *rowPort[T]) read(w *worker, lo, hi int) []T {
	x := p.place(w, lo, hi)
	if p.half != nil {
		p.half.Widen(floatsOf(x), plan.Data[uint16](p.o)[lo:hi])
	}
	return x
}

// store rounds computed elements, the first of which is lo, if the result has 16 bits.
//
//go:noinline
func (p *rowPort[T]) store(lo int, x []T) {
	if p.half != nil {
		p.half.NarrowSums(plan.Data[uint16](p.o)[lo:lo+len(x)], floatsOf(x))
	}
}

// halves returns elements [lo, hi) of a 16-bit operand, or nil if there is no operand.
func (p *rowPort[T]) halves(lo, hi int) []uint16 {
	if p.o == nil {
		return nil
	}
	return plan.Data[uint16](p.o)[lo:hi]
}

// lines returns elements [lo, hi) of an operand for a kernel that sums lines. half is set if another operand of the
// kernel may have 16 bits.
//
//go:noinline
func (p *rowPort[T]) lines(w *worker, lo, hi, place int, half bool) vec.Lines[T] {
	var l vec.Lines[T]
	if p.half == nil {
		l = linesOf[T](p.o, lo, hi)
	} else {
		l.Halves, l.Of = plan.Data[uint16](p.o)[lo:hi], *p.half
	}
	if half {
		l.Scratch = scratchOf[T](w, (place+1)*vec.LinesScratch)[place*vec.LinesScratch:]
	}
	return l
}

// linesOf returns elements [lo, hi) of an operand that does not have 16 bits.
func linesOf[T block.Float](o *plan.Operand, lo, hi int) vec.Lines[T] {
	return vec.Lines[T]{X: plan.Data[T](o)[lo:hi], Far: o.N >= vec.FarNumbers}
}

// rowsAtOnce returns how many of the rows are computed at a time: all of them, unless an operand has 16 bits.
func rowsAtOnce(rows, length int, operands ...*plan.Operand) int {
	if anyHalf(operands...) {
		rows = min(rows, max(halfPieces/length, 1))
	}
	return max(rows, 1)
}
