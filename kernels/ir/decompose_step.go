package ir

import "math"

func init() {
	decompositions[Dropout] = decomposeDropout
	decompositions[Embedding] = func(b *builder, n *Node) []Value {
		return []Value{b.op(Gather, GatherAttrs{}, n.Inputs...)}
	}
	decompositions[EmbeddingGrad] = decomposeEmbeddingGrad
	decompositions[OptimizerUpdate] = decomposeOptimizerUpdate
}

// decomposeDropout compares in integers: bits>>8 is at least Rate·2^24 exactly when it is at least that number rounded
// up.
func decomposeDropout(b *builder, n *Node) []Value {
	a := n.Attrs.(DropoutAttrs)
	x := n.Inputs[0]
	bits := b.op(RngBits, RngAttrs{b.shape(x), a.Stream}, n.Inputs[1])
	uniform := b.op(ShiftRight, nil, bits, b.like(bits, 8))
	keep := b.compare(Ge, uniform, b.like(bits, math.Ceil(a.Rate*(1<<24))))
	return []Value{b.op(Select, nil, keep, b.scale(x, 1/(1-a.Rate)), b.like(x, 0))}
}

func decomposeEmbeddingGrad(b *builder, n *Node) []Value {
	dy := b.wide(n.Inputs[2])
	zeros := b.zeros(Type{b.typ(dy).DType, b.shape(n.Inputs[0])})
	return b.narrow(n.Inputs[0], b.op(Scatter, ScatterAttrs{Kind: Sum}, zeros, n.Inputs[1], dy))
}

// decomposeOptimizerUpdate: see OptimizerAttrs for the formulas.
func decomposeOptimizerUpdate(b *builder, n *Node) []Value {
	a := n.Attrs.(OptimizerAttrs)
	in := b.wideAll(n.Inputs)
	w, g, rate, step, slots := in[0], in[1], in[2], in[3], in[4:]
	s := b.shape(w)
	all := upTo(len(s))
	gated := len(slots) > optimizerRules[a.Rule].slots
	if gated {
		g = b.div(b.convert(g, b.typ(w).DType), b.spread(slots[len(slots)-1], s, all...))
	}
	change := func() Value { return b.mul(b.spread(rate, s, all...), g) }
	momentum := func() Value { return b.sub(b.scale(slots[0], a.Values[0]), change()) }
	var out []Value
	switch a.Rule {
	case "sgd":
		out = []Value{b.sub(w, change())}
	case "momentum":
		m := momentum()
		out = []Value{b.add(w, m), m}
	case "nesterov":
		m := momentum()
		out = []Value{b.sub(b.add(w, b.scale(m, a.Values[0])), change()), m}
	case "adam":
		m := b.moveTo(slots[0], g, 1-a.Values[0])
		v := b.moveTo(slots[1], b.mul(g, g), 1-a.Values[1])
		alpha := b.div(b.mul(rate, b.op(Sqrt, nil, b.decayed(step, a.Values[1]))), b.decayed(step, a.Values[0]))
		root := b.op(Sqrt, nil, v)
		out = []Value{b.sub(w, b.div(b.mul(b.spread(alpha, s, all...), m), b.add(root, b.like(root, a.Values[2])))), m, v}
	}
	for i, old := range append([]Value{w}, slots...)[:len(out)] {
		if gated {
			out[i] = b.op(Select, nil, b.spread(slots[len(slots)-2], s, all...), out[i], old)
		}
	}
	return b.narrow(n.Inputs[0], out...)
}

// moveTo is average + share·(x - average).
func (b *builder) moveTo(average, x Value, share float64) Value {
	return b.add(average, b.scale(b.sub(x, average), share))
}

// decayed is 1 - beta^step, as -expm1(step·log(beta)): the difference itself would lose digits while beta^step is near
// 1.
func (b *builder) decayed(step Value, beta float64) Value {
	return b.op(Neg, nil, b.op(Expm1, nil, b.scale(step, math.Log(beta))))
}
