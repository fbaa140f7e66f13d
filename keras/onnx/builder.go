package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// builder writes the nodes of one graph.
type builder struct {
	w        *writer
	g        *graph
	traces   []*ir.Program
	operands map[ir.Value]operand
	index    int // of the node that is being written
}

// operand is what stands for a value. A loose one has axes of length 1, or lacks leading axes, where the value repeats along them:
// ONNX's elementwise operations, which broadcast, take it as it is.
type operand struct {
	name  string
	rank  int // of the tensor of that name
	loose bool
}

// node returns the node that is being written, in the first trace.
func (b *builder) node() *ir.Node { return &b.traces[0].Nodes[b.index] }

func (b *builder) dtype(v ir.Value) ir.DType { return b.traces[0].Type(v).DType }

// errorf is an error about the node that is being written.
func (b *builder) errorf(format string, args ...any) error {
	return fmt.Errorf("layer %q: %v: %w", b.node().Scope, b.node().Op, fmt.Errorf(format, args...))
}

// dims are the axis lengths of a value.
func (b *builder) dims(v ir.Value) []dim {
	return b.solve(func(k int) []int { return b.traces[k].Type(v).Shape })
}

// ints are numbers among the attributes of the node.
func (b *builder) ints(get func(a ir.Attrs) []int) []dim {
	return b.solve(func(k int) []int { return get(b.traces[k].Nodes[b.index].Attrs) })
}

func (b *builder) solve(get func(trace int) []int) []dim {
	out := make([]dim, len(get(0)))
	for i := range out {
		seen := make([]int, len(b.traces))
		for k := range seen {
			if values := get(k); i < len(values) {
				seen[k] = values[i]
			} else {
				seen[k] = -1
			}
		}
		out[i] = solveDim(b.w.p.Sizes, seen)
	}
	return out
}

// fixedInts are numbers among the attributes that must not depend on open axes.
func (b *builder) fixedInts(what string, get func(a ir.Attrs) []int) ([]int, error) {
	dims := b.ints(get)
	out := make([]int, len(dims))
	for i, d := range dims {
		if !d.isFixed() {
			return nil, b.errorf("its %s follows an open axis (%v), which ONNX has no way to say; give that axis a length in the shape of the input", what, d)
		}
		out[i] = d.constant
	}
	return out, nil
}

// body writes all nodes that are needed.
func (b *builder) body() error {
	for _, t := range b.traces[1:] {
		if err := b.sameNodes(t); err != nil {
			return err
		}
	}
	live := b.traces[0].Live()
	for i := range b.traces[0].Nodes {
		if !live[i] {
			continue
		}
		b.index = i
		n := b.node()
		write := operations[n.Op]
		if write == nil {
			return b.errorf("%s", missing(n.Op))
		}
		if err := write(b, n); err != nil {
			return err
		}
	}
	return nil
}

// sameNodes checks that another trace has the operations of the first.
func (b *builder) sameNodes(t *ir.Program) error {
	first := b.traces[0].Nodes
	for i := range max(len(first), len(t.Nodes)) {
		scope := ""
		switch {
		case i < len(first) && i < len(t.Nodes) && first[i].Op == t.Nodes[i].Op && slices.Equal(first[i].Inputs, t.Nodes[i].Inputs):
			continue
		case i < len(first):
			scope = first[i].Scope
		default:
			scope = t.Nodes[i].Scope
		}
		return fmt.Errorf("layer %q: it does other things for other lengths of the open axes; fix the batch (or the axis) in the shape of the input", scope)
	}
	return nil
}

// missing says why an operation cannot be written.
func missing(op ir.Op) string {
	switch {
	case op == ir.RngBits || op == ir.Dropout:
		return "it draws random numbers, which an exported model cannot do with the same result; remove the layer, or make it do nothing in inference"
	case op.IsCollective() || op == ir.ReplicaID:
		return "it talks to other replicas; export the model under the default strategy"
	}
	return "ONNX has no such operation; replace the layer, or put what it computes into the data"
}

// add writes an operation with one result and returns the result's name.
func (b *builder) add(op string, inputs []string, attributes ...attribute) string {
	return b.addAll(op, 1, inputs, attributes...)[0]
}

func (b *builder) addAll(op string, results int, inputs []string, attributes ...attribute) []string {
	scope := ""
	if b.index < len(b.traces[0].Nodes) {
		scope = b.node().Scope
	}
	name := op
	if scope != "" {
		name = scope + "/" + op
	}
	n := &node{name: b.w.unique(name), op: op, inputs: inputs, attributes: attributes}
	for range results {
		n.outputs = append(n.outputs, b.w.unique(n.name+":0"))
	}
	b.g.nodes = append(b.g.nodes, n)
	return n.outputs
}

func list(names ...string) []string { return names }

// set says that a value has its full shape under a name.
func (b *builder) set(v ir.Value, name string) {
	b.operands[v] = operand{name: name, rank: b.traces[0].Type(v).Shape.Rank()}
}

// full returns the name of a value in its full shape.
func (b *builder) full(v ir.Value) (string, error) {
	o, ok := b.operands[v]
	if !ok {
		return "", b.errorf("it uses %s", "a random state, which an exported model does not have")
	}
	if !o.loose {
		return o.name, nil
	}
	shape, err := b.shape(b.dims(v))
	if err != nil {
		return "", err
	}
	name := b.add("Expand", list(o.name, shape))
	b.set(v, name)
	return name, nil
}

// fullAll is full for several values.
func (b *builder) fullAll(values []ir.Value) ([]string, error) {
	names := make([]string, len(values))
	for i, v := range values {
		var err error
		if names[i], err = b.full(v); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// constant returns the name of a constant of the main graph, which bodies see too.
func (b *builder) constant(dtype ir.DType, shape []int, data []byte) string {
	key := fmt.Sprint(dtype, shape, string(data))
	if name, ok := b.w.constants[key]; ok {
		return name
	}
	name := b.w.unique(fmt.Sprintf("constant_%d", len(b.w.constants)))
	main := b.w.main.g
	main.initializers = append(main.initializers, &tensor{name, dtype, shape, data})
	b.w.constants[key] = name
	return name
}

// scalar is a constant number.
func (b *builder) scalar(dtype ir.DType, v float64) string {
	return b.constant(dtype, nil, ir.AppendElement(nil, dtype, v))
}

// vector is a constant list of int64.
func (b *builder) vector(values ...int) string {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(int64(v)))
	}
	return b.constant(ir.Int64, []int{len(values)}, data)
}

// shape returns the name of a list of lengths, worked out at run time where they are open.
func (b *builder) shape(dims []dim) (string, error) {
	if !slices.ContainsFunc(dims, func(d dim) bool { return !d.isFixed() }) {
		return b.vector(constants(dims)...), nil
	}
	parts := make([]string, len(dims))
	for i, d := range dims {
		var err error
		if parts[i], err = b.length(d); err != nil {
			return "", err
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return b.add("Concat", parts, attribute{"axis", 0}), nil
}

func constants(dims []dim) []int {
	out := make([]int, len(dims))
	for i, d := range dims {
		out[i] = d.constant
	}
	return out
}

// length returns the name of a list with one length. What is worked out stands in the main graph.
func (b *builder) length(d dim) (string, error) {
	switch {
	case d.odd:
		return "", b.errorf("a length follows the open axes in no simple way; give them lengths in the shape of the input")
	case d.isFixed():
		return b.vector(d.constant), nil
	}
	if name, ok := b.w.lengths[d]; ok {
		return name, nil
	}
	if d.length != 0 || d.both != 0 {
		b.w.needsL = b.node().Scope
	}
	main := b.w.main
	var sum string
	for _, term := range []struct {
		factor      int
		useB, useL  bool
		description string
	}{{d.both, true, true, "batch and length"}, {d.batch, true, false, "batch"}, {d.length, false, true, "length"}} {
		if term.factor == 0 {
			continue
		}
		product := ""
		for _, open := range []struct{ use, batch bool }{{term.useB, true}, {term.useL, false}} {
			if !open.use {
				continue
			}
			name := main.openLength(open.batch)
			if name == "" {
				return "", b.errorf("a length follows the %s, but no input has that axis", term.description)
			}
			product = main.times(product, name)
		}
		if term.factor != 1 {
			product = main.add("Mul", list(product, b.vector(term.factor)))
		}
		if sum == "" {
			sum = product
		} else {
			sum = main.add("Add", list(sum, product))
		}
	}
	if d.constant != 0 {
		sum = main.add("Add", list(sum, b.vector(d.constant)))
	}
	b.w.lengths[d] = sum
	return sum, nil
}

func (b *builder) times(x, y string) string {
	if x == "" {
		return y
	}
	return b.add("Mul", list(x, y))
}

// openLength reads the batch, or the length of the other open axes, from the shape of an input.
func (b *builder) openLength(batch bool) string {
	key := dim{length: 1}
	if batch {
		key = dim{batch: 1}
	}
	if name, ok := b.w.lengths[key]; ok {
		return name
	}
	for i, in := range b.w.p.Inputs {
		for _, axis := range in.Open {
			if (axis == 0) == batch {
				name := b.add("Shape", list(b.g.inputs[i].name), attribute{"start", axis}, attribute{"end", axis + 1})
				b.w.lengths[key] = name
				return name
			}
		}
	}
	return ""
}

// maxInt64 stands for "to the end" in a Slice.
const maxInt64 = math.MaxInt64
