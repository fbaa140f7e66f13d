package main

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// compound returns the layer of a spec that other layers are made of.
func (s *spec) compound() layers.Layer {
	switch s.Kind {
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
	return layers.Invoke(l, c, x, s.withMask(x))
}

// headFLOPs are the operations of an attention layer: its four projections, the scores and the means.
func (s *spec) headFLOPs() float64 {
	rows, keys, features := float64(s.Input[0]*s.Input[1]), float64(s.Input[1]), float64(s.Input[2])
	if s.Steps > 0 {
		keys = float64(s.Steps)
	}
	width := float64(s.Heads * s.Filters)
	scores := 4 * rows * keys * width
	if s.Causal {
		scores /= 2
	}
	return 4*features*width*(rows+float64(s.Input[0])*keys/float64(s.Shared)) + scores
}
