package kernelstest

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// trainingStep builds one whole training step of a small convolutional classifier in p, as a model would be traced:
// forward, loss, backward, and updates that replace the variables.
func trainingStep(p program, d *draft) []reference.Value {
	const batch, classes = 4, 5
	x, labels, rate, step, state := p.in(ir.Float32, batch, 8, 8, 2), p.in(ir.Int32, batch), p.in(ir.Float32), p.in(ir.Float32), p.in(ir.Uint32, 4)
	inputs := []reference.Value{
		d.normal(ir.Float32, batch, 8, 8, 2), d.below(ir.Int32, classes, batch), value(ir.Float32, nil, func(int) float64 { return 0.05 }), value(ir.Float32, nil, func(int) float64 { return 3 }), d.extremes(ir.Uint32, 4),
	}
	variable := func(v reference.Value) ir.Value {
		inputs = append(inputs, v)
		return p.in(v.Type.DType, v.Type.Shape...)
	}
	kernel, gamma, beta := variable(d.normal(ir.Float32, 3, 3, 2, 6)), variable(d.positive(ir.Float32, 6)), variable(d.normal(ir.Float32, 6))
	weights, bias := variable(d.normal(ir.Float32, 96, classes)), variable(d.normal(ir.Float32, classes))

	same := conv(one2, one2, one2, one2, 1)
	window := ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: none2, PadHigh: none2}
	norm, drop := ir.NormAttrs{Epsilon: 1e-3}, ir.DropoutAttrs{Rate: 0.25, Stream: 1}
	spread := ir.BroadcastAttrs{Shape: ir.Shape{batch, classes}, Axes: []int{1}}

	z := p.op(ir.Conv, same, x, kernel)
	normed := p.ops(ir.BatchNorm, norm, z, gamma, beta)
	active := p.op(ir.Relu, nil, normed[0])
	pooled := p.op(ir.MaxPool, window, active)
	flat := p.op(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{batch, 96}}, pooled)
	kept := p.op(ir.Dropout, drop, flat, state)
	logits := p.op(ir.Add, nil, p.op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, kept, weights), p.op(ir.Broadcast, spread, bias))
	loss := p.ops(ir.SparseSoftmaxCrossEntropy, nil, logits, labels)

	dlogits := p.op(ir.SparseSoftmaxCrossEntropyGrad, nil, logits, labels, loss[1], p.constant(ir.Float32, 1.0/batch, batch))
	dbias := p.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, dlogits)
	dweights := p.op(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, kept, dlogits)
	dkept := p.op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, dlogits, weights)
	dflat := p.op(ir.Dropout, drop, dkept, state)
	dpooled := p.op(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{batch, 4, 4, 6}}, dflat)
	dactive := p.op(ir.MaxPoolGrad, window, active, pooled, dpooled)
	zero := p.constant(ir.Float32, 0, batch, 8, 8, 6)
	dnormed := p.op(ir.Select, nil, p.op(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, active, zero), dactive, zero)
	dz := p.ops(ir.BatchNormGrad, norm, z, gamma, normed[1], normed[2], dnormed)
	dkernel := p.op(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: same, Shape: ir.Shape{3, 3, 2, 6}}, x, dz[0])

	p.AddOutput("loss", p.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, loss[0]))
	for _, update := range []struct{ w, g ir.Value }{{kernel, dkernel}, {gamma, dz[1]}, {beta, dz[2]}, {weights, dweights}, {bias, dbias}} {
		shape := p.Type(update.w).Shape
		slot := d.normal(ir.Float32, shape...)
		m := variable(slot)
		next := p.ops(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "momentum", Values: []float64{0.9}}, update.w, update.g, rate, step, m)
		p.AddAlias("w", next[0], p.number(update.w))
		p.AddAlias("m", next[1], p.number(m))
	}
	p.AddAlias("step", p.op(ir.Add, nil, step, p.constant(ir.Float32, 1)), p.number(step))
	return inputs
}

// number is the index of a value among the inputs.
func (p program) number(v ir.Value) int {
	for i, in := range p.Inputs {
		if in.Value == v {
			return i
		}
	}
	panic("kernelstest: not an input")
}
