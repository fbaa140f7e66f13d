package main

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// residual adds the result of two convolutions to their input.
type residual struct{ Conv1, Conv2 *layers.Conv2D }

func newResidual(filters int) *residual {
	return &residual{
		Conv1: &layers.Conv2D{Filters: filters, KernelSize: []int{3}, Padding: "same", Activation: "relu"},
		Conv2: &layers.Conv2D{Filters: filters, KernelSize: []int{3}, Padding: "same"},
	}
}

// Call computes relu(x + conv2(conv1(x))).
func (r *residual) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return ops.Relu(ops.Add(x, layers.Invoke(r.Conv2, c, layers.Invoke(r.Conv1, c, x))))
}

// residualNetwork is a model as an ordinary Go type: its fields hold the layers, Call connects them.
type residualNetwork struct {
	Scale  *layers.Rescaling
	Stem   *layers.Conv2D
	Blocks []*residual
	Pool   *layers.GlobalAveragePooling2D
	Head   *layers.Dense
}

func newResidualNetwork() *residualNetwork {
	return &residualNetwork{
		Scale:  &layers.Rescaling{Scale: []float64{1.0 / 255}},
		Stem:   &layers.Conv2D{Filters: 16, KernelSize: []int{3}, Strides: []int{2}, Activation: "relu"},
		Blocks: []*residual{newResidual(16), newResidual(16)},
		Pool:   &layers.GlobalAveragePooling2D{},
		Head:   &layers.Dense{Units: 10},
	}
}

// Call maps images (batch, 28, 28), or with a channel axis, to logits (batch, 10).
func (m *residualNetwork) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	if x.Rank() == 3 {
		x = ops.ExpandDims(x, -1)
	}
	x = layers.Invoke(m.Stem, c, layers.Invoke(m.Scale, c, x))
	for _, block := range m.Blocks {
		x = block.Call(c, x)
	}
	return layers.Invoke(m.Head, c, layers.Invoke(m.Pool, c, x))
}
