package stablehlo

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// canFail reports whether a program, or one inside it, looks at indices whose being outside is an error, or for numbers
// that are not finite.
func canFail(p *ir.Program) bool {
	return slices.ContainsFunc(p.Nodes, nodeCanFail)
}

func nodeCanFail(n ir.Node) bool {
	switch a := n.Attrs.(type) {
	case ir.GatherAttrs:
		return a.Mode == ir.IndexError
	case ir.ScatterAttrs:
		return a.Mode == ir.IndexError
	case ir.CheckFiniteAttrs:
		return true
	}
	return slices.ContainsFunc(ir.SubPrograms(n.Attrs), canFail)
}

// inside reports which indices lie within an axis.
func (e *emitter) inside(indices value, length int) value {
	d := indices.dtype()
	if d.Size() < 4 { // the length may not fit
		d = ir.Int32
		indices = e.convert(indices, d)
	}
	var below value
	if d.Size() == 8 || d == ir.Uint32 || length <= math.MaxInt32 {
		below = e.compare(ir.Lt, indices, e.like(indices, float64(length)))
	} else {
		below = e.splat(ir.Type{DType: ir.Bool, Shape: indices.shape()}, 1)
	}
	if !d.IsSigned() {
		return below
	}
	return e.and(below, e.compare(ir.Ge, indices, e.like(indices, 0)))
}

// check sets the failure flag to the first index that is not inside, unless it is set.
func (e *emitter) check(c Check, indices, inside value) {
	count := indices.shape().Size()
	if count == 0 {
		return
	}
	e.checks = append(e.checks, c)
	flat, good := e.reshape(indices, count), e.reshape(inside, count)
	positions := e.iota(ir.Type{DType: ir.Int32, Shape: ir.Shape{count}}, 0)
	first := e.reduce(ir.Min, e.choose(good, e.like(positions, math.MaxInt32), positions), 0)
	failed := e.compare(ir.Ne, first, e.splat(first.typ, math.MaxInt32))
	index := e.convert(e.dynamicSlice(flat, []value{first}, []int{1}), ir.Int64) // saturated below, as what is outside may be far outside
	low, high := e.splat(index.typ, math.MinInt32), e.splat(index.typ, math.MaxInt32)
	index = e.convert(e.binary("maximum", low, e.binary("minimum", high, index)), ir.Int32)
	found := e.concat(0, e.integers(ir.Int32, int(e.number), len(e.checks)), index)
	set := e.compare(ir.Ne, e.checkNumber(e.flag), e.splat(ir.Type{DType: ir.Int32}, 0))
	take := e.and(failed, e.not(set))
	e.flag = e.choose(e.broadcast(take, e.flag.shape()), found, e.flag)
}
