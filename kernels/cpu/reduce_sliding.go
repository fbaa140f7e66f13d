package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Extremes along short lines are computed as if a line began at each element of a block: first the extremes of two
// neighbours, then of two such pairs side by side, and so on. That takes a few vector operations for each element,
// while going through the lines one by one takes a call or a branch for each line.

const (
	slidingSpan  = 64   // span of the longest lines, in elements including gaps
	slidingInner = 16   // largest number of interleaved lines
	slidingBlock = 2048 // elements of a block
	slidingLines = 8    // fewest lines: fewer cost less than the calls

	// On amd64, many long lines are faster in columns, and interleaved lines that fill a vector as they are.
	slidingLength = 12  // length of single lines of float32 up to which any number of them is computed this way,
	slidingMost   = 32  // and length up to which few are:
	slidingFew    = 512 // fewer than that many,
	slidingFew8   = 64  // or than that for float64,
	slidingShort8 = 4   // of which any number of this length is
)

// slides reports whether extremes along the group are computed this way.
func slides[T block.Float](g geometry.AxisGroup) bool {
	return g.Length > 1 && g.Inner > 0 && g.Inner <= slidingInner && g.Outer*g.Inner >= slidingLines && g.Length*g.Inner <= slidingSpan && (!isa.Active().Has(isa.Vectors256) || slidesFew[T](g)) && bySliding.Taken()
}

// slidesFew reports whether the lines are short or few enough on amd64.
func slidesFew[T block.Float](g geometry.AxisGroup) bool {
	single := unsafe.Sizeof(T(0)) == 4
	switch {
	case g.Inner > 1:
		return !single || g.Inner%8 != 0
	case single:
		return g.Length <= slidingLength || g.Length <= slidingMost && g.Outer < slidingFew
	}
	return g.Length <= slidingShort8 || g.Length <= slidingMost && g.Outer < slidingFew8
}

func reduceSliding[T block.Float](b *build, combine block.Func, g geometry.AxisGroup, from, to *plan.Operand) func() {
	size := int(unsafe.Sizeof(T(0)))
	b.rt().need(2 * slidingBlock * 8)
	line := g.Length * g.Inner
	count := slidingBlock / line
	return b.rt().parallel(g.Outer, grain(line), func(w *worker, lo, hi int) {
		buffer := scratchOf[T](w, 2*slidingBlock)
		for o := lo; o < hi; o += count {
			n := min(count, hi-o)
			x := plan.Data[T](from)[o*line : (o+n)*line]
			x = slideOver(combine, x, buffer[:slidingBlock], buffer[slidingBlock:], g)
			pickLines(plan.Data[T](to)[o*g.Inner:(o+n)*g.Inner], x, g, size)
		}
	})
}

// slideOver returns the extremes of the lines that begin at each element of x and end inside x.
func slideOver[T block.Float](combine block.Func, x, a, b []T, g geometry.AxisGroup) []T {
	for width := 1; width < g.Length; {
		step := min(width, g.Length-width)
		n := len(x) - step*g.Inner
		combine(unsafe.Pointer(&a[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&x[step*g.Inner]), nil, n)
		x, a, b = a[:n], b, a
		width += step
	}
	return x
}

// pickLines copies the elements at which lines begin.
func pickLines[T block.Float](y, x []T, g geometry.AxisGroup, size int) {
	line := g.Length * g.Inner
	if g.Inner > 1 {
		moveRows(unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), len(y)/g.Inner, g.Inner*size, g.Inner*size, line*size)
		return
	}
	done := vec.Strided(unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), size, line, len(y))
	for i := done; i < len(y); i++ {
		y[i] = x[i*line]
	}
}
