package ir

func init() {
	decompositions[Exp2] = func(b *builder, n *Node) []Value { return []Value{b.op(Pow, nil, b.like(n.Inputs[0], 2), n.Inputs[0])} }
}
