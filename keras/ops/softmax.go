package ops

import "github.com/gokeras/gokeras/kernels/ir"

// Softmax returns exp(x) / sum(exp(x)) along axis. The largest element is subtracted first, so that nothing overflows.
func Softmax(x *Tensor, axis int) *Tensor {
	return lastAxis(float(x), axis, func(x *Tensor) *Tensor { return apply1(ir.Softmax, nil, x) })
}

// LogSoftmax returns x - ln(sum(exp(x))) along axis. The largest element is subtracted first.
func LogSoftmax(x *Tensor, axis int) *Tensor {
	return lastAxis(float(x), axis, func(x *Tensor) *Tensor { return apply1(ir.LogSoftmax, nil, x) })
}

// lastAxis runs f, which works along the last axis and keeps the shape, along another axis.
func lastAxis(x *Tensor, axis int, f func(*Tensor) *Tensor) *Tensor {
	axis = x.Axis(axis)
	if axis == x.Rank()-1 {
		return f(x).WithMask(x.mask)
	}
	// The other axes keep their order, so that everything behind the axis moves as one block.
	return MoveAxis(f(MoveAxis(x, axis, -1)), -1, axis).WithMask(x.mask)
}

// SparseSoftmaxCrossEntropy returns -ln(softmax(logits)[label]) for each row of logits (..., classes). Labels are
// integers in [0, classes), with the shape of logits without the last axis. A label outside is an error when the
// program runs.
func SparseSoftmaxCrossEntropy(logits, labels *Tensor) *Tensor {
	if !labels.DType().IsInteger() {
		Failf(graphOf(logits, labels), "sparse softmax cross-entropy: labels must be integers (class numbers), received %v; cast them first", labels.Type())
	}
	return apply(ir.SparseSoftmaxCrossEntropy, nil, float(logits), labels)[0]
}

func init() {
	rules[ir.Softmax] = func(c *vjp) []*Tensor {
		return []*Tensor{apply1(ir.SoftmaxGrad, nil, c.out(0), c.dy(0))}
	}
	// SoftmaxGrad is y∘(dy - Σ y·dy): symmetric in dy, so its gradient there is itself.
	rules[ir.SoftmaxGrad] = func(c *vjp) []*Tensor {
		y, dy, d := c.in(0), c.in(1), c.dy(0)
		return c.each(
			func() *Tensor {
				return Subtract(Multiply(d, Subtract(dy, sumLast(Multiply(y, dy)))), Multiply(dy, sumLast(Multiply(d, y))))
			},
			func() *Tensor { return apply1(ir.SoftmaxGrad, nil, y, d) })
	}
	rules[ir.LogSoftmax] = func(c *vjp) []*Tensor {
		return []*Tensor{apply1(ir.LogSoftmaxGrad, nil, c.out(0), c.dy(0))}
	}
	// LogSoftmaxGrad is dy - exp(y)∘Σ dy.
	rules[ir.LogSoftmaxGrad] = func(c *vjp) []*Tensor {
		y, dy, d := c.in(0), c.in(1), c.dy(0)
		weighted := Multiply(d, Exp(y))
		return c.each(
			func() *Tensor { return Negative(Multiply(weighted, sumLast(dy))) },
			func() *Tensor { return Subtract(d, sumLast(weighted)) })
	}
	rules[ir.SparseSoftmaxCrossEntropy] = crossEntropyRule
	rules[ir.SparseSoftmaxCrossEntropyGrad] = crossEntropyGradRule
}

// sumLast sums over the last axis and keeps it.
func sumLast(x *Tensor) *Tensor { return KeepDims(Sum(x, -1), x, -1) }

// crossEntropyRule: the loss has its own gradient op; the slope of logsumexp is the softmax.
func crossEntropyRule(c *vjp) []*Tensor {
	logits, labels, lse := c.in(0), c.in(1), c.out(1)
	var grad *Tensor
	if c.dys[0] != nil {
		grad = apply1(ir.SparseSoftmaxCrossEntropyGrad, nil, logits, labels, lse, c.dy(0))
	}
	if c.dys[1] != nil {
		p := Exp(Subtract(logits, ExpandDims(lse, -1)))
		grad = sumOf(grad, Multiply(p, ExpandDims(c.dy(1), -1)))
	}
	return []*Tensor{grad, nil}
}

// crossEntropyGradRule differentiates (exp(logits - logsumexp) - onehot) · dloss.
func crossEntropyGradRule(c *vjp) []*Tensor {
	logits, labels, lse, dloss, d := c.in(0), c.in(1), c.in(2), c.in(3), c.dy(0)
	p := Exp(Subtract(logits, ExpandDims(lse, -1)))
	scaled := Multiply(Multiply(d, p), ExpandDims(dloss, -1))
	return c.each(
		func() *Tensor { return scaled },
		nil,
		func() *Tensor { return Negative(Sum(scaled, -1)) },
		func() *Tensor {
			return Sum(Multiply(d, Subtract(p, OneHot(labels, logits.Dim(-1), logits.DType()))), -1)
		})
}
