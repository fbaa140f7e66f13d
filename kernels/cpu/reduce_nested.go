package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Reductions of a few elements along several separate axes, such as the gradient of repeated cells, take one pass.
// Parts of rows are first combined along all of these axes but the innermost one, and then, while they are in the
// first-level cache, along that one. Going through one axis after the other would read the operand in short pieces, and
// would write most of it and read it again.

const (
	nestedRows = 64      // rows that are combined before the innermost axis
	nestedLine = 8 << 10 // elements of a part if a line is longer than longPart
	nestedRow  = 512     // least elements of a row; for shorter ones, the calls cost more than they save
)

// nested is such a reduction.
type nested struct {
	geometry.AxisGroup       // of the innermost axis; Outer counts the lines of a row
	offsets            []int // of the rows that are combined
	outer              []int // axes of the results around these; steps: elements from one index to the next
	steps              []int
	rows               int // of the result
	part               int // lines at a time
}

// newNested returns a reduction of several groups in one pass, or nil if that is not possible.
func newNested(s ir.Shape, groups []geometry.AxisGroup, axes []int) *nested {
	if len(groups) < 2 {
		return nil
	}
	last := groups[0]
	if groups[len(groups)-1].Inner == 1 || last.Length > fewRows || last.Length*last.Inner > nestedLine {
		return nil
	}
	n := &nested{offsets: []int{0}, rows: 1}
	size := last.Length * last.Inner
	d := len(s)
	for inside := 1; inside < size; d-- {
		inside *= s[d-1]
	}
	reduced := make([]bool, len(s))
	for _, a := range axes {
		reduced[a] = true
	}
	lines := 1
	for ; d > 0 && !reduced[d-1]; d-- {
		lines *= s[d-1]
	}
	step := size * lines
	if step < nestedRow {
		return nil
	}
	n.AxisGroup = geometry.AxisGroup{Outer: lines, Length: last.Length, Inner: last.Inner}
	for ; d > 0; d-- {
		length := s[d-1]
		if !reduced[d-1] {
			n.outer, n.steps = append(n.outer, length), append(n.steps, step)
			n.rows *= length
		} else if len(n.offsets)*length > nestedRows {
			return nil
		} else {
			inside := n.offsets
			for i := 1; i < length; i++ {
				for _, o := range inside {
					n.offsets = append(n.offsets, o+i*step)
				}
			}
		}
		step *= length
	}
	n.part = max(longPart/size, 1)
	return n
}

// nestedOf returns the unit's reduction in one pass, or nil.
func nestedOf(b *build) *nested {
	s, axes := b.in(0).Typ.Shape, b.n.Attrs.(ir.ReduceAttrs).Axes
	return newNested(s, geometry.AxisGroups(s, axes), axes)
}

// start returns where the operand's rows for a row of the result begin.
func (n *nested) start(row int) int {
	at := 0
	for i, length := range n.outer {
		at += row % length * n.steps[i]
		row /= length
	}
	return at
}

// reduceNested combines along all axes.
func reduceNested[T block.Float](b *build, r *reduction[T], n *nested, from, to *plan.Operand) func() {
	g := n.AxisGroup
	size, parts := g.Length*g.Inner, (g.Outer+n.part-1)/n.part
	f := newRowCombiner(r, g)
	b.rt().need((fewBlocks + n.part*size) * 8)
	return b.rt().parallel(n.rows*parts, grain(len(n.offsets)*n.part*size), func(w *worker, lo, hi int) {
		x, y, scratch := plan.Data[T](from), plan.Data[T](to), scratchOf[T](w, fewBlocks+n.part*size)
		for k := lo; k < hi; k++ {
			row, first := k/parts, k%parts*n.part
			lines := min(n.part, g.Outer-first)
			start, acc := n.start(row)+first*size, scratch[fewBlocks:][:lines*size]
			vectors(r.kind, acc, x[start:][:len(acc)], x[start+n.offsets[1]:][:len(acc)])
			for _, o := range n.offsets[2:] {
				vectors(r.kind, acc, acc, x[start+o:][:len(acc)])
			}
			f.combine(y[(row*g.Outer+first)*g.Inner:][:lines*g.Inner], acc, scratch)
		}
	})
}
