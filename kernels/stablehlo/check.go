package stablehlo

import (
	"math"
	"math/bits"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// canFail reports whether a program, or one inside it, has checks: for indices outside their axis that are an error, or
// for numbers that are not finite.
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

// look is a check whose outcome is not in the failure flag yet.
type look struct {
	number          int // of the check, from 1
	indices, inside value
}

// check checks indices. Its outcome waits for [emitter.settle]. Indices that have already been checked in the same way
// in this region are not checked again.
func (e *emitter) check(c Check, indices, inside value) {
	if indices.shape().Size() == 0 {
		return
	}
	for _, l := range e.looks {
		if earlier := e.checks[l.number-1]; l.indices.name == indices.name && c.Op != ir.CheckFinite && earlier.Op != ir.CheckFinite && earlier.Length == c.Length {
			return
		}
	}
	e.checks = append(e.checks, c)
	e.looks = append(e.looks, look{len(e.checks), indices, inside})
}

// settle sets the failure flag to the first index outside in the first failing check of the region, unless the flag is
// already set.
//
// In a program that is divided over a mesh, the devices sum how many indices are outside, which compilers do together
// with other sums, and search for the first one only if there are any.
func (e *emitter) settle() {
	looks := e.looks
	e.looks = nil
	if len(looks) == 0 {
		return
	}
	if e.partitions <= 1 {
		e.findFirst(looks)
		return
	}
	outside := e.countOutside(looks)
	outer := e.flag
	find := e.region(nil, func([]value) []value {
		e.findFirst(looks)
		return []value{e.flag}
	})
	leave := e.region(nil, func([]value) []value { return []value{outer} })
	any := e.compare(ir.Ne, outside, e.like(outside, 0))
	e.flag = e.general("if", []value{any}, "", find+", "+leave, []ir.Type{FlagType})[0]
}

// countOutside is the number of indices that are outside, as a float32, which may be rounded but not to zero.
func (e *emitter) countOutside(looks []look) value {
	var total value
	for i, all := range byShape(looks) {
		inside := all[0].inside
		for _, l := range all[1:] {
			inside = e.and(inside, l.inside)
		}
		t := ir.Type{DType: ir.Float32, Shape: inside.shape()}
		n := e.reduce(ir.Sum, e.choose(inside, e.splat(t, 0), e.splat(t, 1)), axesOf(inside)...)
		if i > 0 {
			n = e.binary("add", total, n)
		}
		total = n
	}
	return total
}

// findFirst writes the search for the first failure.
//
// Each index that is outside becomes a number: the check's number in the highest bits, its position below that, and the
// index itself in the lowest 32 bits. The smallest of these numbers is the first failure.
func (e *emitter) findFirst(waiting []look) {
	for len(waiting) > 0 {
		n, positions := 0, 0
		for _, l := range waiting { // as many checks at a time as fit into 63 bits
			most := max(positions, bits.Len(uint(l.indices.shape().Size()-1)))
			if n > 0 && bits.Len(uint(n))+most > 31 {
				break
			}
			n, positions = n+1, most
		}
		e.findAmong(waiting[:n], positions)
		waiting = waiting[n:]
	}
}

// byShape groups the checks whose indices have the same shape.
func byShape(looks []look) [][]look {
	var all [][]look
	for _, l := range looks {
		i := slices.IndexFunc(all, func(same []look) bool { return slices.Equal(same[0].indices.shape(), l.indices.shape()) })
		if i < 0 {
			all = append(all, []look{l})
		} else {
			all[i] = append(all[i], l)
		}
	}
	return all
}

func axesOf(v value) []int {
	axes := make([]int, len(v.shape()))
	for i := range axes {
		axes[i] = i
	}
	return axes
}

// findAmong is findFirst for checks whose positions have the given number of bits.
func (e *emitter) findAmong(looks []look, positions int) {
	var first value
	for i, all := range byShape(looks) {
		var numbers value
		for j, l := range all {
			own := e.failureNumber(l, uint64(l.number-looks[0].number)<<positions)
			if j > 0 {
				own = e.binary("minimum", numbers, own)
			}
			numbers = own
		}
		least := e.reduce(ir.Min, numbers, axesOf(numbers)...)
		if i > 0 {
			least = e.binary("minimum", first, least)
		}
		first = least
	}
	failed := e.compare(ir.Ne, first, e.long(first.typ, math.MaxInt64))
	check := e.binary("shift_right_logical", first, e.long(first.typ, int64(32+positions)))
	check = e.binary("add", check, e.long(first.typ, int64(looks[0].number)))
	index := e.binary("subtract", e.and(first, e.long(first.typ, math.MaxUint32)), e.long(first.typ, 1<<31))
	vector := func(v value) value { return e.reshape(e.convert(v, ir.Int32), 1) }
	found := e.concat(0, e.integers(ir.Int32, int(e.number)), vector(check), vector(index))
	set := e.compare(ir.Ne, e.checkNumber(e.flag), e.splat(ir.Type{DType: ir.Int32}, 0))
	take := e.and(failed, e.not(set))
	e.flag = e.choose(e.broadcast(take, e.flag.shape()), found, e.flag)
}

// failureNumber is, for each index that is outside, its number with the check's number on top; elsewhere it is the
// largest int64.
func (e *emitter) failureNumber(l look, check uint64) value {
	shape := l.indices.shape()
	t := ir.Type{DType: ir.Int64, Shape: shape}
	index := e.convert(l.indices, ir.Int64)
	switch d := l.indices.dtype(); {
	case d.Size() == 8: // an index outside may be far outside
		index = e.binary("maximum", e.long(t, math.MinInt32), e.binary("minimum", e.long(t, math.MaxInt32), index))
	case d == ir.Uint32:
		index = e.binary("minimum", e.long(t, math.MaxInt32), index)
	}
	position := e.reshape(e.iota(ir.Type{DType: ir.Int64, Shape: ir.Shape{shape.Size()}}, 0), shape...)
	number := e.binary("add", e.binary("multiply", position, e.long(t, 1<<32)), e.long(t, int64(check<<32|1<<31)))
	return e.choose(l.inside, e.long(t, math.MaxInt64), e.binary("add", number, index))
}
