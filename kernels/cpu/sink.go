package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/ir"
)

// A sink is a reduction that joins the elementwise unit that computes its operand, and reads each block while it is in the
// first-level cache. The operand is seen as rows: a sink combines either whole rows to one element each, or all rows to one,
// or everything to one element.

// maxColumns is the longest row that a sink takes: blocks hold whole rows.
const maxColumns = 4096

// sinkShape describes the reduction of a shape: over the columns of rows (inner false), or over the rows (inner true).
// Columns is 0 when everything is reduced.
type sinkShape struct {
	columns int
	leading bool // the rows are combined
}

// sinkOf tells how a reduction fits a sink.
func (g *graph) sinkOf(n *ir.Node) (sinkShape, bool) {
	if n.Op != ir.Reduce {
		return sinkShape{}, false
	}
	t := g.p.Type(n.Inputs[0])
	if t.Shape.Size() == 0 || t.DType == ir.Bool {
		return sinkShape{}, false
	}
	groups := axisGroups(t.Shape, n.Attrs.(ir.ReduceAttrs).Axes)
	if len(groups) != 1 {
		return sinkShape{}, false
	}
	switch r := groups[0]; {
	case r.outer == 1 && r.inner == 1:
		return sinkShape{}, true
	case r.outer == 1:
		return sinkShape{r.inner, true}, r.inner <= maxColumns
	case r.inner == 1:
		return sinkShape{r.length, false}, r.length <= maxColumns
	}
	return sinkShape{}, false
}

// vmSink is a compiled sink. take combines block k, first in its chunk or not; finish combines the chunks.
type vmSink struct {
	ptr    uint8
	take   func(block unsafe.Pointer, k int, first bool, n int)
	finish func()
}

// sinkOperand returns the value that a sink reduces, without the reshapes on the way to it.
func (g *graph) sinkOperand(i int) ir.Value {
	return resolve(g.p, g.def, g.p.Nodes[i].Inputs[0]).source
}

// compileSink adds the sink that computes reduction node i.
func (b *vmBuilder) compileSink(i int, rt *runtime) {
	n := &b.p.Nodes[i]
	var s vmSink
	switch b.p.Type(n.Inputs[0]).DType {
	case ir.Float32:
		s = newSink[float32](b, n, rt, float32(inf))
	case ir.Float64:
		s = newSink(b, n, rt, inf)
	case ir.Int8:
		s = newSink[int8](b, n, rt, 1<<7-1)
	case ir.Int16:
		s = newSink[int16](b, n, rt, 1<<15-1)
	case ir.Int32:
		s = newSink[int32](b, n, rt, 1<<31-1)
	case ir.Int64:
		s = newSink[int64](b, n, rt, 1<<63-1)
	case ir.Uint8:
		s = newSink[uint8](b, n, rt, 1<<8-1)
	case ir.Uint16:
		s = newSink[uint16](b, n, rt, 1<<16-1)
	case ir.Uint32:
		s = newSink[uint32](b, n, rt, 1<<32-1)
	default:
		s = newSink[uint64](b, n, rt, 1<<64-1)
	}
	s.ptr = b.ptrOf[b.sinkOperand(i)]
	b.prog.sinks = append(b.prog.sinks, s)
}

func newSink[T number](b *vmBuilder, n *ir.Node, rt *runtime, highest T) vmSink {
	r := reductionOf(n.Attrs.(ir.ReduceAttrs).Kind, highest)
	out := &b.operands[n.Outputs[0]]
	shape, _ := b.sinkOf(n)
	blocks := (b.prog.n + b.prog.block - 1) / b.prog.block
	chunk := b.prog.grain
	switch {
	case shape.columns > 0 && !shape.leading:
		rows := b.prog.block / shape.columns
		return vmSink{finish: func() {}, take: func(block unsafe.Pointer, k int, _ bool, n int) {
			r.combineRows(data[T](out)[k*rows:][:n/shape.columns], view[T](block, n))
		}}
	case shape.columns > 0:
		return rowsSink(b, &r, shape.columns, (blocks+chunk-1)/chunk, out)
	}
	partial := b.partial(blocks, out)
	return vmSink{
		take:   func(block unsafe.Pointer, k int, _ bool, n int) { data[T](partial)[k] = r.row(view[T](block, n)) },
		finish: func() { data[T](out)[0] = r.row(data[T](partial)) },
	}
}

// rowsSink combines rows: every chunk has its own result, combined in order at the end.
func rowsSink[T number](b *vmBuilder, r *reduction[T], columns, chunks int, out *operand) vmSink {
	chunk := b.prog.grain
	partial := out
	if chunks > 1 {
		partial = b.partial(chunks*columns, out)
	}
	clearTo := func(acc []T) { fillWith(acc, r.identity) }
	s := vmSink{finish: func() {}}
	s.take = func(block unsafe.Pointer, k int, first bool, n int) {
		at := k / chunk * columns
		acc := data[T](partial)[at : at+columns]
		if first {
			clearTo(acc)
		}
		r.rows(acc, view[T](block, n))
	}
	if chunks > 1 {
		s.finish = func() {
			acc := data[T](out)
			clearTo(acc)
			r.rows(acc, data[T](partial))
		}
	}
	return s
}

// partial reserves memory for n elements of the result's type.
func (b *vmBuilder) partial(n int, out *operand) *operand {
	m := b.newStorage(inArena, n*out.typ.DType.Size())
	m.first, m.last = b.u.time, b.u.time
	return &operand{mem: m, typ: ir.Type{DType: out.typ.DType, Shape: ir.Shape{n}}, n: n}
}
