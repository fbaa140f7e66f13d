package layers

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Unknown is the length of an axis that is known only at run time, like None in Keras. It is usually that of axis 0,
// the batch.
const Unknown = -1

// KerasTensor stands for the result of a layer while a Functional model is described. It has a shape and records the
// call that makes it. It also carries errors, which keras.NewFunctional reports.
type KerasTensor struct {
	shape ir.Shape
	dtype ir.DType
	name  string
	node  *Node
	index int
	mask  ir.Type // of the mask that comes with it; the zero type: none does
	err   error
}

// Node is one call of a layer, or of an [Operation], on symbolic tensors.
type Node struct {
	Layer    Layer
	Inputs   []*KerasTensor // all tensors among the arguments, in the order of the arguments, those by name last
	Outputs  []*KerasTensor
	Sequence uint64

	arguments *Arguments // nil where the inputs say everything
	call      binding
	compute   func(c *Context, in []*ops.Tensor) []*ops.Tensor // of a call that says what is computed; nil is the layer's Forward
	training  *bool                                            // of a call that says whether it is training; nil: its caller does
}

// NewInput returns a symbolic tensor that no layer makes: an input of a model. shape includes the batch axis.
func NewInput(name string, dtype ir.DType, shape ...int) *KerasTensor {
	t := &KerasTensor{shape: slices.Clone(shape), dtype: dtype, name: name, node: &Node{Sequence: sequences.Add(1)}}
	for i, d := range shape {
		if d < 0 && d != Unknown { //dim:known what was declared
			t.err = fmt.Errorf("layers: input %q: axis %d of shape %s is %d; expected a length of at least 0, or layers.Unknown", name, i, ShapeString(shape), d)
		}
	}
	t.node.Outputs = []*KerasTensor{t}
	return t
}

// Failed returns a tensor that carries an error, which is reported when a model is created from it.
func Failed(err error) *KerasTensor { return &KerasTensor{err: err} }

// Shape returns the length of each axis, or Unknown for open axes.
func (t *KerasTensor) Shape() ir.Shape { return t.shape }

// DType returns the element type.
func (t *KerasTensor) DType() ir.DType { return t.dtype }

// Node returns the call that makes the tensor, and which of its results it is. The layer of an input's node is nil.
func (t *KerasTensor) Node() (*Node, int) { return t.node, t.index }

// Name returns the name of an input; "" for other tensors.
func (t *KerasTensor) Name() string { return t.name }

// SetName names an input that has no name.
func (t *KerasTensor) SetName(name string) { t.name = name }

// Err returns the error that occurred while this tensor was described, or nil.
func (t *KerasTensor) Err() error {
	if t == nil {
		return fmt.Errorf("layers: a tensor of the model is nil")
	}
	return t.err
}

// String prints shape and type with None for open axes, (None, 28, 28, 1) float32, or the error of [KerasTensor.Err].
func (t *KerasTensor) String() string {
	if t.err != nil {
		return "no tensor: " + t.err.Error()
	}
	return ShapeString(t.shape) + " " + t.DTypeName()
}

// ShapeString prints a shape as Keras does: (None, 10), (3,).
func ShapeString(s ir.Shape) string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = fmt.Sprint(d)
		if d == Unknown || !dim.Known(d) {
			parts[i] = "None"
		}
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// Apply records the call of a layer on symbolic tensors and returns its (first) result. A layer applied twice shares
// its weights.
func Apply(l Layer, inputs ...*KerasTensor) *KerasTensor { return ApplyAll(l, inputs...)[0] }

// ApplyAll is Apply for layers with several results. After an error the list is longer than that of any layer, so that
// indexing it does not panic before the error is reported.
func ApplyAll(l Layer, inputs ...*KerasTensor) []*KerasTensor {
	if a, order, ok := dictOfImages(l, inputs); ok {
		return inOrder(ApplyArguments(l, a), order)
	}
	inputs = slices.Clone(inputs) // the caller may use its slice for the next layer
	n := &Node{Layer: l, Inputs: inputs}
	for _, t := range inputs {
		n.call.inputs = append(n.call.inputs, Operand{Tensor: t})
	}
	return record(n)
}

// record determines the results of a call.
func record(n *Node) []*KerasTensor {
	for i, in := range n.Inputs {
		if in == nil {
			return failedAll(fmt.Errorf("layers: input %d of %s is nil; pass the result of keras.Input or of another Apply", i, describe(n.Layer)))
		}
		if in.err != nil {
			return failedAll(in.err)
		}
	}
	if err := refusesComplex(n); err != nil {
		return failedAll(err)
	}
	specs := make([]ir.Type, len(n.Inputs))
	for i, in := range n.Inputs {
		specs[i] = ir.Type{DType: in.dtype, Shape: in.shape}
	}
	constants := n.constants()
	if _, host := AsHostLayer(n.Layer); host && len(constants) > 0 {
		return failedAll(fmt.Errorf("layers: %s works on the host and takes no constants in its call; make them inputs of the model", ClassName(n.Layer)))
	}
	invoke := n.invoke
	if fed, staged, err := n.stagedTypes(); err != nil {
		return failedAll(err)
	} else if staged {
		specs, invoke = fed, func(c *Context, in []*ops.Tensor) []*ops.Tensor { return n.InvokeOn(c, in...) }
	}
	masks := make([]ir.Type, len(specs))
	if len(specs) == len(n.Inputs) {
		for i, in := range n.Inputs {
			masks[i] = in.mask
		}
	}
	types, made, err := inferTypes(n.Layer, specs, masks, invoke)
	if err != nil && slices.ContainsFunc(constants, func(a kernels.Array) bool {
		return len(a.Type.Shape) > 0 && a.Type.Shape[0] > 1 //dim:known a constant's
	}) {
		n.call.spread = true // their first axis may be the batch
		if again, with, failed := inferTypes(n.Layer, specs, masks, n.invoke); failed == nil {
			types, made, err = again, with, nil
		}
	}
	if err != nil {
		return failedAll(err)
	}
	n.Sequence = sequences.Add(1)
	for i, t := range types {
		n.Outputs = append(n.Outputs, &KerasTensor{shape: t.Shape, dtype: t.DType, node: n, index: i})
		if i < len(made) {
			n.Outputs[i].mask = made[i]
		}
	}
	return n.Outputs
}

// stagedTypes returns the types of the inputs of a model's program if the model begins on the host.
func (n *Node) stagedTypes() (fed []ir.Type, staged bool, err error) {
	s, ok := n.Layer.(Staged)
	if !ok || IsNil(n.Layer) {
		return nil, false, nil
	}
	operands := n.Operands()
	types := make([]ir.Type, len(operands))
	for i, o := range operands {
		if o.Tensor == nil {
			return nil, false, nil // what is wrong with a constant is said when the model is called
		}
		types[i] = ir.Type{DType: o.Tensor.dtype, Shape: o.Tensor.shape}
	}
	return s.StagedTypes(types)
}

//go:noinline
func failedAll(err error) []*KerasTensor { return slices.Repeat([]*KerasTensor{Failed(err)}, 16) }

// describe returns the kind of a layer, which may be nil.
func describe(l Layer) string {
	if IsNil(l) {
		return "a nil layer"
	}
	return config.A(ClassName(l))
}

// InferTypes returns the types of a layer's results for inputs with open axes, and builds the layer in the process.
// After an error, inner layers that were being built are unbuilt again.
func InferTypes(l Layer, inputs []ir.Type) ([]ir.Type, error) {
	types, _, err := inferTypes(l, inputs, nil, func(c *Context, in []*ops.Tensor) []*ops.Tensor { return InvokeAll(l, c, in...) })
	return types, err
}

// inferTypes also takes the types of the inputs' masks, if they have any, and returns those of the results' masks.
func inferTypes(l Layer, inputs, masks []ir.Type, invoke func(*Context, []*ops.Tensor) []*ops.Tensor) (types, made []ir.Type, err error) {
	if IsNil(l) {
		return nil, nil, errNilLayer
	}
	if h, ok := AsHostLayer(l); ok {
		types, err = inferHostTypes(h, inputs)
		return types, nil, err
	}
	if err := refuseText(l, inputs); err != nil {
		return nil, nil, err
	}
	built := builtLayers(l)
	types, made, err = traceTypes(inputs, masks, invoke)
	if err != nil {
		unbuild(l, built)
	}
	return types, made, err
}

// traceTypes traces a layer once. Open axes are named sizes: one for the batch, which all inputs share, and one for
// each other axis.
func traceTypes(inputs, masks []ir.Type, invoke func(*Context, []*ops.Tensor) []*ops.Tensor) (out, made []ir.Type, err error) {
	defer ops.Catch(&err)
	types := SymbolicTypes(inputs)
	defer catchOpenMemory(types)
	batch := 1
	if len(types) > 0 && len(types[0].Shape) > 0 {
		batch = types[0].Shape[0]
	}
	r := distribute.NewReplica("shapes", 1, batch, batch)
	in := make([]*ops.Tensor, len(types))
	for i, t := range types {
		in[i] = r.Graph().Input(fmt.Sprint("in", i), t.DType, t.Shape...)
		if i < len(masks) && masks[i].DType != ir.Invalid {
			in[i] = in[i].WithMask(r.Graph().Input(fmt.Sprint("mask", i), masks[i].DType, maskShape(masks[i].Shape, t.Shape, i)...))
		}
	}
	r.Probing = true
	results := invoke(r.Inference(), in)
	made = make([]ir.Type, len(results))
	for i, y := range results {
		if m := y.Mask(); m != nil {
			made[i] = openTypes([]ir.Type{m.Type()})[0]
		}
	}
	return openTypes(outputTypes(results)), made, nil
}

// maskShape returns the shape of the mask of input i. Its open axes have the lengths of the input's open axes.
func maskShape(mask, of ir.Shape, i int) ir.Shape {
	s := mask.Clone()
	for j, d := range s {
		switch {
		case d != Unknown:
		case j < len(of) && !dim.Known(of[j]):
			s[j] = of[j]
		case j == 0:
			s[j] = dim.Symbol("batch")
		default:
			s[j] = dim.Symbol(fmt.Sprint("mask_", i, "_axis_", j))
		}
	}
	return s
}

// catchOpenMemory turns the runtime's panic about memory of an open length, which a layer tried to allocate, into an
// error.
func catchOpenMemory(types []ir.Type) {
	switch r := recover().(type) {
	case nil:
	case runtime.Error:
		if strings.Contains(r.Error(), "makeslice") && slices.ContainsFunc(types, func(t ir.Type) bool { return !dim.AllKnown(t.Shape) }) {
			ops.Failf(nil, "a layer asks for memory as long as an open axis (%v), whose length is not known while shapes are worked out; ask dim.Known first, use ops.Table, or give the axis a length in the shape of the input", r)
		}
		panic(r)
	default:
		panic(r)
	}
}

// SymbolicTypes returns types in which the sizes "batch", "axis_1", "axis_2", ... of package dim stand for open axes;
// from the second input on they are named "input_1_axis_1".
func SymbolicTypes(types []ir.Type) []ir.Type {
	out := make([]ir.Type, len(types))
	for i, t := range types {
		s := t.Shape.Clone()
		for j, d := range s {
			switch {
			case d != Unknown:
			case j == 0:
				s[j] = dim.Symbol("batch")
			case i == 0:
				s[j] = dim.Symbol(fmt.Sprint("axis_", j))
			default:
				s[j] = dim.Symbol(fmt.Sprint("input_", i, "_axis_", j))
			}
		}
		out[i] = ir.Type{DType: t.DType, Shape: s}
	}
	return out
}

// openTypes is the inverse: sizes that are not constant become Unknown.
func openTypes(types []ir.Type) []ir.Type {
	out := make([]ir.Type, len(types))
	for i, t := range types {
		s := t.Shape.Clone()
		for j, d := range s {
			if !dim.Known(d) {
				s[j] = Unknown
			}
		}
		out[i] = ir.Type{DType: t.DType, Shape: s}
	}
	return out
}
