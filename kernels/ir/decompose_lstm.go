package ir

import "fmt"

func init() {
	decompositions[LstmCell] = decomposeLstmCell
	decompositions[LstmCellGrad] = decomposeLstmCellGrad
}

// lstmOperands checks the gates (..., 4·units) and the carry (..., units).
func lstmOperands(in []Type, attrs Attrs) error {
	if attrs != nil {
		return fmt.Errorf("takes no attributes, received %T", attrs)
	}
	z, c := in[0], in[1]
	rank := len(c.Shape)
	if !z.DType.IsFloat() || z.DType != c.DType || rank == 0 || len(z.Shape) != rank || !z.Shape[:rank-1].Equal(c.Shape[:rank-1]) ||
		z.Shape[rank-1] != 4*c.Shape[rank-1] {
		return fmt.Errorf("gates must be floats (..., 4·units) and the carry (..., units), received %v and %v", z, c)
	}
	return nil
}

func inferLstmCell(in []Type, attrs Attrs) ([]Type, error) {
	return []Type{in[1], in[1], in[0]}, lstmOperands(in, attrs)
}

func inferLstmCellGrad(in []Type, attrs Attrs) ([]Type, error) {
	if err := lstmOperands(in[:2], attrs); err != nil {
		return nil, err
	}
	return []Type{in[0], in[1]}, checkOperands(in[2:], in[1], in[1])
}

// gate returns gate i of four that lie side by side in the last axis.
func (b *builder) gate(v Value, i int) Value {
	s := b.shape(v)
	start, limit, stride := make([]int, len(s)), s.Clone(), make([]int, len(s))
	for k := range stride {
		stride[k] = 1
	}
	last := len(s) - 1
	units := s[last] / 4
	start[last], limit[last] = i*units, (i+1)*units
	return b.op(Slice, SliceAttrs{start, limit, stride}, v)
}

func decomposeLstmCell(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	z, c := in[0], in[1]
	input, forget := b.op(Sigmoid, nil, b.gate(z, 0)), b.op(Sigmoid, nil, b.gate(z, 1))
	candidate, output := b.op(Tanh, nil, b.gate(z, 2)), b.op(Sigmoid, nil, b.gate(z, 3))
	next := b.add(b.mul(forget, c), b.mul(input, candidate))
	gates := b.op(Concat, AxisAttrs{len(b.shape(z)) - 1}, input, forget, candidate, output)
	return b.narrow(n.Inputs[0], b.mul(output, b.op(Tanh, nil, next)), next, gates)
}

// decomposeLstmCellGrad: with t = tanh(next), the slope of sigmoid is s·(1-s) and that of tanh 1-t².
func decomposeLstmCellGrad(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	gates, c, dh, dnext := in[0], in[1], in[2], in[3]
	input, forget, candidate, output := b.gate(gates, 0), b.gate(gates, 1), b.gate(gates, 2), b.gate(gates, 3)
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
