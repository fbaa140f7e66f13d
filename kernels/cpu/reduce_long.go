package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// longPart is the number of results that are computed at a time if rows are long. They stay in the first-level cache
// while up to rowBlock rows are added to them one after the other.
const longPart = 2048

// reduceLong combines a few long rows, in parts that workers share.
func reduceLong[T block.Float](b *build, kind combining, g geometry.AxisGroup, from, to *plan.Operand) func() {
	parts := (g.Inner + longPart - 1) / longPart
	return b.rt().parallel(g.Outer*parts, grain(g.Length*longPart), func(_ *worker, lo, hi int) {
		x, y := plan.Data[T](from), plan.Data[T](to)
		for k := lo; k < hi; k++ {
			o, c := k/parts, k%parts*longPart
			n := min(longPart, g.Inner-c)
			acc, rows := y[o*g.Inner+c:][:n], x[o*g.Length*g.Inner+c:]
			vectors(kind, acc, rows[:n], rows[g.Inner:][:n])
			for t := 2; t < g.Length; t++ {
				vectors(kind, acc, acc, rows[t*g.Inner:][:n])
			}
		}
	})
}
