package ir

func init() {
	decompositions[GruCell] = decomposeGruCell
	decompositions[GruCellGrad] = decomposeGruCellGrad
}

func inferGruCell(in []Type, attrs Attrs) ([]Type, error) {
	if err := cellOperands(in[0], in[2], 3, attrs); err != nil {
		return nil, err
	}
	return []Type{in[2], in[0]}, checkOperands(in, in[0], in[0])
}

func inferGruCellGrad(in []Type, attrs Attrs) ([]Type, error) {
	if err := cellOperands(in[0], in[2], 3, attrs); err != nil {
		return nil, err
	}
	return []Type{in[0], in[0], in[2]}, checkOperands(in, in[0], in[0], in[2], in[2])
}

func decomposeGruCell(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	x, u, h := in[0], in[1], in[2]
	update := b.op(Sigmoid, nil, b.add(b.gate(x, 0, 3), b.gate(u, 0, 3)))
	reset := b.op(Sigmoid, nil, b.add(b.gate(x, 1, 3), b.gate(u, 1, 3)))
	candidate := b.op(Tanh, nil, b.add(b.gate(x, 2, 3), b.mul(reset, b.gate(u, 2, 3))))
	next := b.add(b.mul(update, h), b.mul(b.sub(b.like(update, 1), update), candidate))
	return b.narrow(n.Inputs[0], next, b.op(Concat, AxisAttrs{len(b.shape(x)) - 1}, update, reset, candidate))
}

// decomposeGruCellGrad: the slope of sigmoid is s·(1-s) and that of tanh 1-t².
func decomposeGruCellGrad(b *builder, n *Node) []Value {
	in := b.wideAll(n.Inputs)
	gates, u, h, dnext := in[0], in[1], in[2], in[3]
	update, reset, candidate := b.gate(gates, 0, 3), b.gate(gates, 1, 3), b.gate(gates, 2, 3)
	one := b.like(h, 1)
	rest := b.sub(one, update)
	dUpdate := b.mul(b.mul(dnext, b.sub(h, candidate)), b.mul(update, rest))
	dCandidate := b.mul(b.mul(dnext, rest), b.sub(one, b.mul(candidate, candidate)))
	dReset := b.mul(b.mul(dCandidate, b.gate(u, 2, 3)), b.mul(reset, b.sub(one, reset)))
	axis := AxisAttrs{len(b.shape(h)) - 1}
	dx := b.op(Concat, axis, dUpdate, dReset, dCandidate)
	du := b.op(Concat, axis, dUpdate, dReset, b.mul(dCandidate, reset))
	return b.narrow(n.Inputs[0], dx, du, b.mul(dnext, update))
}
