package ir

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func init() { decompositions[PackedEmbedding] = decomposePackedEmbedding }

//dim:known the attributes are numbers
func inferPackedEmbedding(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(PackedEmbeddingAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	table, ids, scale := in[0], in[1], in[2]
	if table.DType != Int8 || len(table.Shape) != 2 || !ids.DType.IsInteger() || !scale.DType.IsFloat() || a.Columns < 0 || a.Block < 0 || a.Bits != 4 && (a.Bits != 8 || a.Block > 0) {
		return nil, fmt.Errorf("table must be int8 (rows, bytes), indices integers and scale floats, received %v, %v and %v with %+v", table, ids, scale, a)
	}
	if bytes := (a.Columns*a.Bits + 7) / 8; !dim.MayEqual(table.Shape[1], bytes) {
		return nil, fmt.Errorf("the table must be (rows, %d) for %d columns of %d bits, received %v", bytes, a.Columns, a.Bits, table)
	}
	shape := gatherShape(table.Shape, ids.Shape, 0)
	shape[len(shape)-1] = a.Columns
	out := []Type{{scale.DType, shape}}
	if a.Block == 0 {
		if len(in) != 3 {
			return nil, fmt.Errorf("takes 3 operands without blocks, received %d", len(in))
		}
		return out, checkOperands(in[2:], Type{scale.DType, Shape{table.Shape[0]}})
	}
	if len(in) != 4 {
		return nil, fmt.Errorf("takes 4 operands with blocks of %d, received %d", a.Block, len(in))
	}
	scales := Shape{table.Shape[0], (a.Columns + a.Block - 1) / a.Block}
	return out, checkOperands(in[2:], Type{scale.DType, scales}, Type{Int8, scales})
}

// decomposePackedEmbedding looks up the rows, their scales and zero points, unpacks the rows and scales them.
//
//dim:known the attributes are numbers
func decomposePackedEmbedding(b *builder, n *Node) []Value {
	a, ids := n.Attrs.(PackedEmbeddingAttrs), n.Inputs[1]
	look := func(v Value) Value { return b.op(Gather, GatherAttrs{}, v, ids) }
	rows, scale := look(n.Inputs[0]), b.wide(look(n.Inputs[2]))
	lead := b.shape(ids)
	last, d := len(lead), b.typ(scale).DType
	cut := func(x Value, length int) Value { // the last axis
		if b.shape(x)[last] == length {
			return x
		}
		s := b.shape(x)
		start, limit, stride := make([]int, len(s)), s.Clone(), make([]int, len(s))
		for i := range stride {
			stride[i] = 1
		}
		limit[last] = length
		return b.op(Slice, SliceAttrs{start, limit, stride}, x)
	}
	with := func(more ...int) []int { return append(lead.Clone(), more...) }
	if a.Bits == 4 {
		bytes := b.shape(rows)[last]
		four := b.like(rows, 4)
		low := b.op(ShiftRight, nil, b.op(ShiftLeft, nil, rows, four), four)
		high := b.op(ShiftRight, nil, rows, four)
		both := b.op(Concat, AxisAttrs{last + 1}, b.reshape(low, with(bytes, 1)...), b.reshape(high, with(bytes, 1)...))
		rows = cut(b.reshape(both, with(2*bytes)...), a.Columns)
	}
	floats := b.convert(rows, d)
	axes := make([]int, last)
	for i := range axes {
		axes[i] = i
	}
	if a.Block == 0 {
		factor := b.div(b.like(scale, 1), scale)
		return b.narrow(n.Inputs[2], b.mul(floats, b.op(Broadcast, BroadcastAttrs{with(a.Columns), axes}, factor)))
	}
	each := func(v Value) Value { // the numbers of a block for its columns
		blocks := b.shape(v)[last]
		wide := b.op(Broadcast, BroadcastAttrs{with(blocks, a.Block), append(axes[:last:last], last)}, v)
		return cut(b.reshape(wide, with(blocks*a.Block)...), a.Columns)
	}
	zero := b.convert(look(n.Inputs[3]), d)
	return b.narrow(n.Inputs[2], b.mul(b.sub(floats, each(zero)), each(scale)))
}
