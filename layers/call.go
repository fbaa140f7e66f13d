package layers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Keywords are arguments given by name.
type Keywords map[string]any

// Arguments are those of one call, as Keras records them in the graph of a Functional model: by position and by name. A value is a
// *KerasTensor, a number, a string, a bool, nil, a [Slice], [Ellipsis], a kernels.Array, or a []any of such values.
type Arguments struct {
	Positional []any
	Keywords   Keywords
}

// tensors lists the symbolic tensors among the arguments, those by name last, in the order of the names.
func (a Arguments) tensors() []*KerasTensor {
	out := tensorsIn(nil, a.Positional)
	for _, name := range slices.Sorted(maps.Keys(a.Keywords)) {
		out = tensorsIn(out, a.Keywords[name])
	}
	return out
}

func tensorsIn(out []*KerasTensor, v any) []*KerasTensor {
	switch v := v.(type) {
	case *KerasTensor:
		out = append(out, v)
	case []*KerasTensor:
		out = append(out, v...)
	case []any:
		for _, e := range v {
			out = tensorsIn(out, e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = tensorsIn(out, v[key])
		}
	}
	return out
}

// binding says what the tensors of a call are for.
type binding struct {
	inputs []*KerasTensor // handed to the layer, in its order
	masks  []*KerasTensor // one for each input, nil where the mask that came with it stands; or nil
}

// tensorKeywords are the names under which Keras hands tensors to a call, in the order in which the layers here take them.
var tensorKeywords = []string{"inputs", "sequences", "sequence", "x", "data", "query", "value", "key", "attention_mask", "initial_state", "states"}

// bind finds the inputs and masks of a layer's call. Arguments that are not tensors must have been set on the layer before.
func bind(l Layer, a Arguments) (binding, error) {
	b := binding{inputs: tensorsIn(nil, a.Positional)}
	places := map[string]int{"": 0, "query": 0, "value": 1, "key": 2}
	for _, name := range tensorKeywords {
		if found := tensorsIn(nil, a.Keywords[name]); len(found) > 0 {
			places[name] = len(b.inputs)
			b.inputs = append(b.inputs, found...)
		}
	}
	for name, v := range a.Keywords {
		found := tensorsIn(nil, v)
		if len(found) == 0 || slices.Contains(tensorKeywords, name) {
			continue
		}
		of, isMask := strings.CutSuffix(name, "mask")
		at, known := places[strings.TrimSuffix(of, "_")]
		if !isMask || !known {
			return b, fmt.Errorf("layers: %s: its call takes no tensor %q", describe(l), name)
		}
		if b.masks == nil {
			b.masks = make([]*KerasTensor, len(b.inputs))
		}
		list, many := v.([]any)
		if !many {
			list = []any{v}
		}
		for i, m := range list {
			if t, ok := m.(*KerasTensor); ok {
				if at+i >= len(b.masks) {
					return b, fmt.Errorf("layers: %s: its call has a mask for input %d, of %d", describe(l), at+i, len(b.inputs))
				}
				b.masks[at+i] = t
			}
		}
	}
	return b, nil
}

// variedCaller is implemented by layers that compute different things in different calls, by arguments that are not tensors.
type variedCaller interface {
	// argumentsOfCalls names those arguments.
	argumentsOfCalls() []string
	// forwardWith returns what a call with the given arguments computes, instead of Forward.
	forwardWith(a Arguments) (func(c *Context, in []*ops.Tensor) []*ops.Tensor, error)
}

// IsCallArgument reports whether name is an argument of single calls of the layer, which may differ between them, as reverse of
// [ReversibleEmbedding]. Others belong to the layer; see [SetCallArgument].
func IsCallArgument(l Layer, name string) bool {
	v, ok := l.(variedCaller)
	return ok && slices.Contains(v.argumentsOfCalls(), name)
}

// dictCaller is implemented by layers whose call takes a dict in Keras.
type dictCaller interface {
	// dictOfInputs puts inputs into the dict; false leaves them as they are.
	dictOfInputs(inputs []*KerasTensor) (Arguments, bool)
}

// ApplyArguments records the call of a layer in the form in which Keras writes it, with tensors by position and by name. Masks given by
// name ("mask", "query_mask") replace those that came with the inputs.
func ApplyArguments(l Layer, a Arguments) []*KerasTensor {
	n := &Node{Layer: l, Inputs: a.tensors(), arguments: &a}
	if _, isOperation := l.(*Operation); !isOperation {
		var err error
		if n.call, err = bind(l, a); err != nil {
			return failedAll(err)
		}
		if v, ok := l.(variedCaller); ok {
			if n.compute, err = v.forwardWith(a); err != nil {
				return failedAll(fmt.Errorf("layers: %s: %w", describe(l), err))
			}
		}
	}
	if len(n.Inputs) == 0 {
		return failedAll(fmt.Errorf("layers: the call of a %s has no symbolic tensor among its arguments; pass the result of keras.Input or of another layer", describe(l)))
	}
	return record(n)
}

// Arguments returns the arguments of the call, as far as they were given in the form of Keras; ok tells whether they were.
func (n *Node) Arguments() (a Arguments, ok bool) {
	if n.arguments == nil {
		return Arguments{}, false
	}
	return *n.arguments, true
}

// Operands returns the tensors that the layer is called with, without masks; of an [Operation], all tensors.
func (n *Node) Operands() []*KerasTensor {
	if n.call.inputs == nil {
		return n.Inputs
	}
	return n.call.inputs
}

// Invoke computes the call; value returns what stands for a symbolic tensor.
func (n *Node) Invoke(c *Context, value func(*KerasTensor) *ops.Tensor) []*ops.Tensor {
	if o, ok := n.Layer.(*Operation); ok && n.arguments != nil {
		inputs := make([]*ops.Tensor, len(n.Inputs))
		for i, t := range n.Inputs {
			inputs[i] = value(t)
		}
		return invoke(o, c, inputs, func([]*ops.Tensor) []*ops.Tensor { return o.compute(c.Graph(), *n.arguments, value) })
	}
	inputs := make([]*ops.Tensor, len(n.call.inputs))
	for i, t := range n.call.inputs {
		inputs[i] = value(t)
		if i < len(n.call.masks) && n.call.masks[i] != nil {
			inputs[i] = inputs[i].WithMask(ops.Cast(value(n.call.masks[i]), ir.Bool))
		}
	}
	if n.compute != nil {
		return invoke(n.Layer, c, inputs, func(in []*ops.Tensor) []*ops.Tensor { return n.compute(c, in) })
	}
	return InvokeAll(n.Layer, c, inputs...)
}

// invoke is Invoke for the values of Inputs in their order.
func (n *Node) invoke(c *Context, in []*ops.Tensor) []*ops.Tensor {
	values := make(map[*KerasTensor]*ops.Tensor, len(in))
	for i, t := range n.Inputs {
		values[t] = in[i]
	}
	return n.Invoke(c, func(t *KerasTensor) *ops.Tensor { return values[t] })
}
