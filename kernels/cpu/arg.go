package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

func buildArg(b *build) (func(), error) {
	g := lines(b.in(0).Typ.Shape, b.n.Attrs.(ir.AxisAttrs).Axis)
	return positionsOf(b, b.in(0), b.out(0), g, b.n.Op == ir.ArgMax), nil
}

// positionsOf returns a function that stores the positions of the largest (or smallest) elements of lines.
func positionsOf(b *build, in, out *plan.Operand, g geometry.AxisGroup, largest bool) func() {
	switch in.Typ.DType {
	case ir.Float32:
		return argOf[float32](b, in, out, g, largest)
	case ir.Float64:
		return argOf[float64](b, in, out, g, largest)
	case ir.Bool, ir.Uint8:
		return argOf[uint8](b, in, out, g, largest)
	case ir.Int8:
		return argOf[int8](b, in, out, g, largest)
	case ir.Int16:
		return argOf[int16](b, in, out, g, largest)
	case ir.Int32:
		return argOf[int32](b, in, out, g, largest)
	case ir.Int64:
		return argOf[int64](b, in, out, g, largest)
	case ir.Uint16:
		return argOf[uint16](b, in, out, g, largest)
	case ir.Uint32:
		return argOf[uint32](b, in, out, g, largest)
	}
	return argOf[uint64](b, in, out, g, largest)
}

// lines views a shape as (outer, length, inner) around an axis.
func lines(s ir.Shape, axis int) geometry.AxisGroup {
	return geometry.AxisGroup{Outer: s[:axis].Size(), Length: s[axis], Inner: s[axis+1:].Size()}
}

// argOf finds the position of the first largest (or smallest) element. NaN counts as larger (or smaller) than any
// other.
func argOf[T block.Number](b *build, in, out *plan.Operand, g geometry.AxisGroup, largest bool) func() {
	op := ir.Minimum
	if largest {
		op = ir.Maximum
	}
	extreme := block.Binary(op, in.Typ.DType) // nil for bools, which are rare
	b.rt().need(max(columnBlock*8, placesMemory))
	planes := newPlanes(in.Typ.DType, largest, func(x unsafe.Pointer, length, inner int) int {
		return argOfStrided(block.View[T](x, (length-1)*inner+1), inner, largest)
	})
	if planes != nil && planes.turnsPlaces(g) {
		return turnedArg(b, in, out, g, planes)
	}
	return b.rt().parallel(g.Outer*g.Inner, grain(g.Length), func(w *worker, lo, hi int) {
		x, y := plan.Data[T](in), plan.Data[int32](out)
		scratch := scratchOf[T](w, columnBlock*8/in.Typ.DType.Size())
		if g.Length == 1 {
			clear(y[lo:hi])
			return
		}
		if g.Length == 2 && g.Inner == 1 {
			argOfPairs(x[2*lo:2*hi], y[lo:hi], largest)
			return
		}
		for k := lo; k < hi; {
			o, c := k/g.Inner, k%g.Inner
			if g.Inner > 1 && g.Inner < fewStrided {
				y[k] = int32(argOfStrided(x[o*g.Length*g.Inner+c:(o+1)*g.Length*g.Inner], g.Inner, largest))
				k++
				continue
			}
			if g.Inner == 1 {
				y[k] = int32(argOfRow(x[o*g.Length:(o+1)*g.Length], scratch, largest, extreme))
				k++
				continue
			}
			n := min(hi-k, g.Inner-c, columnBlock)
			if planes != nil && planes.columns(w, y[k:k+n], unsafe.Pointer(&x[o*g.Length*g.Inner+c]), g.Length, g.Inner) {
				k += n
				continue
			}
			argOfColumns(x[o*g.Length*g.Inner+c:(o+1)*g.Length*g.Inner], y[k:k+n], scratch[:n], g.Inner, largest, extreme)
			k += n
		}
	})
}

// turnedArg is argOf for short lines.
func turnedArg(b *build, in, out *plan.Operand, g geometry.AxisGroup, p *planes) func() {
	line := g.Length * g.Inner
	return b.rt().parallel(g.Outer, grain(line), func(w *worker, lo, hi int) {
		p.turned(w, plan.Data[int32](out)[lo*g.Inner:hi*g.Inner], unsafe.Add(in.Ptr(), lo*line*p.size), g.Length, g.Inner)
	})
}

// beyond reports whether v replaces best, which is not NaN.
func beyond[T block.Number](v, best T, largest bool) bool {
	return largest && v > best || !largest && v < best || v != v
}

// argBlock is how many elements are searched at a time for the position of their extreme.
const argBlock = 512
