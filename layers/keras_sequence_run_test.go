package layers_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

// onReference runs all calls as one program on the interpreter.
func (s *sequenceCase) onReference() []kernels.Array {
	var err error
	r := distribute.NewReplica("test", 1, s.batch(), s.batch())
	var results []*ops.Tensor
	func() {
		defer ops.Catch(&err)
		in := s.inputs(r.Graph())
		for _, p := range s.info.PreviousCalls {
			layers.InvokeAll(s.layer, s.context(r), s.previous(in, p)...)
		}
		results = s.trace(r, s.layer, in)
	}()
	require.NoError(s, err)
	p := r.Graph().Program()
	for i, x := range results {
		p.AddOutput(fmt.Sprint("y", i), ops.In(r.Graph(), x))
	}
	require.NoError(s, p.Verify())
	var values []reference.Value
	for _, in := range p.Inputs {
		t := p.Type(in.Value)
		data := make([]float64, t.Shape.Size())
		if a, ok := s.c.Inputs.Get(in.Name); ok {
			data = a.Data
		} else if a, ok := s.c.Weights.Get(in.Name); ok {
			data = a.Data
		} else {
			require.Contains(s, in.Name, "rnn_state", "input of the program")
		}
		v, err := reference.New(t.DType, t.Shape, data...)
		require.NoError(s, err)
		values = append(values, v)
	}
	out, err := (reference.Interpreter{Round: true}).Run(p, values)
	require.NoError(s, err)
	arrays := make([]kernels.Array, len(out))
	for i, v := range out {
		data := make([]float64, v.Type.Shape.Size())
		for j := range data {
			data[j] = v.At(j)
		}
		arrays[i], err = kernels.FromFloat64s(v.Type.DType, v.Type.Shape, data)
		require.NoError(s, err)
	}
	return arrays
}

// previous returns the arguments of an earlier call, the first of which differs from the last call's.
func (s *sequenceCase) previous(in map[string]*ops.Tensor, args []json.RawMessage) []*ops.Tensor {
	now := s.arguments(in, s.info.Call.Args)
	earlier := s.arguments(in, args)
	if s.set == "layers_sequence" { // masks stay with the inputs for which they were given
		earlier[0] = earlier[0].WithMask(nil)
	}
	return append(earlier[:1:1], now[1:]...)
}

// onCPU runs each call as a separate program, with the layer's weights and states in the device's memory.
func (s *sequenceCase) onCPU() []kernels.Array {
	l := s.newLayer()
	for _, v := range layers.Weights(l) {
		a := s.c.Weight(s, v.Path())
		value, err := kernels.FromFloat64s(v.Spec().DType, a.Shape, a.Data)
		require.NoError(s, err)
		require.NoError(s, v.SetValue(value))
	}
	run := func(f func(r *distribute.Replica, in map[string]*ops.Tensor) []*ops.Tensor) []kernels.Array {
		fn := distribute.NewFunction(testdevice.Strategy(), "test", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
			named := map[string]*ops.Tensor{}
			for i, a := range s.c.Inputs {
				named[a.Name] = in[i]
			}
			return f(r, named)
		})
		defer fn.Close()
		var types []ir.Type
		for _, a := range s.c.Inputs {
			d, err := ir.ParseDType(a.DType)
			require.NoError(s, err)
			types = append(types, ir.Type{DType: d, Shape: a.Shape})
		}
		inst, err := fn.Acquire([][]ir.Type{types}, []int{s.batch()})
		require.NoError(s, err)
		defer fn.Release(inst)
		for i, a := range s.c.Inputs {
			value, err := kernels.FromFloat64s(types[i].DType, a.Shape, a.Data)
			require.NoError(s, err)
			require.NoError(s, inst.Input(0, i).Write(value.Data))
		}
		require.NoError(s, inst.Run(context.Background(), 1, 0))
		out := make([]kernels.Array, len(s.names))
		for i := range out {
			b := inst.Output(0, i)
			out[i] = kernels.NewArray(b.Type())
			require.NoError(s, b.Read(out[i].Data))
		}
		return out
	}
	for _, p := range s.info.PreviousCalls {
		s.names = nil
		run(func(r *distribute.Replica, in map[string]*ops.Tensor) []*ops.Tensor {
			layers.InvokeAll(l, s.context(r), s.previous(in, p)...)
			return nil
		})
	}
	return run(func(r *distribute.Replica, in map[string]*ops.Tensor) []*ops.Tensor { return s.trace(r, l, in) })
}
