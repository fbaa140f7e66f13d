package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Program is an inference program to be written: its traces, and what its inputs and outputs mean.
type Program struct {
	Name        string
	Description string
	// Traces are the same program for each of Sizes. For a program whose batch is open, trace it for three batches; where other axes
	// are open too, for five pairs of lengths: (B, L), (B', L), (B, L'), (B', L') and one more.
	Traces []*ir.Program
	Sizes  []Sizes
	// Inputs name the first inputs of the traces, the data; Open lists the open axes of each.
	Inputs []Input
	// Weights are the values of the inputs that follow. nil stands for the random state, which inference must not need.
	Weights []*Weight
	// Outputs name the outputs.
	Outputs []string
}

// Input is an input of the model.
type Input struct {
	Name string
	Open []int // axes whose length is open; axis 0 is the batch
}

// Weight is a variable of the model.
type Weight struct {
	Path  string // Keras's path, "dense/kernel"
	Value kernels.Array
}

// maxModel is the largest message that protocol buffers can hold.
const maxModel = math.MaxInt32

// Marshal returns the ONNX model. An operation that ONNX lacks, or a length that cannot be worked out at run time, is an error that
// names the layer.
func (p *Program) Marshal() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	w := &writer{p: p, used: map[string]bool{}, constants: map[string]string{}, lengths: map[dim]string{}}
	traces := make([]*ir.Program, len(p.Traces))
	for i, t := range p.Traces {
		var err error
		if traces[i], err = ir.Expand(t, keep(t)); err != nil {
			return nil, fmt.Errorf("onnx: %w", err)
		}
	}
	g, err := w.write(traces)
	if err != nil {
		return nil, fmt.Errorf("onnx: model %q: %w", p.Name, err)
	}
	size := 0
	for _, t := range g.initializers {
		size += len(t.data)
	}
	if size > maxModel-1<<20 {
		return nil, fmt.Errorf("onnx: model %q has %d bytes of weights; an ONNX file holds 2 GB", p.Name, size)
	}
	return marshalModel(g, p.Description), nil
}

func (p *Program) check() error {
	if len(p.Traces) == 0 || len(p.Traces) != len(p.Sizes) {
		return fmt.Errorf("%d traces and %d sizes; expected as many, and at least one", len(p.Traces), len(p.Sizes))
	}
	for _, t := range p.Traces {
		if err := t.Verify(); err != nil {
			return err
		}
		if len(t.Inputs) != len(p.Inputs)+len(p.Weights) || len(t.Outputs) < len(p.Outputs) {
			return fmt.Errorf("a trace has %d inputs and %d outputs; expected %d data and %d weights, and %d outputs", len(t.Inputs), len(t.Outputs), len(p.Inputs), len(p.Weights), len(p.Outputs))
		}
	}
	return nil
}

// keep says which composites are written whole: those with a counterpart in ONNX.
func keep(t *ir.Program) func(n *ir.Node) bool {
	needed := map[ir.Value]bool{}
	for _, n := range t.Nodes {
		for _, v := range n.Inputs {
			needed[v] = true
		}
	}
	for _, out := range t.Outputs {
		needed[out.Value] = true
	}
	return func(n *ir.Node) bool {
		switch n.Op {
		case ir.Conv, ir.MaxPool, ir.AvgPool, ir.Softmax, ir.LogSoftmax, ir.Embedding, ir.Relu:
			return true
		case ir.ConvInputGrad:
			_, ok := outputPadding(t, n)
			return ok
		case ir.LayerNorm: // its statistics have other shapes in ONNX
			return !slices.ContainsFunc(n.Outputs[1:], func(v ir.Value) bool { return needed[v] })
		}
		return false
	}
}

// writer writes a model.
type writer struct {
	p         *Program
	main      *builder
	used      map[string]bool   // names of nodes and values
	constants map[string]string // constants by their content
	lengths   map[dim]string    // lengths worked out at run time
	needsL    string            // the layer that needs the length of an open axis other than the batch
}

// unique makes a name that is not in use.
func (w *writer) unique(name string) string {
	candidate := name
	for i := 1; w.used[candidate]; i++ {
		candidate = fmt.Sprintf("%s_%d", name, i)
	}
	w.used[candidate] = true
	return candidate
}

func (w *writer) write(traces []*ir.Program) (*graph, error) {
	p := w.p
	b := &builder{w: w, g: &graph{name: p.Name}, traces: traces, operands: map[ir.Value]operand{}}
	w.main = b
	for i, in := range p.Inputs {
		name := w.unique(in.Name)
		v := traces[0].Inputs[i].Value
		t := traces[0].Type(v)
		b.g.inputs = append(b.g.inputs, info{name, t.DType, w.inputAxes(i, t.Shape)})
		b.operands[v] = operand{name: name, rank: t.Shape.Rank()}
	}
	for i, weight := range p.Weights {
		v := traces[0].Inputs[len(p.Inputs)+i].Value
		if weight == nil {
			continue // an op that uses the random state is an error of its own
		}
		name := w.unique(weight.Path)
		t := weight.Value.Type
		b.g.initializers = append(b.g.initializers, &tensor{name, t.DType, t.Shape, weight.Value.Data})
		b.operands[v] = operand{name: name, rank: t.Shape.Rank()}
	}
	if err := b.body(); err != nil {
		return nil, err
	}
	for i, name := range p.Outputs {
		v := traces[0].Outputs[i].Value
		result, err := b.full(v)
		if err != nil {
			return nil, err
		}
		name = w.unique(name)
		b.g.nodes = append(b.g.nodes, &node{name: w.unique("output/" + name), op: "Identity", inputs: []string{result}, outputs: []string{name}})
		b.g.outputs = append(b.g.outputs, info{name, traces[0].Type(v).DType, axesOf(b.dims(v))})
	}
	if w.needsL != "" && w.openLengths() > 1 {
		return nil, fmt.Errorf("layer %q needs the length of an open axis, and an input has several, which may differ; give all but one of them a length in the shape of the input", w.needsL)
	}
	b.g.prune()
	return b.g, nil
}

// openLengths is the largest number of open axes, beside the batch, of one input.
func (w *writer) openLengths() int {
	most := 0
	for _, in := range w.p.Inputs {
		n := 0
		for _, axis := range in.Open {
			if axis > 0 {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// inputAxes are the axes of an input: lengths, and names of open ones.
func (w *writer) inputAxes(i int, shape ir.Shape) []any {
	axes := make([]any, len(shape))
	for j, n := range shape {
		axes[j] = n
		switch {
		case !slices.Contains(w.p.Inputs[i].Open, j):
		case j == 0:
			axes[j] = "batch"
		case w.openLengths() == 1:
			axes[j] = "length"
		default:
			axes[j] = fmt.Sprintf("%s_axis_%d", w.p.Inputs[i].Name, j)
		}
	}
	return axes
}

// axesOf are the axes of a result; lengths that are no single name have none.
func axesOf(dims []dim) []any {
	axes := make([]any, len(dims))
	for i, d := range dims {
		switch {
		case d.isFixed():
			axes[i] = d.constant
		case d == dim{batch: 1}:
			axes[i] = "batch"
		default:
			axes[i] = ""
		}
	}
	return axes
}

// prune leaves out nodes and constants that nothing needs.
func (g *graph) prune() {
	needed := map[string]bool{}
	for _, out := range g.outputs {
		needed[out.name] = true
	}
	var kept []*node
	for _, n := range slices.Backward(g.nodes) {
		if !slices.ContainsFunc(n.outputs, func(name string) bool { return needed[name] }) {
			continue
		}
		kept = append(kept, n)
		n.uses(needed)
	}
	slices.Reverse(kept)
	g.nodes = kept
	g.initializers = slices.DeleteFunc(g.initializers, func(t *tensor) bool { return !needed[t.name] })
}

// uses marks what a node and its bodies take.
func (n *node) uses(needed map[string]bool) {
	for _, in := range n.inputs {
		needed[in] = true
	}
	for _, a := range n.attributes {
		if body, ok := a.value.(*graph); ok {
			for _, inner := range body.nodes {
				inner.uses(needed)
			}
		}
	}
}
