package ops

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// OptimizerUpdate runs one of the update rules of ir.OptimizerAttrs as one fused operation: it returns the new weights
// and the new slots. gradient and slots have the type of the weights w; learningRate and step (1 for the first update)
// are scalars of their element type.
func OptimizerUpdate(rule string, values []float64, w, gradient, learningRate, step *Tensor, slots ...*Tensor) (weights *Tensor, newSlots []*Tensor) {
	in := append([]*Tensor{w, gradient, Cast(learningRate, w.DType()), Cast(step, w.DType())}, slots...)
	out := apply(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: rule, Values: slices.Clone(values)}, in...)
	return out[0], out[1:]
}

// RnnScan runs a recurrent layer over time as one fused operation; ir.RnnAttrs has the formulas. x is the inputs' share
// (batch, steps, gates·units), recurrent the recurrent kernel (units, gates·units), bias the recurrent bias
// (gates·units) of the cell "gru" and nil for others, states the first states (batch, units), mask nil or bool (batch,
// steps). It returns the results of the steps (batch, steps, units) and the last states.
//
// The gradient goes through the decomposition into a loop, which repeats the forward pass. So build layers that train
// with [Scan] instead.
func RnnScan(attrs ir.RnnAttrs, x, recurrent, bias *Tensor, states []*Tensor, mask *Tensor) (ys *Tensor, last []*Tensor) {
	in := []*Tensor{x, recurrent}
	if bias != nil {
		in = append(in, bias)
	}
	in = append(in, states...)
	if attrs.Masked = mask != nil; mask != nil {
		in = append(in, Cast(mask, ir.Bool))
	}
	out := apply(ir.RnnScan, attrs, in...)
	return out[0], out[1:]
}
