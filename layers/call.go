package layers

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
)

// Keywords are arguments given by name.
type Keywords map[string]any

// Arguments are those of one call, as Keras records them in the graph of a Functional model: by position and by name. A
// value is a *KerasTensor, a number, a string, a bool, nil, a [Slice], [Ellipsis], a kernels.Array, a [ConstantTensor],
// or a []any of such values.
type Arguments struct {
	Positional []any
	Keywords   Keywords

	// TrainingYields says that what the model is doing overrides the argument "training". This is so for calls in files
	// of Keras 3, whose fit and predict override the argument.
	TrainingYields bool
}

// ConstantTensor is a constant that Keras holds as a tensor of its backend, whereas a plain kernels.Array is a NumPy
// array. Both compute the same, but files distinguish them. Functional models that are called with a list or dict take
// tensors only, so arrays in these become tensors; elsewhere both stay as they are.
type ConstantTensor struct{ kernels.Array }

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

// variedCaller is implemented by layers whose calls compute different things, depending on arguments that are not
// tensors.
type variedCaller interface {
	// argumentsOfCalls names those arguments.
	argumentsOfCalls() []string
	// forwardWith returns what a call with the given arguments computes, instead of Forward.
	forwardWith(a Arguments) (func(c *Context, in []*ops.Tensor) []*ops.Tensor, error)
}

// IsCallArgument reports whether name is an argument of single calls of the layer, which may differ between them, as
// reverse of [ReversibleEmbedding]. Others belong to the layer; see [SetCallArgument].
func IsCallArgument(l Layer, name string) bool {
	v, ok := l.(variedCaller)
	return ok && slices.Contains(v.argumentsOfCalls(), name)
}

// ApplyArguments records the call of a layer in the form in which Keras writes it, with arguments by position and by
// name as [CallParameters] lists them. Tensors may be symbolic or constant (a kernels.Array, or nested lists of
// numbers). Masks given by name ("mask", "query_mask") replace those that came with the inputs. An argument that the
// call does not have is an error.
func ApplyArguments(l Layer, a Arguments) []*KerasTensor {
	a, err := a.normal()
	if err != nil {
		return failedAll(fmt.Errorf("layers: the call of %s: %w", describe(l), err))
	}
	_, isOperation := l.(*Operation)
	if !isOperation && !IsNil(l) && ClassName(l) == "Functional" {
		a = a.converted()
	}
	n := &Node{Layer: l, Inputs: a.tensors(), arguments: &a}
	if !isOperation && !IsNil(l) {
		if n.call, err = bind(l, a); err != nil {
			return failedAll(err)
		}
		if n.training, err = trainingOf(l, a); err != nil {
			return failedAll(fmt.Errorf("layers: the call of %s: %w", describe(l), err))
		}
		if a.TrainingYields {
			n.training = nil
		}
		if v, ok := l.(variedCaller); ok {
			if n.compute, err = v.forwardWith(a); err != nil {
				return failedAll(fmt.Errorf("layers: %s: %w", ClassName(l), err))
			}
		}
	}
	if len(n.Inputs) == 0 {
		return failedAll(fmt.Errorf("layers: the call of %s has no symbolic tensor among its arguments, so that its result would be a constant; pass the result of keras.Input or of another layer, or compute it in Go and pass the array where it is needed", describe(l)))
	}
	return record(n)
}

// ApplyWith is [Apply] with arguments by name that Keras gives in the call. All layers accept "training", which says
// for this call whether the layer and the layers inside it are training, whatever the model is doing. Use it for a base
// model whose batch normalization keeps its statistics during fine-tuning, or for dropout in predictions, which drops
// different numbers in each batch. Arguments that are fields of the layer here (use_causal_mask of attention) are set
// before the layer's first call and hold for all its calls. An argument that calls of the layer do not have is an
// error.
//
//	features := layers.ApplyWith(base, layers.Keywords{"training": false}, x) // base(x, training=False)
//
// That is what Keras documents and what Keras 2 did. In Keras 3 (3.15), fit and predict override the argument, so
// models from its files behave as they do there. In models from files of this module the argument holds.
func ApplyWith(l Layer, keywords Keywords, inputs ...*KerasTensor) *KerasTensor {
	if err := keywords.known(l); err != nil {
		return Failed(fmt.Errorf("layers: the call of %s: %w", describe(l), err))
	}
	keywords, err := keywords.settle(l)
	if err != nil {
		return Failed(fmt.Errorf("layers: the call of %s: %w", describe(l), err))
	}
	a, err := asApplied(l, keywords, inputs)
	if err != nil {
		return Failed(fmt.Errorf("layers: the call of %s: %w", describe(l), err))
	}
	return ApplyArguments(l, a)[0]
}

// asApplied converts the inputs of [Apply], which are in the layer's order, to the arguments of Keras's call. There the
// states of a recurrent layer are one list, as are the inputs of a model or of attention, and masks, which Apply does
// not take, come in between.
func asApplied(l Layer, keywords Keywords, inputs []*KerasTensor) (Arguments, error) {
	var values []any
	for _, t := range inputs {
		values = append(values, t)
	}
	a := Arguments{Positional: values, Keywords: keywords}
	params := CallParameters(l)
	tensors := slices.DeleteFunc(slices.Clone(params), func(name string) bool { return !slices.Contains(inputNames, name) })
	if len(tensors) == 0 || len(values) < 2 {
		return a, nil
	}
	switch n := len(tensors); {
	case takesLists(l, tensors[n-1]) && len(values) > n:
		values = append(slices.Clone(values[:n-1]), values[n-1:])
	case len(values) > n:
		return a, nil
	}
	a.Positional, a.Keywords = nil, maps.Clone(keywords)
	for i, v := range values {
		name := tensors[i]
		if name == params[i] {
			a.Positional = append(a.Positional, v)
			continue
		}
		if _, twice := keywords[name]; twice {
			return a, fmt.Errorf("its argument %q is given by position and by name", name)
		}
		if a.Keywords == nil {
			a.Keywords = Keywords{}
		}
		a.Keywords[name] = v
	}
	return a, nil
}

// takesLists reports whether an argument of a layer's call is a list of tensors.
func takesLists(l Layer, name string) bool {
	switch l.(type) {
	case *Attention, *AdditiveAttention, Container:
		return true
	}
	return name == "initial_state" || name == "states"
}

// known refuses arguments that calls of a layer do not have. In files, such arguments are ignored if they are false or
// nil.
func (k Keywords) known(l Layer) error {
	if _, isOperation := l.(*Operation); isOperation || IsNil(l) {
		return nil
	}
	names := CallParameters(l)
	if names == nil {
		names = inputNames
	}
	names = append(slices.Clone(names), "training")
	for _, f := range callFields(l) {
		names = append(names, f.name)
	}
	for _, name := range slices.Sorted(maps.Keys(k)) {
		mask := isMaskName(name) && (k[name] == nil || !isLiteral(k[name])) // true or a number is none: a name misspelt
		if !slices.Contains(names, name) && !mask && !IsCallArgument(l, name) {
			return fmt.Errorf("it takes no argument %q, received %v; %sit takes \"training\", and what Keras's call does", name, k[name], config.Guess(name, names))
		}
	}
	return nil
}

// trainingOf returns what the arguments of a call say about training, or nil if they say nothing.
func trainingOf(l Layer, a Arguments) (*bool, error) {
	n, err := nameArguments(l, a)
	if err != nil {
		return nil, err
	}
	switch v := n.values["training"].(type) {
	case nil:
		return nil, nil
	case bool:
		return &v, nil
	case int64:
		return new(v != 0), nil
	case float64:
		return new(v != 0), nil
	default:
		return nil, fmt.Errorf("its argument \"training\" must be true, false or nil, received %v", v)
	}
}

// normal converts the values to the types that Arguments lists.
func (a Arguments) normal() (Arguments, error) {
	out := Arguments{Positional: make([]any, len(a.Positional)), Keywords: Keywords{}, TrainingYields: a.TrainingYields}
	for i, v := range a.Positional {
		var err error
		if out.Positional[i], err = argument(v); err != nil {
			return a, fmt.Errorf("argument %d: %w", i, err)
		}
	}
	for name, v := range a.Keywords {
		var err error
		if out.Keywords[name], err = argument(v); err != nil {
			return a, fmt.Errorf("argument %q: %w", name, err)
		}
	}
	return out, nil
}

// converted replaces arrays by tensors.
func (a Arguments) converted() Arguments {
	out := Arguments{Positional: make([]any, len(a.Positional)), Keywords: make(Keywords, len(a.Keywords)), TrainingYields: a.TrainingYields}
	for i, v := range a.Positional {
		out.Positional[i] = convertArrays(v)
	}
	for name, v := range a.Keywords {
		out.Keywords[name] = convertArrays(v)
	}
	return out
}

func convertArrays(v any) any {
	switch v := v.(type) {
	case kernels.Array:
		return ConstantTensor{v}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = convertArrays(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = convertArrays(e)
		}
		return out
	}
	return v
}

// Arguments returns the arguments of the call if they were given in Keras's form; ok reports whether they were.
func (n *Node) Arguments() (a Arguments, ok bool) {
	if n.arguments == nil {
		return Arguments{}, false
	}
	return *n.arguments, true
}

// Operands returns the tensors that the layer is called with, without masks; of an [Operation], all symbolic tensors.
//
//go:noinline
func (n *Node) Operands() []Operand {
	var out []Operand
	for _, o := range n.call.inputs {
		if !o.repeated {
			out = append(out, o)
		}
	}
	if n.call.inputs == nil {
		for _, t := range n.Inputs {
			out = append(out, Operand{Tensor: t})
		}
	}
	return out
}

// Invoke computes the call; value returns what stands for a symbolic tensor.
func (n *Node) Invoke(c *Context, value func(*KerasTensor) *ops.Tensor) []*ops.Tensor {
	if o, ok := n.Layer.(*Operation); ok && n.arguments != nil {
		inputs := make([]*ops.Tensor, len(n.Inputs))
		for i, t := range n.Inputs {
			inputs[i] = value(t)
		}
		return invoke(o, c, inputs, how{compute: func([]*ops.Tensor) []*ops.Tensor {
			return o.compute(c.Graph(), *n.arguments, n.call.spread && c.Probing, value)
		}})
	}
	inputs, speaking := n.call.tensors(c, value)
	h := how{masks: speaking}
	defer n.setTraining(c)()
	if n.compute != nil {
		h.compute = func(in []*ops.Tensor) []*ops.Tensor { return n.compute(c, in) }
	}
	return invoke(n.Layer, c, inputs, h)
}

// InvokeOn calls the layer on the given tensors instead of the call's arguments: on the results of a model's host
// stage. What the call says about training still holds.
func (n *Node) InvokeOn(c *Context, inputs ...*ops.Tensor) []*ops.Tensor {
	defer n.setTraining(c)()
	return InvokeAll(n.Layer, c, inputs...)
}

// setTraining makes what the call says about training hold until the function that it returns is called.
func (n *Node) setTraining(c *Context) (restore func()) {
	if n.training == nil {
		return func() {}
	}
	outer := c.Training
	c.Training = *n.training
	return func() { c.Training = outer }
}

// invoke is Invoke for the values of Inputs in their order.
func (n *Node) invoke(c *Context, in []*ops.Tensor) []*ops.Tensor {
	values := make(map[*KerasTensor]*ops.Tensor, len(in))
	for i, t := range n.Inputs {
		values[t] = in[i]
	}
	return n.Invoke(c, func(t *KerasTensor) *ops.Tensor { return values[t] })
}

// constants lists the arrays among the arguments of the call.
func (n *Node) constants() []kernels.Array {
	if n.arguments == nil {
		return nil
	}
	out := arraysIn(nil, n.arguments.Positional)
	for _, name := range slices.Sorted(maps.Keys(n.arguments.Keywords)) {
		out = arraysIn(out, n.arguments.Keywords[name])
	}
	for _, o := range n.call.inputs { // nested numbers, too
		if o.Tensor == nil {
			out = append(out, o.Constant)
		}
	}
	return out
}

func arraysIn(out []kernels.Array, v any) []kernels.Array {
	switch v := v.(type) {
	case kernels.Array:
		out = append(out, v)
	case ConstantTensor:
		out = append(out, v.Array)
	case []any:
		for _, e := range v {
			out = arraysIn(out, e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = arraysIn(out, v[key])
		}
	}
	return out
}
