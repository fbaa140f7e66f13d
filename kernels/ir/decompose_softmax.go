package ir

func init() {
	decompositions[Softmax] = decomposeSoftmax
	decompositions[SoftmaxGrad] = decomposeSoftmaxGrad
	decompositions[LogSoftmax] = decomposeLogSoftmax
	decompositions[LogSoftmaxGrad] = decomposeLogSoftmaxGrad
	decompositions[SparseSoftmaxCrossEntropy] = decomposeSparseXent
	decompositions[SparseSoftmaxCrossEntropyGrad] = decomposeSparseXentGrad
}

// lastAxis is the number of the last axis of v.
func (b *builder) lastAxis(v Value) int { return len(b.shape(v)) - 1 }

// belowMax returns the maximum of x along its last axis and x minus it, which keeps exp from overflowing.
func (b *builder) belowMax(x Value) (largest, shifted Value) {
	last := b.lastAxis(x)
	largest = b.reduce(Max, x, last)
	return largest, b.sub(x, b.spread(largest, b.shape(x), last))
}

func decomposeSoftmax(b *builder, n *Node) []Value {
	x := b.wide(n.Inputs[0])
	last := b.lastAxis(x)
	_, shifted := b.belowMax(x)
	e := b.op(Exp, nil, shifted)
	return b.narrow(n.Inputs[0], b.div(e, b.spread(b.reduce(Sum, e, last), b.shape(x), last)))
}

// decomposeSoftmaxGrad: dx = y·(dy - Σ y·dy).
func decomposeSoftmaxGrad(b *builder, n *Node) []Value {
	y, dy := b.wide(n.Inputs[0]), b.wide(n.Inputs[1])
	last := b.lastAxis(y)
	sum := b.reduce(Sum, b.mul(y, dy), last)
	return b.narrow(n.Inputs[0], b.mul(y, b.sub(dy, b.spread(sum, b.shape(y), last))))
}

func decomposeLogSoftmax(b *builder, n *Node) []Value {
	x := b.wide(n.Inputs[0])
	last := b.lastAxis(x)
	_, shifted := b.belowMax(x)
	logSum := b.op(Log, nil, b.reduce(Sum, b.op(Exp, nil, shifted), last))
	return b.narrow(n.Inputs[0], b.sub(shifted, b.spread(logSum, b.shape(x), last)))
}

// decomposeLogSoftmaxGrad: dx = dy - exp(y)·Σ dy.
func decomposeLogSoftmaxGrad(b *builder, n *Node) []Value {
	y, dy := b.wide(n.Inputs[0]), b.wide(n.Inputs[1])
	last := b.lastAxis(y)
	sum := b.spread(b.reduce(Sum, dy, last), b.shape(y), last)
	return b.narrow(n.Inputs[0], b.sub(dy, b.mul(b.op(Exp, nil, y), sum)))
}

// oneHot compares labels with the class numbers of logits (..., classes). The labels pass through a Gather from 0, 1,
// 2, ..., which changes nothing but reports labels that are not classes.
func (b *builder) oneHot(logits, labels Value) Value {
	s := b.shape(logits)
	last := len(s) - 1
	classes := b.op(Iota, IotaAttrs{Type{Int32, Shape{s[last]}}, 0})
	checked := b.op(Gather, GatherAttrs{}, classes, labels)
	return b.compare(Eq, b.op(Iota, IotaAttrs{Type{Int32, s}, last}), b.spread(checked, s, last))
}

func decomposeSparseXent(b *builder, n *Node) []Value {
	x := b.wide(n.Inputs[0])
	last := b.lastAxis(x)
	largest, shifted := b.belowMax(x)
	logSum := b.op(Log, nil, b.reduce(Sum, b.op(Exp, nil, shifted), last))
	// loss = log Σ exp(x-max) - (x_label-max): the maximum cancels before anything is rounded
	picked := b.reduce(Sum, b.op(Select, nil, b.oneHot(x, n.Inputs[1]), shifted, b.like(x, 0)), last)
	return b.narrow(n.Inputs[0], b.sub(logSum, picked), b.add(largest, logSum))
}

// decomposeSparseXentGrad: dlogits = (exp(logits - logsumexp) - onehot)·dloss.
func decomposeSparseXentGrad(b *builder, n *Node) []Value {
	x, total, dloss := b.wide(n.Inputs[0]), b.wide(n.Inputs[2]), b.wide(n.Inputs[3])
	s := b.shape(x)
	last := len(s) - 1
	p := b.op(Exp, nil, b.sub(x, b.spread(total, s, last)))
	target := b.convert(b.oneHot(x, n.Inputs[1]), b.typ(x).DType)
	return b.narrow(n.Inputs[0], b.mul(b.sub(p, target), b.spread(dloss, s, last)))
}
