package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// scatterWords scatters single elements into one line. It is the counterpart of gatherWords: the indices are signed
// 32-bit integers that must all be valid, and are read without conversion.
func (b *build) scatterWords(g geometry.AxisGroup, in, indices, updates *plan.Operand, kind ir.Kind, mode ir.IndexMode, zeros bool) (func(), bool) {
	each := scatterWordsOf(kind, in.Typ.DType)
	if g.Outer != 1 || g.Inner != 1 || g.Length == 0 || indices.Typ.DType != ir.Int32 || mode != ir.IndexError || each == nil {
		return nil, false
	}
	check := b.validWords(g, indices)
	out, size := b.out(0), in.Typ.DType.Size()
	scatter := b.rt().scattering(g, indices.N, size, func(_, row, end, _, _ int) {
		each(out.Ptr(), updates.Ptr(), plan.Data[int32](indices), row, end, row == 0 && end == g.Length)
	})
	return func() {
		if !check() {
			return
		}
		if zeros {
			clear(plan.Raw(out))
		} else {
			copyOperand(out, in)
		}
		if indices.N > 0 {
			scatter()
		}
	}, true
}

// validWords returns a function that reports whether all 32-bit indices are valid. It makes the run fail if not.
func (b *build) validWords(g geometry.AxisGroup, indices *plan.Operand) func() bool {
	scope, op, rt, axis := b.n.Scope, b.n.Op, b.rt(), 0
	switch a := b.n.Attrs.(type) {
	case ir.GatherAttrs:
		axis = a.Axis
	case ir.ScatterAttrs:
		axis = a.Axis
	}
	return func() bool {
		at := plan.Data[int32](indices)
		if allWithin(at, int64(g.Length)) {
			return true
		}
		for i, v := range at {
			if v < 0 || int64(v) >= int64(g.Length) {
				rt.fail(&IndexError{Scope: scope, Op: op.String(), Index: indexText(indices, i), Position: i, Axis: axis, Length: g.Length})
				break
			}
		}
		return false
	}
}

// scatterWordsOf returns the loop that combines single elements with those of a line at positions in [row, end), if
// there is one. whole says that this is the whole line, so that all positions are inside.
func scatterWordsOf(kind ir.Kind, d ir.DType) func(line, src unsafe.Pointer, at []int32, row, end int, whole bool) {
	switch {
	case kind == ir.Set && d.Size() == 2:
		return setWords[uint16]
	case kind == ir.Set && d.Size() == 4:
		return setWords[uint32]
	case kind == ir.Set && d.Size() == 8:
		return setWords[uint64]
	case kind == ir.Sum && d == ir.Float32:
		return addWords[float32]
	case kind == ir.Sum && d == ir.Float64:
		return addWords[float64]
	case kind == ir.Sum && d == ir.Int32:
		return addWords[int32]
	case kind == ir.Sum && d == ir.Int64:
		return addWords[int64]
	}
	return nil
}

func setWords[T any](line, src unsafe.Pointer, at []int32, row, end int, whole bool) {
	x := block.View[T](src, len(at))
	if whole {
		for i, p := range at {
			*(*T)(unsafe.Add(line, uintptr(p)*unsafe.Sizeof(x[0]))) = x[i]
		}
		return
	}
	for i, p := range at {
		if int(p) >= row && int(p) < end {
			*(*T)(unsafe.Add(line, uintptr(p)*unsafe.Sizeof(x[0]))) = x[i]
		}
	}
}

func addWords[T block.Number](line, src unsafe.Pointer, at []int32, row, end int, whole bool) {
	x := block.View[T](src, len(at))
	if whole {
		for i, p := range at {
			*(*T)(unsafe.Add(line, uintptr(p)*unsafe.Sizeof(x[0]))) += x[i]
		}
		return
	}
	for i, p := range at {
		if int(p) >= row && int(p) < end {
			*(*T)(unsafe.Add(line, uintptr(p)*unsafe.Sizeof(x[0]))) += x[i]
		}
	}
}
