package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// gatherWords gathers single elements, or rows of a few, from one line. The indices are signed 32-bit integers that
// must all be valid. They are read without conversion, first to be checked and then to be used.
func (b *build) gatherWords(g geometry.AxisGroup, row int, indices *plan.Operand, mode ir.IndexMode) (func(), bool) {
	in, out := b.in(0), b.out(0)
	if g.Length == 0 || indices.Typ.DType != ir.Int32 || mode != ir.IndexError {
		return nil, false
	}
	if g.Outer != 1 {
		return b.gatherLines(g, row, indices)
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
		if row < 3 || row > 64 {
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

// gatherLines gathers more than a few elements from each of several lines. If these are contiguous, they are copied.
func (b *build) gatherLines(g geometry.AxisGroup, row int, indices *plan.Operand) (func(), bool) {
	in, out, count := b.in(0), b.out(0), indices.N
	if count <= fewIndices {
		return nil, false
	}
	var gather func(y, x unsafe.Pointer, at []int32)
	switch row {
	case 1:
		gather = gatherLine[uint8]
	case 2:
		gather = gatherLine[uint16]
	case 4:
		gather = gatherLine[uint32]
	case 8:
		gather = gatherLine[uint64]
	default:
		return nil, false
	}
	check, whole := b.validWords(g, indices), false
	move := b.rt().parallel(g.Outer*count, grain(1), func(_ *worker, lo, hi int) {
		for lo < hi {
			line, first := lo/count, lo%count
			at := plan.Data[int32](indices)[first:min(count, first+hi-lo)]
			y, x := unsafe.Add(out.Ptr(), lo*row), unsafe.Add(in.Ptr(), line*g.Length*row)
			if whole {
				copy(plan.BytesAt(y, len(at)*row), plan.BytesAt(unsafe.Add(x, int(at[0])*row), len(at)*row))
			} else {
				gather(y, x, at)
			}
			lo += len(at)
		}
	})
	return func() {
		if !check() || out.N == 0 {
			return
		}
		at := plan.Data[int32](indices)
		whole = true
		for i, k := range at[1:] {
			if k != at[i]+1 {
				whole = false
				break
			}
		}
		move()
	}, true
}

// gatherLine copies the elements of a line at the given positions.
func gatherLine[T any](y, x unsafe.Pointer, at []int32) {
	gatherAt(unsafe.Slice((*T)(y), len(at)), unsafe.Slice((*T)(x), 1), at)
}

// allWithin reports whether all numbers are at least 0 and below the limit, which is 1 or more.
func allWithin(at []int32, limit int64) bool { return vec.Within(at, int32(min(limit-1, 1<<31-1))) }

// gatherOperand copies the elements at the given positions to the result, from element lo on.
func gatherOperand[T any](out, in *plan.Operand, at []int32, lo int) {
	gatherAt(rowsOf[T](out)[lo:lo+len(at)], rowsOf[T](in), at)
}

// gatherAt copies the elements of x at positions that are known to be valid. It reads positions two at a time, because
// reading them one by one takes as long as reading the elements.
func gatherAt[T any](y, x []T, at []int32) {
	base := unsafe.Pointer(unsafe.SliceData(x))
	size := unsafe.Sizeof(x[0])
	line, done := unsafe.Pointer(unsafe.SliceData(y[:len(at)])), uintptr(0) // no pointer may be beyond the last element
	for ; len(at) >= 8 && !bigEndian; at = at[8:] {                         // a jump for each element would take as long as all the rest
		pairs := (*[4]uint64)(unsafe.Pointer(unsafe.SliceData(at)))
		a, b, c, d := pairs[0], pairs[1], pairs[2], pairs[3]
		to := unsafe.Add(line, done)
		*(*T)(to) = *(*T)(unsafe.Add(base, uintptr(uint32(a))*size))
		*(*T)(unsafe.Add(to, size)) = *(*T)(unsafe.Add(base, uintptr(a>>32)*size))
		*(*T)(unsafe.Add(to, 2*size)) = *(*T)(unsafe.Add(base, uintptr(uint32(b))*size))
		*(*T)(unsafe.Add(to, 3*size)) = *(*T)(unsafe.Add(base, uintptr(b>>32)*size))
		*(*T)(unsafe.Add(to, 4*size)) = *(*T)(unsafe.Add(base, uintptr(uint32(c))*size))
		*(*T)(unsafe.Add(to, 5*size)) = *(*T)(unsafe.Add(base, uintptr(c>>32)*size))
		*(*T)(unsafe.Add(to, 6*size)) = *(*T)(unsafe.Add(base, uintptr(uint32(d))*size))
		*(*T)(unsafe.Add(to, 7*size)) = *(*T)(unsafe.Add(base, uintptr(d>>32)*size))
		done += 8 * size
	}
	for _, k := range at {
		*(*T)(unsafe.Add(line, done)) = *(*T)(unsafe.Add(base, uintptr(k)*size))
		done += size
	}
}
