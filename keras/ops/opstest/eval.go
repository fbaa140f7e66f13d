package opstest

import (
	"context"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// T is the part of *testing.T that the helpers need.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Func is a function to trace.
type Func func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor

// Seed is the random state of the traces: seed low, seed high, step, replica.
var Seed = [4]float64{7, 11, 13, 0}

// Trace returns the program of fn for inputs of the given types. Random operations draw from Seed.
func Trace(fn Func, types ...ir.Type) (p *ir.Program, err error) {
	defer ops.Catch(&err)
	g := ops.NewGraph("test")
	g.SetRandom(func() *ops.Tensor { return ops.Constant(g, ir.Uint32, ir.Shape{4}, Seed[:]) })
	in := make([]*ops.Tensor, len(types))
	for i, t := range types {
		in[i] = g.Input(fmt.Sprint("x", i), t.DType, t.Shape...)
	}
	for i, t := range fn(g, in) {
		if t.Graph() != g {
			return nil, fmt.Errorf("opstest: result %d belongs to another graph", i)
		}
		g.Program().AddOutput(fmt.Sprint("y", i), t.Value())
	}
	return g.Program(), nil
}

// Eval traces fn and runs it on the reference interpreter in float64.
func Eval(t T, fn Func, inputs ...Array) []Array {
	t.Helper()
	return run(t, mustTrace(t, fn, inputs), inputs)
}

// EvalError traces fn, runs it on the reference interpreter and returns the error of either.
func EvalError(fn Func, inputs ...Array) error {
	p, err := Trace(fn, typesOf(inputs)...)
	if err != nil {
		return err
	}
	_, err = runReference(p, inputs)
	return err
}

// EvalOn traces fn and runs it on device 0 of the backend registered for kind ("cpu").
func EvalOn(t T, kind string, fn Func, inputs ...Array) []Array {
	t.Helper()
	out, err := runBackend(kind, mustTrace(t, fn, inputs), inputs)
	if err != nil {
		t.Fatalf("running on %s: %v", kind, err)
	}
	return out
}

// EvalReplicas traces fn and runs one replica of it on each set of inputs, in lock step, on the reference interpreter.
func EvalReplicas(t T, fn Func, inputs ...[]Array) [][]Array {
	t.Helper()
	p := mustTrace(t, fn, inputs[0])
	values := make([][]reference.Value, len(inputs))
	for r, arrays := range inputs {
		values[r] = referenceValues(t, arrays)
	}
	results, err := reference.RunReplicas(p, values)
	if err != nil {
		t.Fatalf("running: %v", err)
	}
	out := make([][]Array, len(results))
	for r, list := range results {
		out[r] = fromReference(list)
	}
	return out
}

func typesOf(inputs []Array) []ir.Type {
	types := make([]ir.Type, len(inputs))
	for i, a := range inputs {
		types[i] = a.Type()
	}
	return types
}

func mustTrace(t T, fn Func, inputs []Array) *ir.Program {
	t.Helper()
	p, err := Trace(fn, typesOf(inputs)...)
	if err != nil {
		t.Fatalf("tracing: %v", err)
	}
	if err := p.Verify(); err != nil {
		t.Fatalf("the traced program is wrong: %v", err)
	}
	return p
}

func run(t T, p *ir.Program, inputs []Array) []Array {
	t.Helper()
	out, err := runReference(p, inputs)
	if err != nil {
		t.Fatalf("running: %v", err)
	}
	return out
}

func referenceValues(t T, inputs []Array) []reference.Value {
	values, err := toReference(inputs)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return values
}

func toReference(inputs []Array) ([]reference.Value, error) {
	values := make([]reference.Value, len(inputs))
	for i, a := range inputs {
		v, err := reference.New(a.DType, a.Shape, a.F...)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func fromReference(values []reference.Value) []Array {
	out := make([]Array, len(values))
	for i, v := range values {
		out[i] = Array{Shape: v.Type.Shape, DType: v.Type.DType, F: make([]float64, v.Type.Shape.Size())}
		for j := range out[i].F {
			out[i].F[j] = v.At(j)
		}
	}
	return out
}

func runReference(p *ir.Program, inputs []Array) ([]Array, error) {
	values, err := toReference(inputs)
	if err != nil {
		return nil, err
	}
	results, err := reference.Run(p, values)
	if err != nil {
		return nil, err
	}
	return fromReference(results), nil
}

func runBackend(kind string, p *ir.Program, inputs []Array) ([]Array, error) {
	backend, err := kernels.Lookup(kind)
	if err != nil {
		return nil, err
	}
	device := kernels.Device{Kind: kind}
	exe, err := kernels.Load(backend, p, device)
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	buffer := func(t ir.Type, list *[]kernels.Buffer) (kernels.Buffer, error) {
		b, err := backend.NewBuffer(device, t)
		if err == nil {
			*list = append(*list, b)
		}
		return b, err
	}
	var in, out []kernels.Buffer
	defer func() {
		for _, b := range append(in, out...) {
			b.Free()
		}
	}()
	for _, a := range inputs {
		b, err := buffer(a.Type(), &in)
		if err != nil {
			return nil, err
		}
		var data []byte
		for _, v := range a.F {
			data = ir.AppendElement(data, a.DType, v)
		}
		if err := b.Write(data); err != nil {
			return nil, err
		}
	}
	for _, o := range p.Outputs {
		if _, err := buffer(p.Type(o.Value), &out); err != nil {
			return nil, err
		}
	}
	if err := exe.Run(context.Background(), in, out); err != nil {
		return nil, err
	}
	return readBuffers(out)
}

func readBuffers(buffers []kernels.Buffer) ([]Array, error) {
	out := make([]Array, len(buffers))
	for i, b := range buffers {
		t := b.Type()
		data := make([]byte, t.Bytes())
		if err := b.Read(data); err != nil {
			return nil, err
		}
		out[i] = Array{Shape: t.Shape, DType: t.DType, F: make([]float64, t.Shape.Size())}
		for j := range out[i].F {
			out[i].F[j] = ir.Element(data, t.DType, j)
		}
	}
	return out, nil
}

// Near reports the first element where got is not within rtol·|want| + atol of want; NaN is near NaN only, and shapes
// must agree.
func Near(t T, what string, got, want Array, rtol, atol float64) {
	t.Helper()
	if !ir.Shape(got.Shape).Equal(want.Shape) {
		t.Errorf("%s: shape %v, want %v", what, got.Shape, want.Shape)
		return
	}
	for i, w := range want.F {
		g := got.F[i]
		if math.IsNaN(w) && math.IsNaN(g) || g == w {
			continue
		}
		if diff := math.Abs(g - w); !(diff <= rtol*math.Abs(w)+atol) || math.IsInf(diff, 1) {
			t.Errorf("%s: element %d is %v, want %v\ngot  %v\nwant %v", what, i, g, w, got.F, want.F)
			return
		}
	}
}
