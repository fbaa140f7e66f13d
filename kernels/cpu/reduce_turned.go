package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// Reductions of many short lines. As many lines as fit into the first-level cache are transposed. Vector kernels then
// combine the first elements of all lines with the second ones, and so on. The order within a line is the same as if
// lines were combined one by one.

const (
	turnedBlock  = 4096 // elements that are transposed at a time
	turnedStack  = 2048 // the same in an elementwise unit
	turnedFew    = 128  // the same there for few elements, because less memory is cleared faster
	turnedLeast  = 24   // least number of lines without gaps
	turnedShort  = 24   // length of a column up to which a loop combines two columns faster than a call
	turnedFewest = 8    // the same for extremes
	turnedSpan   = 256  // span of the longest lines, in elements including gaps
	turnedAdded  = 24   // length of lines without gaps up to which they are summed this way
	turnedAdded8 = 12   // the same for float64
	turnedOther  = 32   // the same for other combinations
)

// turnsRows reports whether lines without gaps are combined this way.
func turnsRows[T block.Float](kind combining, length int) bool {
	most := turnedOther
	if kind == adding {
		if most = turnedAdded; unsafe.Sizeof(T(0)) == 8 {
			most = turnedAdded8
		}
	}
	if kind == adding && length == 4 && (unsafe.Sizeof(T(0)) == 8 || usesAVX2()) {
		return false // see sumFours
	}
	return length > 1 && length <= most && byTurnedRows.Taken()
}

// turnsLines reports whether the lines of a group are combined this way. For a few elements [reduceFew] and
// [reduceSliding] are faster, if they support the kind.
func turnsLines[T block.Float](r *reduction[T], g geometry.AxisGroup) bool {
	if g.Inner == 1 {
		return g.Outer >= turnedLeast && turnsRows[T](r.kind, g.Length) && !(r.slide != nil && slides[T](g))
	}
	return g.Length > 1 && g.Inner > 0 && g.Length*g.Inner <= turnedSpan && gainsTurned(r, g) && byTurnedLines.Taken()
}

func gainsTurned[T block.Float](r *reduction[T], g geometry.AxisGroup) bool {
	wide := unsafe.Sizeof(T(0)) == 8
	switch {
	case r.kind == multiplying:
		return true
	case r.kind == adding && wide && usesAVX2():
		return g.Length*g.Inner <= turnedSpan/2 && (g.Length > fewRows || g.Inner == 3 && g.Length > 2 || g.Inner == 2 && g.Length > 3)
	case r.kind == adding && wide:
		return g.Length*g.Inner <= turnedSpan/2 && (g.Length > fewRows || g.Inner < 5 && g.Length > 2)
	case r.kind == adding:
		return g.Length > fewRows || g.Inner < 5
	}
	return g.Length > fewRows || r.pixels == nil && g.Length > 4
}

// reduceTurned combines along a group that [turnsLines] accepts.
func reduceTurned[T block.Float](b *build, kind combining, g geometry.AxisGroup, from, to *plan.Operand) func() {
	b.rt().need(turnedBlock * 8)
	line := g.Length * g.Inner
	return b.rt().parallel(g.Outer, grain(line), func(w *worker, lo, hi int) {
		x, y := plan.Data[T](from), plan.Data[T](to)
		combineColumns(kind, y[lo*g.Inner:hi*g.Inner], x[lo*line:hi*line], scratchOf[T](w, turnedBlock), g.Length, g.Inner)
	})
}

// combineTurned reduces rows of a few elements to one element of acc each.
func combineTurned[T block.Float](kind combining, acc, x []T) {
	if len(x) <= turnedFew {
		var columns [turnedFew]T
		combineColumns(kind, acc, x, columns[:], len(x)/len(acc), 1)
		return
	}
	var columns [turnedStack]T
	combineColumns(kind, acc, x, columns[:], len(x)/len(acc), 1)
}

// combineColumns reduces lines of the given length, inner of which are interleaved, to one element of acc each. memory
// has room for two of these lines.
func combineColumns[T block.Float](kind combining, acc, x, memory []T, length, inner int) {
	line := length * inner
	most := len(memory) / line
	if most > 16 {
		most &^= 15 // whole vectors
		if line >= softmaxMany && most*int(unsafe.Sizeof(T(0)))%2048 == 0 {
			most -= 16 // columns this far apart would evict each other from the cache
		}
		if count := len(acc) / inner; count > most { // pieces of about the same size, so that none is short
			pieces := (count + most - 1) / most
			most = min(most, ((count+pieces-1)/pieces+15)&^15)
		}
	}
	for len(acc) > 0 {
		n := min(most, len(acc)/inner)
		columns := memory[:n*line]
		transposeRows(columns, x, line, n, n, line)
		joinColumns(kind, columns, length, n*inner)
		transposeRows(acc[:n*inner], columns, n, inner, inner, n)
		acc, x = acc[n*inner:], x[n*line:]
	}
}

// joinColumns combines the given number of columns, each of the given width, into the first one. It uses the strands of
// [sumStrands] or [prodRow].
func joinColumns[T block.Float](kind combining, columns []T, count, width int) {
	join := func(to, from int) {
		if from < count {
			c := columns[to*width : (to+1)*width]
			if width <= turnedShort && (width < turnedFewest || kind == adding || kind == multiplying) {
				combineEach(kind, c, columns[from*width:][:width])
				return
			}
			vectors(kind, c, c, columns[from*width:(from+1)*width])
		}
	}
	switch {
	case kind == multiplying:
		for k := 8; k < count; k++ {
			join(k%8, k)
		}
		for k := range 4 {
			join(k, k+4)
		}
		join(0, 1)
		join(2, 3)
		join(0, 2)
	case kind == adding && count > shortLine:
		whole := count &^ 3
		for k := 4; k < whole; k++ {
			join(k%4, k)
		}
		for k := whole; k < count; k++ {
			join(0, k)
		}
		join(0, 2)
		join(1, 3)
		join(0, 1)
	default:
		for k := 1; k < count; k++ {
			join(0, k)
		}
	}
}

// combineEach is vectors for a few elements.
func combineEach[T block.Float](kind combining, a, b []T) {
	switch kind {
	case multiplying:
		for i, v := range b {
			a[i] *= v
		}
	case adding:
		for i, v := range b {
			a[i] += v
		}
	default:
		for i, v := range b {
			if kind == largest && v >= a[i] || kind == smallest && v <= a[i] || v != v {
				a[i] = v
			}
		}
	}
}
