package main

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// compound returns the layer of a spec that other layers are made of.
func (s *spec) compound() layers.Layer {
	switch s.Kind {
	case "bidirectional":
		return &layers.Bidirectional{Layer: &layers.LSTM{Units: s.Filters, ReturnSequences: true}}
	case "convlstm":
		return &layers.ConvLSTM2D{Filters: s.Filters, KernelSize: []int{s.Kernel}, Padding: "same", ReturnSequences: true}
	case "einsumdense":
		return &layers.EinsumDense{Equation: "abc,cde->abde", OutputShape: []int{layers.Unknown, s.Heads, s.Filters}, BiasAxes: "de"}
	case "mha":
		return &layers.MultiHeadAttention{NumHeads: s.Heads, KeyDim: s.Filters, UseCausalMask: s.Causal}
	}
	return &layers.GroupQueryAttention{NumQueryHeads: s.Heads, NumKeyValueHeads: s.Heads / s.Shared, HeadDim: s.Filters, UseCausalMask: s.Causal}
}

// overItself calls an attention layer with x as query, key and value.
func (s *spec) overItself(l layers.Layer, c *layers.Context, x *ops.Tensor) *ops.Tensor {
	value := x
	if s.Masked {
		batch, steps := s.Input[0], s.Input[1]
		inside := make([]float64, batch*steps)
		for i := range inside {
			if i%steps < steps-(i/steps)*steps/(2*batch) { // the last sequence is half as long as the first
				inside[i] = 1
			}
		}
		value = x.WithMask(ops.Constant(x, ir.Bool, ir.Shape{batch, steps}, inside))
	}
	return layers.Invoke(l, c, x, value)
}

// headFLOPs are the operations of an attention layer: its four projections, the scores and the means.
func (s *spec) headFLOPs() float64 {
	rows, steps, features := float64(s.Input[0]*s.Input[1]), float64(s.Input[1]), float64(s.Input[2])
	width := float64(s.Heads * s.Filters)
	scores := 4 * rows * steps * width
	if s.Causal {
		scores /= 2
	}
	return 2*rows*features*width*(2+2/float64(s.Shared)) + scores
}
