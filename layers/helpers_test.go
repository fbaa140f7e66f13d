package layers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

// layerCall is a call of a layer for a test.
type layerCall struct {
	layer    layers.Layer
	training bool
	inputs   []opstest.Array
	masks    []opstest.Array // of each input; one without a shape means none
	random   [4]float64      // random state
	// more adds results to those of the layer.
	more func(r *distribute.Replica, in, out []*ops.Tensor) []*ops.Tensor
}

// answer is the result of a call: results, the mask of the first one, what more added, and the weights afterwards by
// name.
type answer struct {
	outputs []opstest.Array
	mask    *opstest.Array
	more    []opstest.Array
	after   map[string]opstest.Array
}

// invoke calls a layer on the reference interpreter.
func invoke(t *testing.T, l layers.Layer, training bool, inputs ...opstest.Array) answer {
	t.Helper()
	return layerCall{layer: l, training: training, inputs: inputs}.run(t)
}

func (c layerCall) run(t *testing.T) answer {
	t.Helper()
	a, err := c.try()
	require.NoError(t, err)
	return a
}

// try is run for calls that may fail.
func (c layerCall) try() (a answer, err error) {
	defer ops.Catch(&err)
	batch := 1
	if s := c.inputs[0].Shape; len(s) > 0 {
		batch = s[0]
	}
	r := distribute.NewReplica("test", 1, batch, batch)
	var values []reference.Value
	var in []*ops.Tensor
	add := func(data opstest.Array) *ops.Tensor {
		v, e := reference.New(data.DType, data.Shape, data.F...)
		if e != nil {
			err = e
		}
		values = append(values, v)
		return r.Graph().Input(fmt.Sprint("x", len(values)), data.DType, data.Shape...)
	}
	for _, x := range c.inputs {
		in = append(in, add(x))
	}
	for i, m := range c.masks {
		if m.Shape != nil {
			in[i] = in[i].WithMask(add(m))
		}
	}
	context := r.Inference()
	context.Training = c.training
	out := layers.InvokeAll(c.layer, context, in...)
	results := append([]*ops.Tensor{}, out...)
	if out[0].Mask() != nil {
		results = append(results, out[0].Mask())
	}
	weights := layers.Weights(c.layer)
	for _, v := range weights {
		results = append(results, r.Read(v))
	}
	if c.more != nil {
		results = append(results, c.more(r, in, out)...)
	}
	all, err := c.evaluate(r, results, values)
	if err != nil {
		return a, err
	}
	a = answer{outputs: all[:len(out)], after: map[string]opstest.Array{}}
	all = all[len(out):]
	if out[0].Mask() != nil {
		a.mask, all = &all[0], all[1:]
	}
	for i, v := range weights {
		a.after[v.Name()] = all[i]
	}
	a.more = all[len(weights):]
	return a, nil
}

// evaluate runs the program, with the weights' values and the random state after the given inputs.
func (c layerCall) evaluate(r *distribute.Replica, results []*ops.Tensor, values []reference.Value) ([]opstest.Array, error) {
	p := r.Graph().Program()
	for i, y := range results {
		p.AddOutput(fmt.Sprint("y", i), ops.In(r.Graph(), y))
	}
	weights := map[string]*distribute.Variable{}
	for _, v := range r.Variables() {
		weights[v.Path()] = v
	}
	for _, input := range p.Inputs[len(values):] {
		t := p.Type(input.Value)
		data := c.random[:]
		if w := weights[input.Name]; w != nil {
			value, err := w.Value()
			if err != nil {
				return nil, err
			}
			data = value.Float64s()
		}
		v, err := reference.New(t.DType, t.Shape, data...)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	out, err := reference.Run(p, values)
	if err != nil {
		return nil, err
	}
	arrays := make([]opstest.Array, len(out))
	for i, v := range out {
		arrays[i] = opstest.Array{Shape: v.Type.Shape, DType: v.Type.DType, F: make([]float64, v.Type.Shape.Size())}
		for j := range arrays[i].F {
			arrays[i].F[j] = v.At(j)
		}
	}
	return arrays, nil
}

// float32s is a float32 array.
func float32s(shape []int, values ...float64) opstest.Array {
	return opstest.Floats(shape, values...).As(ir.Float32)
}

// constant is a float32 array of one number.
func constant(value float64, shape ...int) opstest.Array {
	values := make([]float64, ir.Shape(shape).Size())
	for i := range values {
		values[i] = value
	}
	return float32s(shape, values...)
}
