package ir

import "github.com/gokeras/gokeras/kernels/ir/dim"

func init() { decompositions[RnnScan] = decomposeRnnScan }

// decomposeRnnScan runs one cell step as the body of a Scan over time. The scan carries the states and, where a masked
// step repeats it, the previous output; x and the mask are its stacked inputs, the recurrent kernel and bias its
// constants.
func decomposeRnnScan(b *builder, n *Node) []Value {
	a := n.Attrs.(RnnAttrs)
	_, stateCount, hasBias, err := RnnCell(a.Cell)
	if err != nil {
		panic(buildError{err})
	}
	x, constants, rest := n.Inputs[0], n.Inputs[1:2], n.Inputs[2:]
	if hasBias {
		constants, rest = n.Inputs[1:3], n.Inputs[3:]
	}
	carry := append([]Value{}, rest[:stateCount]...)
	if a.repeats() {
		carry = append(carry, b.like(carry[0], 0))
	}
	xs := []Value{b.transpose(x, 1, 0, 2)}
	if a.Masked {
		xs = append(xs, b.transpose(rest[stateCount], 1, 0))
	}
	inputs := append(append(append([]Value{}, carry...), xs...), constants...)
	body := rnnBody(b, a, stateCount, len(carry), len(xs), inputs)
	scan := ScanAttrs{Body: body, Length: b.shape(x)[1], Carry: len(carry), Xs: len(xs), Reverse: a.Reverse}
	out := b.ops(Scan, scan, inputs...)
	return append([]Value{b.transpose(out[len(carry)], 1, 0, 2)}, out[:stateCount]...)
}

// repeats reports whether a masked step repeats the previous output.
func (a RnnAttrs) repeats() bool { return a.Masked && !a.ZeroOutputForMask }

// rnnBody returns one step as a program for Scan.
func rnnBody(outer *builder, a RnnAttrs, stateCount, carryCount, xsCount int, inputs []Value) *Program {
	b := &builder{New("rnn_step"), outer.scope}
	in := make([]Value, len(inputs))
	for i, v := range inputs {
		t := outer.typ(v)
		if i >= carryCount && i < carryCount+xsCount {
			t.Shape = t.Shape[1:]
		}
		in[i] = b.p.AddInput("", t)
	}
	states, x, constants := in[:stateCount], in[carryCount], in[carryCount+xsCount:]
	next := b.rnnCell(a, x, states, constants)
	y := next[0]
	if a.Masked {
		shape := b.shape(states[0])
		keep := b.spread(in[carryCount+1], shape, 1)
		skipped := b.zeros(b.typ(y))
		if a.repeats() {
			skipped = in[stateCount]
		}
		y = b.op(Select, nil, keep, y, skipped)
		for i := range next {
			next[i] = b.op(Select, nil, keep, next[i], states[i])
		}
	}
	if a.repeats() {
		next = append(next, y)
	}
	for _, v := range append(next, y) {
		b.p.AddOutput("", v)
	}
	return b.p
}

// rnnCell returns the next states; see RnnAttrs for the formulas. constants are the recurrent kernel and, for gru, the
// recurrent bias.
func (b *builder) rnnCell(a RnnAttrs, x Value, states, constants []Value) []Value {
	h, kernel := states[0], constants[0]
	units := b.shape(h)[1]
	activation := func(v Value) Value { return activations[a.Activation](b, v) }
	recurrent := func(v Value) Value { return activations[a.RecurrentActivation](b, v) }
	product := func(l, r Value) Value {
		return b.op(Dot, DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, l, r)
	}
	blocks := func(v Value, from, to int) Value { // columns of the gates from, ..., to-1
		s := b.shape(v)
		return b.op(Slice, SliceAttrs{[]int{0, dim.Mul(from, units)}, []int{s[0], dim.Mul(to, units)}, []int{1, 1}}, v)
	}
	mix := func(z, candidate Value) Value { // z∘h + (1-z)∘candidate
		return b.add(b.mul(z, h), b.mul(b.sub(b.like(z, 1), z), candidate))
	}
	switch a.Cell {
	case "simple":
		return []Value{activation(b.add(x, product(h, kernel)))}
	case "lstm":
		z := b.add(x, product(h, kernel))
		input, forget, output := recurrent(blocks(z, 0, 1)), recurrent(blocks(z, 1, 2)), recurrent(blocks(z, 3, 4))
		c := b.add(b.mul(forget, states[1]), b.mul(input, activation(blocks(z, 2, 3))))
		return []Value{b.mul(output, activation(c)), c}
	case "gru":
		inner := b.add(product(h, kernel), b.spread(constants[1], b.shape(x), 0))
		gates := recurrent(b.add(blocks(x, 0, 2), blocks(inner, 0, 2)))
		candidate := activation(b.add(blocks(x, 2, 3), b.mul(blocks(gates, 1, 2), blocks(inner, 2, 3))))
		return []Value{mix(blocks(gates, 0, 1), candidate)}
	}
	gates := recurrent(b.add(blocks(x, 0, 2), product(h, blocks(kernel, 0, 2)))) // gru_reset_before
	candidate := activation(b.add(blocks(x, 2, 3), product(b.mul(blocks(gates, 1, 2), h), blocks(kernel, 2, 3))))
	return []Value{mix(blocks(gates, 0, 1), candidate)}
}
