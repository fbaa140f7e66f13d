package keras

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers"
)

// functional is a graph of layer calls.
type functional struct {
	in, out    Tensors
	nodes      []*layers.Node // in the order in which they were recorded
	run        []*layers.Node // in the order of computation
	layers     []layers.Layer
	byDepth    []layers.Layer
	order      []listed // sortByDepth's order of layers, with the inputs among them
	names      []string // names of the outputs
	layerNames []string // names of the layers that compute them, nil if equal to names
	inNames    []string // names of the inputs
	host       *hostStage
	built      map[layers.Layer]*builtObject // for a model from a document, what that says
	fed        []*layers.KerasTensor         // inputs of the program: those of the model, or what the host stage makes of them
}

// NewFunctional returns the model that computes outputs from inputs, through all layer calls between them. Weights are
// created when the layers are applied, so the model is already built. Applying a layer several times shares its
// weights. Two models of equal layers begin with equal weights unless each has its own [Seed].
func NewFunctional(inputs, outputs Tensors, options ...Option) (*Model, error) {
	c := configure(options)
	if c.inputShape != nil || c.inputDType != "" {
		return nil, fmt.Errorf("keras: NewFunctional: InputShape and InputDType are options of NewSequential and NewModel; a Functional model has inputs that say it themselves, as in keras.Input(keras.Shape(28, 28), keras.DType(\"uint8\"))")
	}
	f := &functional{in: inputs, out: outputs}
	if err := f.trace(); err != nil {
		return nil, prefixed("Functional model", err)
	}
	f.nameInputs()
	m, err := newModel(f, c)
	if err != nil {
		return nil, err
	}
	f.nameOutputs()
	if c.policy != "" { // the layers were built under the default policy: build them again
		resetUnplaced(f.layers)
	}
	if err := m.build(typesOf(f.fed)); err != nil {
		return nil, fmt.Errorf("keras: %w", err)
	}
	if err := f.checkNames(); err != nil {
		return nil, prefixed("Functional model", err)
	}
	return m, nil
}

// resetUnplaced removes the variables of layers that belong to no model yet.
func resetUnplaced(all []layers.Layer) {
	for _, l := range all {
		if !placed(l) {
			layers.Reset(l)
		}
	}
}

// placed reports whether a layer's variables already belong to a model.
func placed(l layers.Layer) bool {
	for _, v := range layers.Weights(l) {
		if v.Strategy() != nil {
			return true
		}
	}
	return false
}

// trace collects the nodes between inputs and outputs.
func (f *functional) trace() error {
	if len(f.in.list) == 0 || len(f.out.list) == 0 {
		return fmt.Errorf("needs at least one input and one output, received %d and %d", len(f.in.list), len(f.out.list))
	}
	for i, t := range f.in.list {
		if err := t.Err(); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	for i, t := range f.out.list {
		if err := t.Err(); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	given := map[*layers.KerasTensor]bool{}
	for _, t := range f.in.list {
		if given[t] {
			return fmt.Errorf("input %v is listed twice", t)
		}
		given[t] = true
	}
	seen := map[*layers.Node]bool{}
	if err := f.visit(f.out.list, given, seen); err != nil {
		return err
	}
	slices.SortFunc(f.nodes, func(a, b *layers.Node) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, n := range f.nodes {
		if !slices.Contains(f.layers, n.Layer) {
			f.layers = append(f.layers, n.Layer)
		}
	}
	f.sortByDepth()
	var err error
	if f.host, err = newHostStage(f.in.list, f.out.list, f.nodes); err != nil {
		return err
	}
	if f.fed = f.in.list; f.host != nil {
		f.fed = f.host.fed
	}
	return nil
}

func (f *functional) forward(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor {
	inputs = adjustInputs(c, f.fed, inputs)
	if f.host != nil {
		inputs = f.host.masked(inputs)
	}
	values := make(map[*layers.KerasTensor]*ops.Tensor, len(f.nodes)+len(inputs))
	for i, t := range f.fed {
		values[t] = inputs[i]
	}
	recorded := f.startMasks(inputs)
	for _, n := range f.run {
		if f.host != nil && slices.Contains(f.host.nodes, n) {
			continue
		}
		value := func(t *layers.KerasTensor) *ops.Tensor { return values[t] }
		invoke := n.Invoke
		if f.host != nil && f.host.nested[n] != nil {
			invoke = func(c *layers.Context, value func(*layers.KerasTensor) *ops.Tensor) []*ops.Tensor {
				return f.host.callStaged(c, n, value)
			}
		}
		for i, y := range recorded.invoke(c, n, value, invoke) {
			if _, given := values[n.Outputs[i]]; !given {
				values[n.Outputs[i]] = y
			}
		}
	}
	outputs := make([]*ops.Tensor, len(f.out.list))
	for i, t := range f.out.list {
		outputs[i] = values[t]
	}
	return outputs
}

// adjustInputs is fitInputs, and also converts inputs to their declared element types: floats for an integer input are
// truncated, as in Keras. An input that declares no type does not reduce the float64 of a policy.
func adjustInputs(c *layers.Context, declared []*layers.KerasTensor, inputs []*ops.Tensor) []*ops.Tensor {
	out := fitInputs(c, declared, inputs)
	for i, x := range out {
		if d := declared[i].DType(); d != ir.Float32 || x.DType() != ir.Float64 {
			out[i] = ops.Cast(x, d)
		}
	}
	return out
}

// fitInputs checks the shapes of the inputs against the declared ones and, like Keras, adds or drops a last axis of
// length 1. The batch size is not compared, so a model with a fixed batch can be part of one with an open batch. An
// open length fits any declared one: the model is traced again for each actual length.
func fitInputs(c *layers.Context, declared []*layers.KerasTensor, inputs []*ops.Tensor) []*ops.Tensor {
	if len(inputs) != len(declared) {
		ops.Failf(c.Graph(), "the model has %d inputs, received %d", len(declared), len(inputs))
	}
	out := make([]*ops.Tensor, len(inputs))
	for i, x := range inputs {
		want := declared[i].Shape()
		n := len(want)
		switch {
		case x.Rank() == n+1 && x.Dim(-1) == 1:
			x = ops.Squeeze(x, -1)
		case x.Rank() == n-1 && want[n-1] == 1:
			x = ops.ExpandDims(x, -1)
		}
		fits := x.Rank() == n
		for j := 1; fits && j < n; j++ { // a batch may have another length than declared, as in Keras
			fits = want[j] == layers.Unknown || !dim.Differ(want[j], x.Shape()[j])
		}
		if !fits {
			ops.Failf(c.Graph(), "input %q expects shape %s, received shape %s", declared[i].Name(), layers.ShapeString(want), layers.ShapeString(x.Shape()))
		}
		out[i] = x
	}
	return out
}

func (f *functional) members() []layers.Layer       { return f.byDepth }
func (f *functional) inputs() []*layers.KerasTensor { return f.in.list }
func (f *functional) className() string             { return "Functional" }
func (f *functional) outputNames() []string         { return f.names }

func (f *functional) inputNames() []string { return f.inNames }

func (f *functional) hostStage() *hostStage { return f.host }
