package layers

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Operand is a tensor argument of a call: a symbolic tensor, or a constant.
type Operand struct {
	Tensor   *KerasTensor  // nil for a constant
	Constant kernels.Array // where Tensor is nil
	Argument string        // its name in Keras's call, such as "inputs" or "initial_state"

	repeated bool // stands a second time, for an argument that was left out; without the mask that came with it
}

// Shape returns the shape of the tensor or of the constant.
func (o Operand) Shape() ir.Shape {
	if o.Tensor != nil {
		return o.Tensor.shape
	}
	return o.Constant.Type.Shape
}

// DType returns the element type of the tensor or of the constant.
func (o Operand) DType() ir.DType {
	if o.Tensor != nil {
		return o.Tensor.dtype
	}
	return o.Constant.Type.DType
}

// again returns the same tensor for another argument.
func (o Operand) again(argument string) Operand {
	o.Argument, o.repeated = argument, true
	return o
}

// binding assigns the tensors of a call to inputs and masks.
type binding struct {
	inputs []Operand  // handed to the layer, in its order
	masks  []*Operand // one for each input, nil for none; or nil: those that came with the inputs
	keep   bool       // where masks has nil, the mask that came with the input stands
	spoken *Operand   // a mask that the layer takes after its inputs
	passed bool       // the masks count for the results, too
	spread bool       // constants have a row for each example
	halves bool       // masks of numbers count from more than 0.5 on
}

// bind finds the inputs and masks of a layer's call, by the names of its parameters.
func bind(l Layer, a Arguments) (binding, error) {
	n, err := nameArguments(l, a)
	if err == nil {
		err = n.literals(l)
	}
	_, halves := l.(*Softmax)
	b := binding{halves: halves}
	if err == nil {
		err = n.pick(l)
	}
	if err == nil {
		err = b.takeInputs(l, n)
	}
	if err == nil {
		err = b.takeMasks(l, n)
	}
	if err != nil {
		return b, fmt.Errorf("layers: %s: %w", ClassName(l), err)
	}
	return b, nil
}

// dictTaker is implemented by models that pick their inputs from a dict by name.
type dictTaker interface {
	// PickInputs returns the inputs that a dict holds, in the order of the model's own; an error names those that are
	// missing.
	PickInputs(given map[string]any) (any, error)
}

// pick replaces a dict of inputs by a list.
func (n namedArguments) pick(l Layer) error {
	taker, ok := l.(dictTaker)
	if !ok {
		return nil
	}
	v := n.values["inputs"]
	if list, isList := v.([]any); isList && CallParameters(l) == nil && len(list) == 1 { // the arguments by position
		v = list[0]
	}
	given, isDict := v.(map[string]any)
	if !isDict {
		return nil
	}
	picked, err := taker.PickInputs(given)
	n.values["inputs"] = picked
	return err
}

// inputNames lists the names under which Keras passes tensors to calls that have no signature here, in the order in
// which layers take them.
var inputNames = []string{"inputs", "sequences", "sequence", "x", "data", "query", "value", "key", "attention_mask", "initial_state", "states"}

func (b *binding) takeInputs(l Layer, n namedArguments) error {
	names := CallParameters(l)
	if names == nil {
		names = inputNames
	}
	for _, name := range slices.Sorted(maps.Keys(n.values)) {
		if !slices.Contains(names, name) && !isMaskName(name) && hasTensor(n.values[name]) {
			return fmt.Errorf("its call takes no tensor %q", name)
		}
	}
	found := map[string][]Operand{}
	for _, name := range names {
		v, given := n.values[name]
		if !given || isMaskName(name) || isLiteral(v) || v == nil {
			continue
		}
		operands, err := operandsOf(v, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		found[name] = operands
	}
	if err := checkRoles(l, found); err != nil {
		return err
	}
	for _, name := range names {
		b.inputs = append(b.inputs, found[name]...)
	}
	return nil
}

// checkRoles arranges the inputs of layers that tell them apart by position, and refuses types that would be mistaken
// for something else.
func checkRoles(l Layer, found map[string][]Operand) error {
	switch l.(type) {
	case *MultiHeadAttention, *GroupQueryAttention:
		for _, name := range []string{"query", "value", "key", "attention_mask"} {
			if len(found[name]) > 1 {
				return fmt.Errorf("its argument %q must be one tensor, received %d", name, len(found[name]))
			}
		}
		for _, o := range found["key"] {
			if o.DType() == ir.Bool {
				return fmt.Errorf("its key is of type bool; expected a float type, or attention_mask for a mask")
			}
		}
		if len(found["attention_mask"]) > 0 && len(found["key"]) == 0 && len(found["value"]) == 1 {
			found["key"] = []Operand{found["value"][0].again("key")} // so that the mask is the fourth
		}
	}
	for _, name := range []string{"initial_state", "states"} {
		for _, o := range found[name] {
			if o.DType() == ir.Bool {
				return fmt.Errorf("its %s is of type bool; expected a float type, or mask for a mask", name)
			}
		}
	}
	return nil
}

// takeMasks finds the masks. Names decide which input a mask belongs to: a "key_mask" belongs to "key", and a "mask" to
// all inputs.
func (b *binding) takeMasks(l Layer, n namedArguments) error {
	for _, name := range slices.Sorted(maps.Keys(n.values)) {
		v := n.values[name]
		if !isMaskName(name) || v == nil || v == false {
			continue
		}
		if _, multi := l.(*MultiHeadAttention); multi && name == "query_mask" {
			continue // Keras puts the mask that came with the query in its place
		}
		if params := CallParameters(l); params != nil && !slices.Contains(params, name) {
			return fmt.Errorf("its call takes no tensor %q; it takes %v", name, params)
		}
		list, err := maskList(v, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if name != "mask" {
			if err := b.maskOf(l, name, list); err != nil {
				return err
			}
			continue
		}
		b.passed = !slices.Contains(n.positional, name)
		if _, recurrent := l.(interface{ ResetState() error }); recurrent && len(list) == 1 && list[0] != nil {
			b.spoken = list[0]
			continue
		}
		_, b.keep = l.(Container)
		if b.masks == nil {
			b.masks = make([]*Operand, len(b.inputs))
		}
		for i, m := range list {
			if i < len(b.masks) {
				b.masks[i] = m
			} else if m != nil && (i > 2 || len(b.inputs) < 2) { // attention may be given a mask for a key that it lacks
				return fmt.Errorf("its call has a mask for input %d, of %d", i, len(b.inputs))
			}
		}
	}
	return nil
}

// maskOf attaches a mask such as "value_mask" to the input that it is named after.
func (b *binding) maskOf(l Layer, name string, list []*Operand) error {
	of := name[:len(name)-len("_mask")]
	at := slices.IndexFunc(b.inputs, func(o Operand) bool { return o.Argument == of })
	if value := slices.IndexFunc(b.inputs, func(o Operand) bool { return o.Argument == "value" }); of == "key" && at < 0 && value >= 0 {
		at = value + 1 // the key is the value
		b.inputs = slices.Insert(b.inputs, at, b.inputs[value].again("key"))
		if b.masks != nil {
			b.masks = slices.Insert(b.masks, at, nil)
		}
	}
	if at < 0 || len(list) != 1 {
		return fmt.Errorf("its call takes no tensor %q", name)
	}
	if b.masks == nil {
		b.masks = make([]*Operand, len(b.inputs))
	}
	b.keep = true
	b.masks[at] = list[0]
	return nil
}

// maskList reads a mask, or a list of masks with nil for none.
func maskList(v any, name string) ([]*Operand, error) {
	if list, ok := v.([]any); ok && (hasTensor(v) || slices.Contains(list, nil)) {
		var out []*Operand
		for _, e := range list {
			if e == nil {
				out = append(out, nil)
				continue
			}
			more, err := maskList(e, name)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		return out, nil
	}
	operands, err := operandsOf(v, name)
	if err != nil {
		return nil, err
	}
	out := make([]*Operand, len(operands))
	for i := range operands {
		out[i] = &operands[i]
	}
	return out, nil
}

// hasTensor reports whether a value holds a symbolic tensor or an array.
func hasTensor(v any) bool {
	switch v := v.(type) {
	case *KerasTensor, kernels.Array, ConstantTensor:
		return true
	case []any:
		return slices.ContainsFunc(v, hasTensor)
	case map[string]any:
		for _, e := range v {
			if hasTensor(e) {
				return true
			}
		}
	}
	return false
}

// operandsOf lists the tensors of an argument. Nested lists of only numbers are one constant: int32 if all numbers are
// whole, otherwise float32.
func operandsOf(v any, name string) ([]Operand, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *KerasTensor:
		return []Operand{{Tensor: v, Argument: name}}, nil
	case kernels.Array:
		return []Operand{{Constant: v, Argument: name}}, nil
	case ConstantTensor:
		return []Operand{{Constant: v.Array, Argument: name}}, nil
	case map[string]any:
		var out []Operand
		for _, key := range slices.Sorted(maps.Keys(v)) {
			more, err := operandsOf(v[key], name)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		return out, nil
	case []any:
		if !hasTensor(v) {
			break
		}
		var out []Operand
		for _, e := range v {
			more, err := operandsOf(e, name)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		return out, nil
	}
	a, err := constantOf(v)
	return []Operand{{Constant: a, Argument: name}}, err
}

// constantOf makes an array from a number or from nested lists of numbers.
func constantOf(v any) (kernels.Array, error) {
	shape, values, dtype, err := numbersIn(v)
	if err != nil {
		return kernels.Array{}, err
	}
	return kernels.FromFloat64s(dtype, shape, values)
}

func numbersIn(v any) (shape ir.Shape, values []float64, dtype ir.DType, err error) {
	switch v := v.(type) {
	case bool:
		return ir.Shape{}, []float64{oneIf(v)}, ir.Bool, nil
	case int64:
		return ir.Shape{}, []float64{float64(v)}, ir.Int32, nil
	case float64:
		return ir.Shape{}, []float64{v}, ir.Float32, nil
	case []any:
		shape, dtype = ir.Shape{len(v)}, ir.Float32
		for i, e := range v {
			inner, more, d, err := numbersIn(e)
			if err != nil {
				return nil, nil, 0, err
			}
			if i == 0 {
				shape, dtype = append(shape, inner...), d
			} else if !inner.Equal(shape[1:]) {
				return nil, nil, 0, fmt.Errorf("an array has rows of shapes %v and %v", shape[1:], inner)
			}
			if d != dtype && dtype != ir.Float32 {
				if dtype = ir.Float32; d != ir.Float32 {
					dtype = ir.Int32
				}
			}
			values = append(values, more...)
		}
		return shape, values, dtype, nil
	}
	return nil, nil, 0, fmt.Errorf("received %s; expected a tensor, an array, or nested lists of numbers", config.Received(v))
}

// tensors computes the inputs and, if other masks than those of the inputs count for the results, the inputs with those
// masks.
//
//go:noinline
func (b *binding) tensors(c *Context, value func(*KerasTensor) *ops.Tensor) (inputs, speaking []*ops.Tensor) {
	var batch *ops.Tensor
	for _, o := range b.inputs {
		if o.Tensor != nil && len(o.Tensor.shape) > 0 && batch == nil {
			batch = value(o.Tensor)
		}
	}
	at := func(o Operand) *ops.Tensor {
		if o.Tensor != nil {
			return value(o.Tensor)
		}
		return constantTensor(c, o.Constant, b.spread && c.Probing, batch)
	}
	inputs = make([]*ops.Tensor, len(b.inputs))
	for i, o := range b.inputs {
		if inputs[i] = at(o); o.repeated {
			inputs[i] = inputs[i].WithMask(nil)
		}
	}
	original := inputs
	if b.masks != nil {
		inputs = slices.Clone(inputs)
		for i, m := range b.masks {
			switch {
			case m != nil:
				inputs[i] = inputs[i].WithMask(b.boolean(at(*m)))
			case !b.keep:
				inputs[i] = inputs[i].WithMask(nil)
			}
		}
	}
	if b.spoken != nil {
		inputs = append(slices.Clone(inputs), b.boolean(at(*b.spoken)))
	}
	if b.passed || b.masks == nil && b.spoken == nil {
		return inputs, nil
	}
	return inputs, original
}

// boolean converts a mask of numbers to bools.
func (b *binding) boolean(mask *ops.Tensor) *ops.Tensor {
	switch {
	case mask.DType() == ir.Bool:
		return mask
	case b.halves && mask.DType().IsFloat():
		return ops.CompareScalar(ir.Gt, mask, 0.5)
	case b.halves:
		return ops.CompareScalar(ir.Gt, mask, 0)
	}
	return ops.Cast(mask, ir.Bool)
}

// exactConstant returns a constant with all bits of an array, even those of large integers.
func exactConstant(c ops.Traced, a kernels.Array) *ops.Tensor {
	values, d := a.Float64s(), a.Type.DType
	x := ops.Constant(c, d, a.Type.Shape, values)
	if d != ir.Int64 && d != ir.Uint64 || !slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v) >= 1<<53 }) {
		return x
	}
	high, low := make([]float64, len(values)), make([]float64, len(values))
	for i := range values {
		low[i] = float64(binary.LittleEndian.Uint32(a.Data[8*i:]))
		high[i] = float64(binary.LittleEndian.Uint32(a.Data[8*i+4:]))
	}
	words := func(v []float64) *ops.Tensor { return ops.Constant(c, d, a.Type.Shape, v) }
	return ops.BitwiseOr(ops.LeftShift(words(high), ops.Full(c, d, 32)), words(low))
}

// constantTensor makes a constant part of a program. While shapes are computed for batch lengths other than the
// constant's, its first row stands for all rows if spread says so.
func constantTensor(c ops.Traced, a kernels.Array, spread bool, batch *ops.Tensor) *ops.Tensor {
	x := exactConstant(c, a)
	if !spread || batch == nil || x.Rank() == 0 || x.Dim(0) < 2 { //dim:known a constant's
		return x
	}
	shape := x.Shape().Clone()
	shape[0] = batch.Dim(0)
	return ops.BroadcastTo(ops.SliceAxis(x, 0, 0, 1), shape...)
}
