package testdevice

import (
	"context"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Call traces f and runs it once on every replica of s, with each replica's inputs, whose examples are counted by the
// first axis of the first one; it returns each replica's results.
func Call(s distribute.Strategy, f distribute.TraceFunc, inputs [][]kernels.Array) ([][]kernels.Array, error) {
	types, sizes := make([][]ir.Type, len(inputs)), make([]int, len(inputs))
	for i, list := range inputs {
		for _, a := range list {
			types[i] = append(types[i], a.Type)
		}
		if shape := list[0].Type.Shape; len(shape) > 0 {
			sizes[i] = shape[0]
		}
	}
	results := 0
	fn := distribute.NewFunction(s, "test", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		out := f(r, in)
		results = len(out)
		return out
	})
	defer fn.Close()
	inst, err := fn.Acquire(types, sizes)
	if err != nil {
		return nil, err
	}
	defer fn.Release(inst)
	for i, list := range inputs {
		for j, a := range list {
			if err := inst.Input(i, j).Write(a.Data); err != nil {
				return nil, err
			}
		}
	}
	if err := inst.Run(context.Background(), 1, 0); err != nil {
		return nil, err
	}
	out := make([][]kernels.Array, len(inputs))
	for i := range inputs {
		for j := range results {
			b := inst.Output(i, j)
			a := kernels.NewArray(b.Type())
			if err := b.Read(a.Data); err != nil {
				return nil, err
			}
			out[i] = append(out[i], a)
		}
	}
	return out, nil
}

// CallOne is [Call] on one replica, on the device of choice.
func CallOne(f distribute.TraceFunc, inputs ...kernels.Array) ([]kernels.Array, error) {
	out, err := Call(Strategy(), f, [][]kernels.Array{inputs})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}
