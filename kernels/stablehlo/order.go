package stablehlo

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	lowerings[ir.Sort] = func(e *emitter, n *ir.Node, in []value) []value {
		a := n.Attrs.(ir.SortAttrs)
		return e.sort(in[0], a.Axis, a.Descending)
	}
	lowerings[ir.TopK] = func(e *emitter, n *ir.Node, in []value) []value {
		k, shape := n.Attrs.(ir.TopKAttrs).K, in[0].shape()
		sorted := e.sort(in[0], len(shape)-1, true)
		limit := shape.Clone()
		limit[len(shape)-1] = k
		start, stride := make([]int, len(shape)), ones(len(shape))
		return []value{e.slice(sorted[0], start, limit, stride), e.slice(sorted[1], start, limit, stride)}
	}
}

// sort returns the elements in order and their positions. NaN counts as the largest number; -0 equals 0, as in IEEE
// comparisons.
func (e *emitter) sort(x value, axis int, descending bool) []value {
	positions := e.iota(ir.Type{DType: ir.Int32, Shape: x.shape()}, axis)
	direction := ir.Lt
	if descending {
		direction = ir.Gt
	}
	scalar, position := ir.Type{DType: x.dtype()}, ir.Type{DType: ir.Int32}
	region := e.region([]ir.Type{scalar, scalar, position, position}, func(in []value) []value {
		before := e.compare(direction, in[0], in[1])
		if x.dtype().IsFloat() {
			later, earlier := e.isNaN(in[1]), e.isNaN(in[0])
			if descending {
				later, earlier = earlier, later
			}
			before = e.or(before, e.and(later, e.not(earlier)))
		}
		return []value{before}
	})
	properties := fmt.Sprintf("dimension = %d : i64, is_stable = true", axis)
	return e.general("sort", []value{x, positions}, properties, region, []ir.Type{x.typ, positions.typ})
}
