package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// vmSink is a compiled sink. take adds block k of one or two pointers; it is told whether the block is the first of its
// chunk. finish combines the chunks.
type vmSink struct {
	ptr    uint8
	other  uint8
	take   func(p, q unsafe.Pointer, k int, first bool, n int)
	finish func()
}

// readLast reports whether a sink reads the pointer's value.
func (b *vmBuilder) readLast(ptr uint8) bool {
	return slices.ContainsFunc(b.prog.sinks, func(s vmSink) bool { return s.ptr == ptr || s.other == ptr }) ||
		slices.ContainsFunc(b.prog.places, func(p vmPlace) bool { return slices.Contains(p.parts, ptr) })
}

// compileSink adds the sink that computes reduction node i.
func (b *vmBuilder) compileSink(i int) {
	n := &b.Program.Nodes[i]
	if product := b.dots[i]; product != nil {
		b.compileDotSink(n, product)
		return
	}
	var s vmSink
	switch b.Program.Type(n.Inputs[0]).DType {
	case ir.Float32:
		s = newSink[float32](b, n)
	case ir.Float64:
		s = newSink[float64](b, n)
	default:
		s = integerSink(b, n)
	}
	s.ptr = b.ptrOf[b.SinkOperand(i)]
	s.other = s.ptr
	b.prog.sinks = append(b.prog.sinks, s)
}

func newSink[T block.Float](b *vmBuilder, n *ir.Node) vmSink {
	r := reductionOf[T](n.Attrs.(ir.ReduceAttrs).Kind)
	out := &b.Operands[n.Outputs[0]]
	shape, _ := b.SinkOf(n)
	blocks := b.prog.blocks()
	chunk := b.prog.grain
	switch {
	case shape.Columns > fuse.MaxColumns:
		partial := b.partial(blocks, out)
		return vmSink{
			take:   func(p, _ unsafe.Pointer, k int, _ bool, n int) { plan.Data[T](partial)[k] = r.row(block.View[T](p, n)) },
			finish: func() { r.combineRows(plan.Data[T](out), plan.Data[T](partial)) },
		}
	case shape.Columns > 0 && !shape.Leading:
		rows := b.prog.block / shape.Columns
		return vmSink{finish: func() {}, take: func(p, _ unsafe.Pointer, k int, _ bool, n int) {
			r.combineRows(plan.Data[T](out)[k*rows:][:n/shape.Columns], block.View[T](p, n))
		}}
	case shape.Columns > 0:
		return rowsSink(b, &r, shape.Columns, (blocks+chunk-1)/chunk, out)
	}
	partial := b.partial(blocks, out)
	return vmSink{
		take:   func(p, _ unsafe.Pointer, k int, _ bool, n int) { plan.Data[T](partial)[k] = r.row(block.View[T](p, n)) },
		finish: func() { plan.Data[T](out)[0] = r.row(plan.Data[T](partial)) },
	}
}

// rowsSink reduces leading axes: it combines whole rows. Each chunk has its own result, and the chunks are combined in
// order at the end.
func rowsSink[T block.Float](b *vmBuilder, r *reduction[T], columns, chunks int, out *plan.Operand) vmSink {
	chunk := b.prog.grain
	partial := out
	if chunks > 1 {
		partial = b.partial(chunks*columns, out)
	}
	clearTo := func(acc []T) { fillWith(acc, r.identity) }
	s := vmSink{finish: func() {}}
	s.take = func(p, _ unsafe.Pointer, k int, first bool, n int) {
		at := k / chunk * columns
		acc := plan.Data[T](partial)[at : at+columns]
		if first {
			clearTo(acc)
		}
		r.rows(acc, block.View[T](p, n))
	}
	if chunks > 1 {
		s.finish = func() {
			acc := plan.Data[T](out)
			clearTo(acc)
			r.rows(acc, plan.Data[T](partial))
		}
	}
	return s
}

// partial reserves memory for n elements of the result's type.
//
//go:noinline
func (b *vmBuilder) partial(n int, out *plan.Operand) *plan.Operand {
	m := b.NewStorage(plan.InArena, n*out.Typ.DType.Size())
	m.First, m.Last = b.u.Time, b.u.Time
	return &plan.Operand{Mem: m, Typ: ir.Type{DType: out.Typ.DType, Shape: ir.Shape{n}}, N: n}
}
