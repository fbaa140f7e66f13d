package ir

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func init() { decompositions[Eliminate] = decomposeEliminate }

func inferEliminate(in []Type, attrs Attrs) ([]Type, error) {
	if attrs != nil {
		return nil, fmt.Errorf("takes no attributes, received %T", attrs)
	}
	a, b := in[0], in[1]
	rank := len(a.Shape)
	if !a.DType.IsFloat() || a.DType != b.DType || rank < 2 || len(b.Shape) != rank || !dim.ShapesMayEqual(a.Shape[:rank-1], b.Shape[:rank-1]) ||
		!dim.MayEqual(a.Shape[rank-1], a.Shape[rank-2]) {
		return nil, fmt.Errorf("needs floats (..., n, n) and (..., n, m), received %v and %v", a, b)
	}
	one := Type{a.DType, a.Shape[:rank-2].Clone()}
	return []Type{b, one, one}, nil
}

// decomposeEliminate is Gauss-Jordan elimination: a Scan over the columns of a, with the largest element of the column
// as pivot.
func decomposeEliminate(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	s, right := b.shape(in[0]), b.shape(in[1])
	rank, size := len(s), s[len(s)-1]
	one := Type{b.typ(in[0]).DType, s[:rank-2].Clone()}
	ones := b.op(Constant, ConstantAttrs{Scalar(one.DType, 1, one.Shape...)})
	if size == 0 {
		return b.narrow(n.Inputs[0], in[1], ones, b.zeros(one))
	}
	whole := in[0]
	if right[rank-1] != 0 {
		whole = b.op(Concat, AxisAttrs{rank - 1}, in[0], in[1])
	}
	columns := b.op(Iota, IotaAttrs{Type{Int32, Shape{size}}, 0})
	carry := []Value{whole, ones, b.zeros(one)}
	body := eliminateBody(b, carry, size, right[rank-1] == 0)
	out := b.ops(Scan, ScanAttrs{Body: body, Length: size, Carry: 3, Xs: 1}, append(carry, columns)...)
	start, limit, stride := make([]int, rank), b.shape(whole).Clone(), make([]int, rank)
	for i := range stride {
		stride[i] = 1
	}
	start[rank-1] = size
	return b.narrow(n.Inputs[0], b.op(Slice, SliceAttrs{start, limit, stride}, out[0]), out[1], out[2])
}

// eliminateBody is the step for column k of a whole matrix (..., size, size + more). Alone means that there are only
// the columns of a.
func eliminateBody(outer *builder, carry []Value, size int, alone bool) *Program {
	b := &builder{New("eliminate_column"), outer.scope}
	m, sign, logarithm := b.p.AddInput("", outer.typ(carry[0])), b.p.AddInput("", outer.typ(carry[1])), b.p.AddInput("", outer.typ(carry[2]))
	k := b.p.AddInput("", Type{Int32, Shape{}})
	s := b.shape(m)
	rank := len(s)
	vector := append(s[:rank-2].Clone(), size)
	row := b.spread(b.op(Iota, IotaAttrs{Type{Int32, Shape{size}}, 0}), vector, upTo(rank-2)...)
	column := b.spread(k, vector, upTo(rank-1)...)
	overLines := func(v Value) Value { return b.spread(v, s, rank-1) } // a number for each row
	square := append(vector.Clone(), size)
	left := m
	if !alone {
		stride := make([]int, rank)
		for i := range stride {
			stride[i] = 1
		}
		left = b.op(Slice, SliceAttrs{make([]int, rank), square, stride}, m)
	}
	isK := b.compare(Eq, row, column)
	c := b.reduce(Sum, b.op(Select, nil, b.spread(isK, square, rank-2), left, b.zeros(b.typ(left))), rank-1)
	zero := b.zeros(b.typ(c))
	p := b.op(ArgMax, AxisAttrs{rank - 2}, b.op(Select, nil, b.compare(Lt, row, column), b.like(c, -1), b.op(Abs, nil, c)))
	isP := b.compare(Eq, row, b.spread(p, vector, rank-2))
	element := func(which Value) Value { return b.reduce(Sum, b.op(Select, nil, which, c, zero), rank-2) }
	line := func(which Value) Value {
		return b.reduce(Sum, b.op(Select, nil, overLines(which), m, b.zeros(b.typ(m))), rank-2)
	}
	pivot := element(isP)
	moved := b.compare(Ne, p, b.spread(k, b.shape(p), upTo(rank-2)...))
	sign = b.mul(sign, b.mul(b.op(Sign, nil, pivot), b.op(Select, nil, moved, b.like(pivot, -1), b.like(pivot, 1))))
	logarithm = b.add(logarithm, b.op(Log, nil, b.op(Abs, nil, pivot)))
	// The row of the pivot is exchanged with row k and divided by the pivot; its multiples are subtracted from all
	// other rows.
	divisor := pivot
	if alone { // a pivot of 0 already determines the determinant, and must not make the rest NaN
		divisor = b.op(Select, nil, b.compare(Eq, pivot, b.like(pivot, 0)), b.like(pivot, 1), pivot)
	}
	top := line(isP)
	top = b.spread(b.div(top, b.spread(divisor, b.shape(top), rank-2)), s, rank-2)
	swapped := b.op(Select, nil, overLines(isP), b.spread(line(isK), s, rank-2), m)
	factor := b.op(Select, nil, isP, b.spread(element(isK), vector, rank-2), c)
	next := b.op(Select, nil, overLines(isK), top, b.sub(swapped, b.mul(overLines(factor), top)))
	for _, v := range []Value{next, sign, logarithm} {
		b.p.AddOutput("", v)
	}
	return b.p
}
