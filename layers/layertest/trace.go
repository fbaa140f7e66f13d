package layertest

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

// trace is one call of a layer as a program.
type trace struct {
	replica   *distribute.Replica
	inputs    []*ops.Tensor
	masks     []*ops.Tensor
	variables distribute.Variables
	weights   []*ops.Tensor // before the call
	outputs   []*ops.Tensor
	results   []*ops.Tensor
}

// options say how a layer is called.
type options struct {
	training bool
	policy   string
	masked   bool
}

// call traces the layer on inputs like the given ones.
func call(l layers.Layer, inputs, masks []opstest.Array, o options) (tr *trace, err error) {
	defer ops.Catch(&err)
	batch := 1
	if len(inputs[0].Shape) > 0 {
		batch = inputs[0].Shape[0]
	}
	tr = &trace{replica: distribute.NewReplica("layer", 1, batch, batch)}
	g := tr.replica.Graph()
	for i, a := range inputs {
		tr.inputs = append(tr.inputs, g.Input(fmt.Sprint("x", i), a.DType, a.Shape...))
	}
	in := append([]*ops.Tensor{}, tr.inputs...)
	if o.masked {
		for i, a := range masks {
			m := g.Input(fmt.Sprint("mask", i), ir.Bool, a.Shape...)
			tr.masks = append(tr.masks, m)
			in[i] = in[i].WithMask(m)
		}
	}
	tr.variables = layers.Weights(l)
	for _, v := range tr.variables {
		tr.weights = append(tr.weights, tr.replica.Read(v))
	}
	context := tr.replica.Inference()
	context.Training = o.training
	context.Policy, err = ops.ParseDTypePolicy(o.policy)
	if err != nil {
		return nil, err
	}
	tr.outputs = layers.InvokeAll(l, context, in...)
	return tr, nil
}

// build makes the layer's weights for the given inputs under a policy.
func build(l layers.Layer, inputs, masks []opstest.Array, policy string) error {
	_, err := call(l, inputs, masks, options{policy: policy})
	return err
}

// result adds tensors to what run returns.
func (tr *trace) result(ts ...*ops.Tensor) { tr.results = append(tr.results, ts...) }

// run evaluates the results. The values of weights depend only on their number and name, so that two layers of the same
// kind compute the same.
func (tr *trace) run(inputs, masks []opstest.Array, weights [][]float64) ([]opstest.Array, error) {
	p := tr.replica.Graph().Program()
	if len(p.Outputs) == 0 {
		for i, r := range tr.results {
			p.AddOutput(fmt.Sprint("y", i), ops.In(tr.replica.Graph(), r))
		}
	}
	values, err := tr.arguments(inputs, masks, weights)
	if err != nil {
		return nil, err
	}
	out, err := (reference.Interpreter{Round: true}).Run(p, values)
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

// arguments returns the values of the program's inputs.
func (tr *trace) arguments(inputs, masks []opstest.Array, weights [][]float64) ([]reference.Value, error) {
	p := tr.replica.Graph().Program()
	var values []reference.Value
	for i, in := range p.Inputs {
		t := p.Type(in.Value)
		var data []float64
		switch {
		case i < len(inputs):
			data = inputs[i].F
		case i < len(inputs)+len(tr.masks):
			data = masks[i-len(inputs)].F
		case i < len(inputs)+len(tr.masks)+len(weights):
			data = weights[i-len(inputs)-len(tr.masks)]
		case in.Name == "random_state":
			data = opstest.Seed[:]
		default:
			return nil, fmt.Errorf("the program has an input %q that is neither data, mask nor weight", in.Name)
		}
		v, err := reference.New(t.DType, t.Shape, data...)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// runOn is run on device 0 of a backend.
func (tr *trace) runOn(kind string, inputs, masks []opstest.Array, weights [][]float64) ([]opstest.Array, error) {
	values, err := tr.arguments(inputs, masks, weights)
	if err != nil {
		return nil, err
	}
	backend, err := kernels.Lookup(kind)
	if err != nil {
		return nil, err
	}
	p, device := tr.replica.Graph().Program(), kernels.Device{Kind: kind}
	exec, err := kernels.Load(backend, p, device)
	if err != nil {
		return nil, err
	}
	defer exec.Close()
	var in, out []kernels.Buffer
	defer func() {
		for _, b := range append(in, out...) {
			b.Free()
		}
	}()
	for _, v := range values {
		b, err := backend.NewBuffer(device, v.Type)
		if err != nil {
			return nil, err
		}
		in = append(in, b)
		if err := b.Write(v.Bytes()); err != nil {
			return nil, err
		}
	}
	for _, o := range p.Outputs {
		b, err := backend.NewBuffer(device, p.Type(o.Value))
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	if err := exec.Run(context.Background(), in, out); err != nil {
		return nil, err
	}
	arrays := make([]opstest.Array, len(out))
	for i, b := range out {
		a := kernels.NewArray(b.Type())
		if err := b.Read(a.Data); err != nil {
			return nil, err
		}
		arrays[i] = opstest.Array{Shape: a.Type.Shape, DType: a.Type.DType, F: a.Float64s()}
	}
	return arrays, nil
}

// near compares two arrays within tolerance times the largest number, which counts as at least 1. NaN is near nothing.
func near(t reporter, got, want opstest.Array, tolerance float64, what string, args ...any) {
	t.Helper()
	if !ir.Shape(got.Shape).Equal(want.Shape) || got.DType != want.DType {
		t.Errorf("%s: %v, want %v", fmt.Sprintf(what, args...), got.Type(), want.Type())
		return
	}
	scale := 1.0
	for _, w := range want.F {
		scale = max(scale, math.Abs(w))
	}
	for i, w := range want.F {
		if diff := math.Abs(got.F[i] - w); !(diff <= tolerance*scale) {
			t.Errorf("%s: element %d is %v, want %v", fmt.Sprintf(what, args...), i, got.F[i], w)
			return
		}
	}
}

// values returns numbers for the weights: around 1 if a layer divides by them or takes a root, otherwise of both signs.
func values(variables distribute.Variables) [][]float64 {
	out := make([][]float64, len(variables))
	for i, v := range variables {
		name := v.Name()
		low, high := -0.8, 0.8
		if strings.Contains(name, "variance") || strings.Contains(name, "stddev") || name == "gamma" || name == "scale" {
			low, high = 0.5, 1.5
		}
		out[i] = opstest.Random(i+1, low, high, v.Size()).F
		if v.Spec().DType.IsInteger() {
			clear(out[i])
		}
	}
	return out
}

// finite reports whether all numbers are finite.
func finite(a opstest.Array) bool {
	for _, x := range a.F {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
