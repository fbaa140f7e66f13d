package ir

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func init() { decompositions[PackedDot] = decomposePackedDot }

//dim:known the attributes are numbers
func inferPackedDot(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(PackedDotAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if a.ByColumns {
		return inferPackedColumns(in, a)
	}
	x, w := in[0], in[1]
	last := len(x.Shape) - 1
	if !x.DType.IsFloat() || last < 0 || w.DType != Int8 || len(w.Shape) != 2 || a.Columns < 0 || a.Block < 0 || a.Bits != 0 {
		return nil, fmt.Errorf("x must be floats (..., K) and the matrix int8 (K, bytes), received %v and %v with %+v", x, w, a)
	}
	if bytes := (a.Columns + 1) / 2; !dim.MayEqual(x.Shape[last], w.Shape[0]) || !dim.MayEqual(w.Shape[1], bytes) {
		return nil, fmt.Errorf("the matrix must be (K, %d) for %d columns and x (..., K), received %v and %v", bytes, a.Columns, w, x)
	}
	out := x.Shape.Clone()
	out[last] = a.Columns
	switch {
	case a.Block == 0 && len(in) != 2, a.Block > 0 && len(in) != 4:
		return nil, fmt.Errorf("takes 4 operands if rows share scales, else 2; received %d with %+v", len(in), a)
	case a.Block == 0:
		return []Type{{x.DType, out}}, nil
	case !dim.Known(w.Shape[0]):
		return nil, fmt.Errorf("the matrix must have a known number of rows, received %v", w)
	}
	scales := Shape{(w.Shape[0] + a.Block - 1) / a.Block, a.Columns}
	return []Type{{x.DType, out}}, checkOperands(in[2:], Type{x.DType, scales}, Type{Int8, scales})
}

// inferPackedColumns is the rule for a matrix that is packed by columns.
//
//dim:known the attributes are numbers
func inferPackedColumns(in []Type, a PackedDotAttrs) ([]Type, error) {
	x, w := in[0], in[1]
	last := len(x.Shape) - 1
	if !x.DType.IsFloat() || last < 0 || w.DType != Uint8 || len(w.Shape) != 2 || a.Columns < 0 || a.Block <= 0 || a.Bits < 0 || a.Bits > 8 || len(in) != 4 {
		return nil, fmt.Errorf("x must be floats (..., K), the matrix uint8 (bytes, K) in blocks with scale and zero, received %v and %v with %+v", x, w, a)
	}
	if bytes := a.lines(); !dim.Known(w.Shape[1]) || !dim.MayEqual(x.Shape[last], w.Shape[1]) || !dim.MayEqual(w.Shape[0], bytes) {
		return nil, fmt.Errorf("the matrix must be (%d, K) for %d columns and x (..., K), received %v and %v", bytes, a.Columns, w, x)
	}
	out := x.Shape.Clone()
	out[last] = a.Columns
	scales := Shape{a.Columns, (w.Shape[1] + a.Block - 1) / a.Block}
	return []Type{{x.DType, out}}, checkOperands(in[2:], Type{x.DType, scales}, Type{Uint8, scales})
}

// lines is the number of rows of a matrix that is packed by columns.
func (a PackedDotAttrs) lines() int {
	if a.Bits > 0 {
		return a.Columns
	}
	return (a.Columns + 1) / 2
}

// decomposePackedDot unpacks the matrix, subtracts its zero points, scales it and multiplies.
//
//dim:known the matrix has a known number of rows
func decomposePackedDot(b *builder, n *Node) []Value {
	a, w := n.Attrs.(PackedDotAttrs), n.Inputs[1]
	if a.ByColumns {
		return decomposePackedColumns(b, n, a)
	}
	rows, bytes := b.shape(w)[0], b.shape(w)[1]
	four := b.like(w, 4)
	low := b.op(ShiftRight, nil, b.op(ShiftLeft, nil, w, four), four)
	high := b.op(ShiftRight, nil, w, four)
	both := b.op(Concat, AxisAttrs{2}, b.reshape(low, rows, bytes, 1), b.reshape(high, rows, bytes, 1))
	cut := func(x Value, axis, length int) Value {
		s := b.shape(x)
		start, limit, stride := make([]int, len(s)), s.Clone(), make([]int, len(s))
		for i := range stride {
			stride[i] = 1
		}
		limit[axis] = length
		return b.op(Slice, SliceAttrs{start, limit, stride}, x)
	}
	whole := cut(b.reshape(both, rows, 2*bytes), 1, a.Columns)
	in := b.wideAll([]Value{n.Inputs[0]})
	x := in[0]
	d := b.typ(x).DType
	floats := b.convert(whole, d)
	if a.Block > 0 {
		// each repeats the numbers of a block in its rows.
		each := func(v Value) Value {
			v = b.convert(v, d)
			s := b.shape(v)
			wide := b.op(Broadcast, BroadcastAttrs{Shape{s[0], a.Block, s[1]}, []int{0, 2}}, v)
			return cut(b.reshape(wide, s[0]*a.Block, s[1]), 0, rows)
		}
		floats = b.mul(b.sub(floats, each(n.Inputs[3])), each(n.Inputs[2]))
	}
	axes := DotAttrs{LhsContract: []int{len(b.shape(x)) - 1}, RhsContract: []int{0}}
	return b.narrow(n.Inputs[0], b.op(Dot, axes, x, floats))
}

// decomposePackedColumns is decomposePackedDot for a matrix that is packed by columns.
//
//dim:known the matrix has a known number of rows
func decomposePackedColumns(b *builder, n *Node, a PackedDotAttrs) []Value {
	w := n.Inputs[1]
	bytes, rows := b.shape(w)[0], b.shape(w)[1]
	cut := func(x Value, axis, length int) Value {
		s := b.shape(x)
		limit := s.Clone()
		limit[axis] = length
		return b.op(Slice, SliceAttrs{make([]int, 2), limit, []int{1, 1}}, x)
	}
	whole := w
	if a.Bits == 0 {
		low, high := b.op(BitAnd, nil, w, b.like(w, 15)), b.op(ShiftRight, nil, w, b.like(w, 4))
		both := b.op(Concat, AxisAttrs{1}, b.reshape(low, bytes, 1, rows), b.reshape(high, bytes, 1, rows))
		whole = cut(b.reshape(both, 2*bytes, rows), 0, a.Columns)
	}
	x := b.wideAll([]Value{n.Inputs[0]})[0]
	d := b.typ(x).DType
	each := func(v Value) Value { // the numbers of a block in its rows
		v = b.convert(v, d)
		s := b.shape(v)
		wide := b.op(Broadcast, BroadcastAttrs{Shape{s[0], s[1], a.Block}, []int{0, 1}}, v)
		return cut(b.reshape(wide, s[0], s[1]*a.Block), 1, rows)
	}
	floats := b.mul(b.sub(b.convert(whole, d), each(n.Inputs[3])), each(n.Inputs[2]))
	axes := DotAttrs{LhsContract: []int{len(b.shape(x)) - 1}, RhsContract: []int{1}}
	return []Value{b.narrow(n.Inputs[0], b.op(Dot, axes, x, floats))[0]}
}
