package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// gatherWords is the gather of single elements, or of rows of a few, from one line, at indices of 32 bits with a sign
// all of which must be valid: they are read as they are, first to be checked and then to be used.
func (b *build) gatherWords(g geometry.AxisGroup, row int, indices *plan.Operand, mode ir.IndexMode) (func(), bool) {
	in, out := b.in(0), b.out(0)
	if g.Outer != 1 || g.Length == 0 || indices.Typ.DType != ir.Int32 || mode != ir.IndexError {
		return nil, false
	}
	var gather func(out, in *plan.Operand, at []int32, lo int)
	switch row {
	case 1:
		gather = gatherOperand[uint8]
	case 2:
		gather = gatherOperand[uint16]
	case 4:
		gather = gatherOperand[uint32]
	case 8:
		gather = gatherOperand[uint64]
	default:
		if row < 4 || row > 64 {
			return nil, false
		}
		gather = func(out, in *plan.Operand, at []int32, lo int) {
			gatherShortRows(plan.Raw(out)[lo*row:], plan.Raw(in), at, row)
		}
	}
	check := b.validWords(g, indices)
	move := b.rt().parallel(indices.N, grain(max(row/4, 1)), func(_ *worker, lo, hi int) {
		gather(out, in, plan.Data[int32](indices)[lo:hi], lo)
	})
	return func() {
		if check() && out.N > 0 {
			move()
		}
	}, true
}

// allWithin reports whether all numbers are at least 0 and below a limit of 1 or more.
func allWithin(at []int32, limit int64) bool { return vec.Within(at, int32(min(limit-1, 1<<31-1))) }

// gatherOperand stores what lies at the given positions from element lo on.
func gatherOperand[T any](out, in *plan.Operand, at []int32, lo int) {
	gatherAt(rowsOf[T](out)[lo:lo+len(at)], rowsOf[T](in), at)
}

// gatherAt copies the elements of x at positions that are known to be within it.
func gatherAt[T any](y, x []T, at []int32) {
	base := unsafe.Pointer(unsafe.SliceData(x))
	size := unsafe.Sizeof(x[0])
	to := unsafe.Pointer(unsafe.SliceData(y[:len(at)]))
	next := uintptr(0)
	for ; len(at) >= 4; at = at[4:] { // a jump for each element would take as long as the rest
		a, b, c, d := at[0], at[1], at[2], at[3]
		*(*T)(unsafe.Add(to, next)) = *(*T)(unsafe.Add(base, uintptr(a)*size))
		*(*T)(unsafe.Add(to, next+size)) = *(*T)(unsafe.Add(base, uintptr(b)*size))
		*(*T)(unsafe.Add(to, next+2*size)) = *(*T)(unsafe.Add(base, uintptr(c)*size))
		*(*T)(unsafe.Add(to, next+3*size)) = *(*T)(unsafe.Add(base, uintptr(d)*size))
		next += 4 * size
	}
	for _, k := range at {
		*(*T)(unsafe.Add(to, next)) = *(*T)(unsafe.Add(base, uintptr(k)*size))
		next += size
	}
}
