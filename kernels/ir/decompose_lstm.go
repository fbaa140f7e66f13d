package ir

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func init() {
	decompositions[LstmCell] = decomposeLstmCell
	decompositions[LstmCellGrad] = decomposeLstmCellGrad
}

// cellOperands checks the gates (..., count·units) and the state (..., units) of a recurrent cell.
func cellOperands(gates, state Type, count int, attrs Attrs) error {
	if attrs != nil {
		return fmt.Errorf("takes no attributes, received %T", attrs)
	}
	rank := len(state.Shape)
	if !gates.DType.IsFloat() || gates.DType != state.DType || rank == 0 || len(gates.Shape) != rank ||
		!dim.ShapesMayEqual(gates.Shape[:rank-1], state.Shape[:rank-1]) || !dim.MayEqual(gates.Shape[rank-1], dim.Mul(count, state.Shape[rank-1])) {
		return fmt.Errorf("gates must be floats (..., %d·units) and the state (..., units), received %v and %v", count, gates, state)
	}
	return nil
}

func inferLstmCell(in []Type, attrs Attrs) ([]Type, error) {
	return []Type{in[1], in[1], in[0]}, cellOperands(in[0], in[1], 4, attrs)
}

func inferLstmCellGrad(in []Type, attrs Attrs) ([]Type, error) {
	if err := cellOperands(in[0], in[1], 4, attrs); err != nil {
		return nil, err
	}
	return []Type{in[0], in[1]}, checkOperands(in[2:], in[1], in[1])
}

// gate returns gate i of count gates that are side by side in the last axis.
func (b *builder) gate(v Value, i, count int) Value {
	s := b.shape(v)
	start, limit, stride := make([]int, len(s)), s.Clone(), make([]int, len(s))
	for k := range stride {
		stride[k] = 1
	}
	last := len(s) - 1
	units := dim.FloorDiv(s[last], count)
	start[last], limit[last] = dim.Mul(i, units), dim.Mul(i+1, units)
	return b.op(Slice, SliceAttrs{start, limit, stride}, v)
}

func decomposeLstmCell(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	z, c := in[0], in[1]
	input, forget := b.op(Sigmoid, nil, b.gate(z, 0, 4)), b.op(Sigmoid, nil, b.gate(z, 1, 4))
	candidate, output := b.op(Tanh, nil, b.gate(z, 2, 4)), b.op(Sigmoid, nil, b.gate(z, 3, 4))
	next := b.add(b.mul(forget, c), b.mul(input, candidate))
	gates := b.op(Concat, AxisAttrs{len(b.shape(z)) - 1}, input, forget, candidate, output)
	return b.narrow(n.Inputs[0], b.mul(output, b.op(Tanh, nil, next)), next, gates)
}

// decomposeLstmCellGrad: with t = tanh(next), the slope of sigmoid is s·(1-s) and that of tanh 1-t².
func decomposeLstmCellGrad(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	gates, c, dh, dnext := in[0], in[1], in[2], in[3]
	input, forget, candidate, output := b.gate(gates, 0, 4), b.gate(gates, 1, 4), b.gate(gates, 2, 4), b.gate(gates, 3, 4)
	one := b.like(c, 1)
	tanhSlope := func(t Value) Value { return b.sub(one, b.mul(t, t)) }
	sigmoidSlope := func(s Value) Value { return b.mul(s, b.sub(one, s)) }
	t := b.op(Tanh, nil, b.add(b.mul(forget, c), b.mul(input, candidate)))
	dc := b.add(dnext, b.mul(b.mul(dh, output), tanhSlope(t)))
	dz := b.op(Concat, AxisAttrs{len(b.shape(c)) - 1},
		b.mul(b.mul(dc, candidate), sigmoidSlope(input)), b.mul(b.mul(dc, c), sigmoidSlope(forget)),
		b.mul(b.mul(dc, input), tanhSlope(candidate)), b.mul(b.mul(dh, t), sigmoidSlope(output)))
	return b.narrow(n.Inputs[0], dz, b.mul(dc, forget))
}
