package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Program is an inference program to be written: its trace, and what its inputs and outputs mean.
type Program struct {
	Name        string
	Description string
	// Trace is the program, in which sizes of package dim stand for open axes of the inputs.
	Trace *ir.Program
	// Inputs are the names of the trace's first inputs, the data.
	Inputs []string
	// Weights are the values of the remaining inputs. nil stands for the random state, which inference must not use.
	Weights []*Weight
	// Outputs name the outputs.
	Outputs []string
}

// Weight is a variable of the model.
type Weight struct {
	Path  string // Keras's path, "dense/kernel"
	Value kernels.Array
}

// maxModel is the maximum size of a protocol buffer message.
const maxModel = math.MaxInt32

// Marshal returns the ONNX model. An operation that ONNX lacks, or a length that cannot be computed at run time, is an
// error that names the layer.
func (p *Program) Marshal() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	w := &writer{p: p, used: map[string]bool{}, constants: map[string]string{}, lengths: map[int]string{}, open: openAxes(p.Trace, len(p.Inputs))}
	trace, err := ir.Expand(p.Trace, keep())
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	g, err := w.write(trace)
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
	t := p.Trace
	if t == nil {
		return fmt.Errorf("there is no trace")
	}
	if err := t.Verify(); err != nil {
		return err
	}
	if len(t.Inputs) != len(p.Inputs)+len(p.Weights) || len(t.Outputs) < len(p.Outputs) {
		return fmt.Errorf("the trace has %d inputs and %d outputs; expected %d data and %d weights, and %d outputs", len(t.Inputs), len(t.Outputs), len(p.Inputs), len(p.Weights), len(p.Outputs))
	}
	return nil
}

// keep says which composites are not decomposed: those with a counterpart in ONNX.
func keep() func(t *ir.Program, n *ir.Node) bool {
	var needed map[ir.Value]bool
	var of *ir.Program
	return func(t *ir.Program, n *ir.Node) bool {
		if of != t {
			needed, of = used(t), t
		}
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

// used returns the values that a node or an output reads.
func used(t *ir.Program) map[ir.Value]bool {
	out := map[ir.Value]bool{}
	for _, n := range t.Nodes {
		for _, v := range n.Inputs {
			out[v] = true
		}
	}
	for _, o := range t.Outputs {
		out[o.Value] = true
	}
	return out
}

// writer writes a model.
type writer struct {
	p         *Program
	main      *builder
	used      map[string]bool   // names of nodes and values
	constants map[string]string // constants by their content
	lengths   map[int]string    // open lengths, computed at run time
	open      map[string]openAxis
}

// unique returns an unused name.
func (w *writer) unique(name string) string {
	candidate := name
	for i := 1; w.used[candidate]; i++ {
		candidate = fmt.Sprintf("%s_%d", name, i)
	}
	w.used[candidate] = true
	return candidate
}

func (w *writer) write(trace *ir.Program) (*graph, error) {
	p := w.p
	b := &builder{w: w, g: &graph{name: p.Name}, trace: trace, operands: map[ir.Value]operand{}}
	w.main = b
	for i, in := range p.Inputs {
		name := w.unique(in)
		v := trace.Inputs[i].Value
		t := trace.Type(v)
		b.g.inputs = append(b.g.inputs, info{name: name, dtype: t.DType, axes: w.inputAxes(i, t.Shape)})
		b.operands[v] = operand{name: name, rank: t.Shape.Rank()}
	}
	for i, weight := range p.Weights {
		v := trace.Inputs[len(p.Inputs)+i].Value
		if weight == nil {
			continue // an op that uses the random state is reported as an error of its own
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
		v := trace.Outputs[i].Value
		result, err := b.full(v)
		if err != nil {
			return nil, err
		}
		name = w.unique(name)
		b.g.nodes = append(b.g.nodes, &node{name: w.unique("output/" + name), op: "Identity", inputs: []string{result}, outputs: []string{name}})
		b.g.outputs = append(b.g.outputs, info{name: name, dtype: trace.Type(v).DType, axes: axesOf(b.dims(v))})
	}
	b.g.prune()
	return b.g, nil
}

// inputAxes returns the axes of an input: lengths, and names of open ones.
func (w *writer) inputAxes(i int, shape ir.Shape) []any {
	others := 0
	for name, at := range w.open {
		if at.axis > 0 && name != "" {
			others++
		}
	}
	axes := make([]any, len(shape))
	for j, n := range shape {
		switch {
		case dim.Known(n):
			axes[j] = n
		case j == 0:
			axes[j] = "batch"
		case others == 1:
			axes[j] = "length"
		default:
			axes[j] = fmt.Sprintf("%s_axis_%d", w.p.Inputs[i], j)
		}
	}
	return axes
}

// axesOf returns the axes of a result. Lengths that are not a single name have none.
func axesOf(dims []int) []any {
	axes := make([]any, len(dims))
	for i, d := range dims {
		switch {
		case dim.Known(d):
			axes[i] = d
		case dim.Name(d) == "batch":
			axes[i] = "batch"
		default:
			axes[i] = ""
		}
	}
	return axes
}

// prune removes unused nodes and constants.
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

// uses marks the inputs of a node and its bodies.
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
