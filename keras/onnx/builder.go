package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// builder writes the nodes of one graph.
type builder struct {
	w        *writer
	g        *graph
	trace    *ir.Program
	operands map[ir.Value]operand
	index    int // of the current node
}

// operand represents a value. A loose operand has axes of length 1, or lacks leading axes, along which the value
// repeats: ONNX's elementwise operations, which broadcast, take it unchanged.
type operand struct {
	name  string
	rank  int // of the named tensor
	loose bool
}

// node returns the current node.
func (b *builder) node() *ir.Node { return &b.trace.Nodes[b.index] }

func (b *builder) dtype(v ir.Value) ir.DType { return b.trace.Type(v).DType }

// errorf returns an error about the current node.
func (b *builder) errorf(format string, args ...any) error {
	return fmt.Errorf("layer %q: %v: %w", b.node().Scope, b.node().Op, fmt.Errorf(format, args...))
}

// dims returns the axis lengths of a value.
func (b *builder) dims(v ir.Value) []int { return b.trace.Type(v).Shape }

// fixedInts checks that numbers among the attributes do not depend on open axes.
func (b *builder) fixedInts(what string, values ...int) ([]int, error) {
	for _, d := range values {
		if !dim.Known(d) {
			return nil, b.errorf("its %s follows an open axis (%s), which ONNX has no way to say; give that axis a length in the shape of the input", what, dim.String(d))
		}
	}
	return values, nil
}

// body writes all nodes that are needed.
func (b *builder) body() error {
	live := b.trace.Live()
	for i := range b.trace.Nodes {
		if !live[i] {
			continue
		}
		b.index = i
		n := b.node()
		write := operations()[n.Op]
		if write == nil {
			return b.errorf("%s", missing(n.Op))
		}
		before := len(b.g.nodes)
		if err := write(b, n); err != nil {
			return err
		}
		if err := b.checkKernels(n, b.g.nodes[before:]); err != nil {
			return err
		}
	}
	return nil
}

// Runtimes do not implement every operation for every type. These are the gaps of ONNX Runtime on CPUs, the most
// complete one.
var (
	withoutFloat64 = []string{"Atan", "Tan", "Sinh", "Erf", "Cosh", "Atanh", "Asinh", "Asin", "Acosh", "Acos", "Conv", "ConvTranspose", "AveragePool"}
	withBFloat16   = []string{
		"Cast", "Identity", "Squeeze", "Unsqueeze", "Transpose", "Reshape", "Shape", "Concat", "Slice", "Gather", "ScatterND", "LayerNormalization",
	}
)

// checkKernels reports an operation that no runtime implements for its type.
func (b *builder) checkKernels(n *ir.Node, written []*node) error {
	of := func(d ir.DType) bool {
		is := func(v ir.Value) bool { return b.dtype(v) == d }
		return slices.ContainsFunc(n.Inputs, is)
	}
	for _, v := range slices.Concat(n.Inputs, n.Outputs) {
		if d := b.dtype(v); elementTypes[d] == 0 {
			return b.errorf("values of type %v have no place in an ONNX file; convert them to another type", d)
		}
	}
	for _, w := range written {
		if of(ir.Float64) && slices.Contains(withoutFloat64, w.op) {
			return b.errorf("it is float64, for which ONNX runtimes have no %s; make the model with the policy float32", w.op)
		}
		if of(ir.BFloat16) && !slices.Contains(withBFloat16, w.op) {
			return b.errorf("it is bfloat16, for which ONNX runtimes have no %s; make the model with the policy float32 or mixed_float16", w.op)
		}
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
	if b.index < len(b.trace.Nodes) {
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

// set records that a value has its full shape under a name.
func (b *builder) set(v ir.Value, name string) {
	b.operands[v] = operand{name: name, rank: b.trace.Type(v).Shape.Rank()}
}

// full returns the name of a value with its full shape.
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

// constant returns the name of a constant of the main graph, which bodies can also use.
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

// scalar returns the name of a constant number.
func (b *builder) scalar(dtype ir.DType, v float64) string {
	return b.constant(dtype, nil, ir.AppendElement(nil, dtype, v))
}

// vector returns the name of a constant list of int64.
func (b *builder) vector(values ...int) string {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(int64(v)))
	}
	return b.constant(ir.Int64, []int{len(values)}, data)
}

// shape returns the name of a list of lengths. Open lengths are computed at run time.
func (b *builder) shape(dims []int) (string, error) {
	if !slices.ContainsFunc(dims, func(d int) bool { return !dim.Known(d) && d != maxInt64 }) {
		return b.vector(dims...), nil
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

// maxInt64 stands for "to the end" in a Slice.
const maxInt64 = math.MaxInt64
