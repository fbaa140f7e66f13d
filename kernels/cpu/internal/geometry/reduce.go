package geometry

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// AxisGroup is a run of reduced axes between kept ones.
type AxisGroup struct{ Outer, Length, Inner int }

// AxisGroups returns the reductions to do, in order. Each is described by the shape that the previous ones leave. The
// innermost axes go first, unless they are short rows.
func AxisGroups(s ir.Shape, axes []int) []AxisGroup {
	var sizes []int // alternately of runs of reduced and of kept axes
	var reduced []bool
	for i, n := range s {
		r := slices.Contains(axes, i)
		switch k := len(sizes) - 1; {
		case n == 1:
		case k >= 0 && reduced[k] == r:
			sizes[k] *= n
		default:
			sizes, reduced = append(sizes, n), append(reduced, r)
		}
	}
	var groups []AxisGroup
	take := func(k int) {
		groups = append(groups, AxisGroup{ir.Shape(sizes[:k]).Size(), sizes[k], ir.Shape(sizes[k+1:]).Size()})
		sizes, reduced = slices.Delete(sizes, k, k+1), slices.Delete(reduced, k, k+1)
	}
	for k := len(sizes) - 1; k >= 0; k-- {
		if reduced[k] && (k < len(sizes)-1 || sizes[k] >= ShortRow) {
			take(k)
		}
	}
	if k := len(sizes) - 1; k >= 0 && reduced[k] {
		take(k)
	}
	return groups
}

// ShortRow is the length below which rows are too short for a loop over each. If other axes are reduced too, these go
// first, which leaves fewer short rows.
const ShortRow = 32
