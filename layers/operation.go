package layers

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Operation is a function of keras.ops as a step of a Functional model, like x + y or ops.mean(x) on Keras's symbolic
// tensors. [Op] makes and calls one. It has no weights and does not pass on masks. Files hold it as Keras writes it.
type Operation struct {
	Base

	Name string // in the model; "" is made from the class

	kind     *operationKind
	settings map[string]any // the arguments that Keras keeps with the operation ("axis"); the others belong to a call
}

// operationKind describes a class of operations.
type operationKind struct {
	module  string // of keras.src.ops
	class   string
	name    string // of the function in keras.ops
	params  []parameter
	compute func(a *operands) []*ops.Tensor
}

// parameter is one argument of a function of keras.ops.
type parameter struct {
	name     string
	setting  bool // kept with the operation
	variadic bool
	keywords bool // takes all arguments by other names
	required bool
	def      any
}

var (
	operationClasses = map[string]*operationKind{}
	operationNames   = map[string]*operationKind{}
)

// define makes an operation known. The signature is that of keras.ops, with a star before arguments that Keras stores
// in the operation: "mean(x, *axis=null, *keepdims=false)".
func define(module, class, signature string, compute func(a *operands) []*ops.Tensor) {
	name, list, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
	k := &operationKind{module: module, class: class, name: name, compute: compute}
	for _, text := range strings.Split(list, ", ") {
		var p parameter
		if text, p.keywords = strings.CutPrefix(text, "**"); !p.keywords {
			text, p.setting = strings.CutPrefix(text, "*")
		}
		text, p.variadic = strings.CutPrefix(text, "...")
		var def string
		var has bool
		p.name, def, has = strings.Cut(text, "=")
		p.required = !has && !p.variadic && !p.keywords
		if has {
			p.def = literalOf(def)
		}
		k.params = append(k.params, p)
	}
	if operationClasses[class] != nil {
		panic("layers: operation " + class + " is defined twice")
	}
	operationClasses[class] = k
	if operationNames[name] == nil {
		operationNames[name] = k
	}
}

// OperationNames lists the functions of keras.ops that [Op] knows, in alphabetical order.
func OperationNames() []string { return slices.Sorted(maps.Keys(operationNames)) }

// OperationClasses lists the classes of operations that files may hold, in alphabetical order.
func OperationClasses() []string { return slices.Sorted(maps.Keys(operationClasses)) }

// OperationSignature returns the signature of a function that [Op] knows, as in keras.ops, and its class in files; ok
// is false for an unknown name.
func OperationSignature(name string) (signature, class string, ok bool) {
	k, ok := operationNames[name]
	if !ok {
		return "", "", false
	}
	return k.signature(name), k.class, true
}

// signature is that of keras.ops.
func (k *operationKind) signature(name string) string {
	parts := make([]string, len(k.params))
	for i, p := range k.params {
		parts[i] = p.name
		switch {
		case p.keywords:
			parts[i] = "**" + p.name
		case p.variadic:
			parts[i] = "*" + p.name
		case !p.required:
			parts[i] += "=" + pythonText(p.def)
		}
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}

// Op calls a function of keras.ops on symbolic tensors and returns its (first) result. The arguments are those of Keras
// in their order; the last one may be [Keywords]:
//
//	y := layers.Op("mean", x, layers.Keywords{"axis": -1, "keepdims": true})
//	z := layers.Op("concatenate", []*layers.KerasTensor{x, y}, -1)
//
// An argument is a *KerasTensor, a Go number, string, bool, nil, a [Slice], [Ellipsis], a kernels.Array, or a slice of
// such values; dtypes are strings. Numbers take the type of the tensor that they are combined with, as in Python. An
// error is reported when a model is created from the result.
func Op(name string, args ...any) *KerasTensor { return OpAll(name, args...)[0] }

// OpAll is Op for functions with several results, such as "split" and "top_k".
func OpAll(name string, args ...any) []*KerasTensor {
	k := operationNames[name]
	if k == nil {
		return failedAll(unknownOperation(name))
	}
	settings, call, err := k.arrange(args)
	if err != nil {
		return failedAll(fmt.Errorf("layers: operation %q: %w", name, err))
	}
	return ApplyArguments(&Operation{kind: k, settings: settings}, call)
}

// creating lists the functions of keras.ops that create values without a tensor argument.
var creating = []string{"arange", "bartlett", "blackman", "empty", "eye", "full", "hamming", "hanning", "identity", "indices", "kaiser", "logspace", "ones", "tri", "zeros"}

func unknownOperation(name string) error {
	if slices.Contains(creating, name) {
		return fmt.Errorf("layers: %q makes numbers of no tensor, so there is nothing to call it on; compute them in Go and pass the array where they meet a tensor, as in layers.Op(\"add\", x, array) with an array of data.ArrayOf, or use ops in a layer's Forward", name)
	}
	return fmt.Errorf("layers: there is no operation %q; %sknown: %s", name, config.Guess(name, OperationNames()), strings.Join(OperationNames(), ", "))
}

// arrange separates the arguments of the operation from those of the call.
func (k *operationKind) arrange(args []any) (settings map[string]any, call Arguments, err error) {
	var named Keywords
	if n := len(args); n > 0 {
		if last, ok := args[n-1].(Keywords); ok {
			named, args = last, args[:n-1]
		}
	}
	settings = map[string]any{}
	used := 0
	for _, p := range k.params {
		value, given := named[p.name]
		switch {
		case p.keywords:
			call.Keywords = Keywords{}
			for name, v := range named {
				if !k.has(name) {
					used++
					if call.Keywords[name], err = argument(v); err != nil {
						return nil, call, fmt.Errorf("%s: %w", name, err)
					}
				}
			}
			continue
		case given:
			used++
		case p.variadic:
			for ; len(args) > 0; args = args[1:] {
				v, err := argument(args[0])
				if err != nil {
					return nil, call, fmt.Errorf("%s: %w", p.name, err)
				}
				call.Positional = append(call.Positional, v)
			}
			continue
		case len(args) > 0:
			value, args = args[0], args[1:]
		case p.required:
			return nil, call, fmt.Errorf("needs the argument %q", p.name)
		default:
			value = p.def
		}
		if value, err = argument(value); err != nil {
			return nil, call, fmt.Errorf("%s: %w", p.name, err)
		}
		if p.setting {
			settings[p.name] = k.setting(p.name, value)
		} else {
			call.Positional = append(call.Positional, value)
		}
	}
	if len(args) > 0 {
		return nil, call, fmt.Errorf("takes %d arguments, received %d more", len(k.params), len(args))
	}
	if used < len(named) {
		for name := range named {
			if !k.has(name) {
				return nil, call, fmt.Errorf("has no argument %q; it is %s", name, k.signature(k.name))
			}
		}
	}
	k.dropDefaults(&call)
	return settings, call, nil
}

// setting returns what Keras keeps for an argument. Its functions for convolutions and pooling replace a data format of
// None before they make the operation, and the operations that pool take None for channels first.
func (k *operationKind) setting(name string, value any) any {
	if name == "data_format" && value == nil && k.module == "nn" {
		return string(ChannelsLast)
	}
	return value
}

// dropDefaults removes trailing arguments that have their default values from a call, as users write it.
func (k *operationKind) dropDefaults(call *Arguments) {
	for _, p := range slices.Backward(k.params) {
		if p.setting || p.keywords {
			continue
		}
		last := len(call.Positional) - 1
		if p.variadic || p.required || last < 1 || !reflect.DeepEqual(call.Positional[last], p.def) {
			return
		}
		call.Positional = call.Positional[:last]
	}
}

// has reports whether the function has an argument of that name.
func (k *operationKind) has(name string) bool {
	return slices.ContainsFunc(k.params, func(p parameter) bool { return p.name == name && !p.keywords })
}

// NewOperation returns an operation of a class of Keras's files, with the settings that its configuration holds;
// [ApplyArguments] calls it.
func NewOperation(class string, settings map[string]any) (*Operation, error) {
	k := operationClasses[class]
	if k == nil {
		return nil, fmt.Errorf("layers: unknown operation %q; known: %s", class, strings.Join(OperationClasses(), ", "))
	}
	settings = maps.Clone(settings)
	for name := range settings {
		if !slices.ContainsFunc(k.params, func(p parameter) bool { return p.setting && p.name == name }) {
			if name == "trainable" || name == "dtype" { // what layers have, and older versions wrote for all
				delete(settings, name)
				continue
			}
			return nil, fmt.Errorf("layers: operation %s: unknown key %q in its configuration", class, name)
		}
	}
	return &Operation{kind: k, settings: settings}, nil
}

// ClassName returns Keras's class of the operation: "Mean".
func (o *Operation) ClassName() string {
	if o.kind == nil {
		return "Operation"
	}
	return o.kind.class
}

// Module returns the Python module of the class: "keras.src.ops.numpy".
func (o *Operation) Module() string {
	if o.kind == nil {
		return ""
	}
	return "keras.src.ops." + o.kind.module
}

// Settings returns a copy of the arguments that are kept with the operation.
func (o *Operation) Settings() map[string]any { return maps.Clone(o.settings) }

// Forward applies the operation to its tensor arguments, in order; the others have their defaults.
func (o *Operation) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	symbols := make([]any, len(in))
	values := map[*KerasTensor]*ops.Tensor{}
	for i, x := range in {
		t := &KerasTensor{}
		symbols[i], values[t] = t, x
	}
	return o.compute(c.Graph(), Arguments{Positional: symbols}, false, func(t *KerasTensor) *ops.Tensor { return values[t] })
}

// keepsInputType: operations compute in the type of their operands.
func (o *Operation) keepsInputType() {}

// compute binds the arguments of one call and computes it; see constantTensor for spread.
func (o *Operation) compute(g *ops.Graph, call Arguments, spread bool, value func(*KerasTensor) *ops.Tensor) []*ops.Tensor {
	if o.kind == nil {
		ops.Failf(g, "the Operation is empty; make one with layers.Op")
	}
	a := &operands{graph: g, values: map[string]any{}}
	a.constant = func(v kernels.Array) *ops.Tensor {
		var batch *ops.Tensor
		for _, t := range call.tensors() {
			if batch == nil && len(t.shape) > 0 {
				batch = value(t)
			}
		}
		return constantTensor(g, v, spread, batch)
	}
	positional := call.Positional
	used := 0
	for _, p := range o.kind.params {
		v, given := o.settings[p.name]
		if !p.setting {
			if v, given = call.Keywords[p.name]; given {
				used++
			}
		}
		switch {
		case p.keywords:
			others := map[string]any{}
			for name, v := range call.Keywords {
				if !o.kind.has(name) {
					used++
					others[name] = a.resolve(v, value)
				}
			}
			a.values[p.name] = others
			continue
		case given:
		case p.variadic:
			for _, v := range positional {
				a.rest = append(a.rest, a.resolve(v, value))
			}
			positional = nil
			continue
		case !p.setting && len(positional) > 0:
			v, positional = positional[0], positional[1:]
		case p.required:
			ops.Failf(a.graph, "needs the argument %q", p.name)
		default:
			v = p.def
		}
		a.values[p.name] = a.resolve(v, value)
	}
	if len(positional) > 0 || used < len(call.Keywords) {
		ops.Failf(a.graph, "%s takes other arguments than it was given: %d too many by position, %v by name", o.kind.name, len(positional), slices.Sorted(maps.Keys(call.Keywords)))
	}
	for _, t := range call.tensors() {
		if isComplex(t) && ofComplex[o.kind.class] != nil {
			return complexResult(o.kind.class, value(t))
		}
	}
	return o.kind.compute(a)
}

// Compute calls a function of keras.ops inside a trace and returns all its results. The arguments are those of [Op],
// with *ops.Tensor in place of symbolic tensors; mistakes end the trace.
func Compute(g *ops.Graph, name string, args ...any) []*ops.Tensor {
	k := operationNames[name]
	if k == nil {
		ops.Failf(g, "there is no operation %q; %sknown: %s", name, config.Guess(name, OperationNames()), strings.Join(OperationNames(), ", "))
	}
	values := map[*KerasTensor]*ops.Tensor{}
	settings, call, err := k.arrange(symbolic(args, values))
	if err != nil {
		ops.Failf(g, "operation %q: %v", name, err)
	}
	o := &Operation{kind: k, settings: settings}
	return o.compute(g, call, false, func(t *KerasTensor) *ops.Tensor { return values[t] })
}

// symbolic replaces tensors by symbolic ones, also in lists and keywords.
func symbolic(args []any, values map[*KerasTensor]*ops.Tensor) []any {
	replace := func(x *ops.Tensor) *KerasTensor {
		t := &KerasTensor{}
		values[t] = x
		return t
	}
	out := make([]any, len(args))
	for i, v := range args {
		switch v := v.(type) {
		case *ops.Tensor:
			out[i] = replace(v)
		case []*ops.Tensor:
			list := make([]*KerasTensor, len(v))
			for j, x := range v {
				list[j] = replace(x)
			}
			out[i] = list
		case Keywords:
			named := Keywords{}
			for key, x := range v {
				named[key] = symbolic([]any{x}, values)[0]
			}
			out[i] = named
		default:
			out[i] = v
		}
	}
	return out
}

// dtypeOf reads the name of an element type.
func dtypeOf(g *ops.Graph, name string) ir.DType {
	d, err := ir.ParseDType(name)
	if err != nil {
		ops.Fail(g, err)
	}
	return d
}
