package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Extremes along short lines are found for all places of a block at once: of two neighbours, then of two such pairs
// side by side, and so on, as if a line began at each element. That takes a few vector operations for each element,
// where lines one by one take a call or a branch for each.

const (
	slidingSpan  = 64   // the elements of the longest lines, those between their elements included
	slidingInner = 16   // up to how many lines lie between each other
	slidingBlock = 2048 // the elements of a block
)

// combiningOps are the operations that reductions combine two elements with.
var combiningOps = map[ir.Kind]ir.Op{ir.Sum: ir.Add, ir.Prod: ir.Mul, ir.Max: ir.Maximum, ir.Min: ir.Minimum, ir.Or: ir.Maximum, ir.And: ir.Minimum}

// slides reports whether extremes along the group are found so.
func slides(g geometry.AxisGroup) bool {
	return g.Length > 1 && g.Inner > 0 && g.Inner <= slidingInner && g.Length*g.Inner <= slidingSpan
}

func reduceSliding[T block.Number](b *build, combine block.Func, g geometry.AxisGroup, from, to *plan.Operand) func() {
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

// slideOver returns the extremes of the lines that begin at each element of x, as far as they end in x.
func slideOver[T block.Number](combine block.Func, x, a, b []T, g geometry.AxisGroup) []T {
	for width := 1; width < g.Length; {
		step := min(width, g.Length-width)
		n := len(x) - step*g.Inner
		combine(unsafe.Pointer(&a[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&x[step*g.Inner]), nil, n)
		x, a, b = a[:n], b, a
		width += step
	}
	return x
}

// pickLines takes the elements at which lines begin.
func pickLines[T block.Number](y, x []T, g geometry.AxisGroup, size int) {
	line := g.Length * g.Inner
	if g.Inner > 1 {
		moveRows(unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), len(y)/g.Inner, g.Inner*size, g.Inner*size, line*size)
		return
	}
	done := 0
	if size >= 4 {
		done = vec.Strided(unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), size, line, len(y))
	}
	for i := done; i < len(y); i++ {
		y[i] = x[i*line]
	}
}

// combineLong combines consecutive integers, as many at a time as buffer holds, by the vector kernel of the operation.
func (r *reduction[T]) combineLong(buffer, x []T) T {
	n := len(buffer)
	if r.long == nil || len(x) < 4*n || n == 0 {
		return r.row(x)
	}
	at := func(v []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(v)) }
	r.long(at(buffer), at(x), at(x[n:]), nil, n)
	for x = x[2*n:]; len(x) >= n; x = x[n:] {
		r.long(at(buffer), at(buffer), at(x), nil, n)
	}
	for ; n > 64; n /= 2 {
		r.long(at(buffer), at(buffer), at(buffer[n/2:]), nil, n/2)
	}
	buffer[0] = r.row(buffer[:n])
	if len(x) > 0 {
		buffer[1] = r.row(x)
		return r.row(buffer[:2])
	}
	return buffer[0]
}

// withKernels adds the vector kernels that reductions of a kind may use.
func (r reduction[T]) withKernels(kind ir.Kind, d ir.DType) reduction[T] {
	op, ok := combiningOps[kind]
	if !ok {
		return r
	}
	if op == ir.Maximum || op == ir.Minimum {
		r.slide = block.Binary(op, d)
	}
	if d.IsInteger() && d.Size() >= 4 || d.IsInteger() && op == ir.Mul {
		r.long = block.Binary(op, d)
	}
	return r
}
