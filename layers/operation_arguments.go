package layers

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Slice selects Start, Start+Step, ... before Stop along one axis, as in Python; nil is the end of the axis, or a step
// of 1, and negative numbers count from the end. See [KerasTensor.At].
type Slice struct{ Start, Stop, Step *int }

// Range is the Slice from start to before stop.
func Range(start, stop int) Slice { return Slice{Start: &start, Stop: &stop} }

// EllipsisType is the type of [Ellipsis].
type EllipsisType struct{}

// Ellipsis stands for all axes that an index does not name.
var Ellipsis EllipsisType

// argument brings what a user passes to one of the forms of [Arguments].
func argument(v any) (any, error) {
	switch v := v.(type) {
	case nil, *KerasTensor, bool, string, int64, float64, Slice, EllipsisType, kernels.Array, ConstantTensor:
		if t, ok := v.(*KerasTensor); ok && t == nil {
			return nil, fmt.Errorf("received a nil tensor; pass the result of keras.Input or of another layer")
		}
		return v, nil
	case ir.DType:
		return v.String(), nil
	}
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Map && r.Type().Key().Kind() == reflect.String {
		out := map[string]any{}
		for _, key := range r.MapKeys() {
			e, err := argument(r.MapIndex(key).Interface())
			if err != nil {
				return nil, fmt.Errorf("element %q: %w", key, err)
			}
			out[key.String()] = e
		}
		return out, nil
	}
	switch {
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint() && r.Uint() <= math.MaxInt64:
		return int64(r.Uint()), nil
	case r.CanFloat():
		return r.Float(), nil
	}
	if r.Kind() != reflect.Slice && r.Kind() != reflect.Array {
		return nil, fmt.Errorf("received a %T; expected a *layers.KerasTensor, a number, a string, a bool, nil, a layers.Slice, layers.Ellipsis, a kernels.Array, or a slice of these", v)
	}
	out := make([]any, r.Len())
	for i := range out {
		e, err := argument(r.Index(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		out[i] = e
	}
	return out, nil
}

// literalOf reads a default of a signature.
func literalOf(text string) any {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic("layers: bad default " + text)
	}
	if f, ok := v.(float64); ok && f == math.Trunc(f) && !strings.ContainsAny(text, ".e") {
		return int64(f)
	}
	if l, ok := v.([]any); ok {
		for i, e := range l {
			if f, ok := e.(float64); ok {
				l[i] = int64(f)
			}
		}
	}
	return v
}

// pythonText prints a default as Python does.
func pythonText(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return strings.ToUpper(fmt.Sprint(v)[:1]) + fmt.Sprint(v)[1:]
	case string:
		return "'" + v + "'"
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return fmt.Sprintf("%.1f", v)
		}
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = pythonText(e)
		}
		return "(" + strings.Join(parts, ", ") + ")"
	}
	return fmt.Sprint(v)
}

// operands are the arguments of a call inside a trace: tensors in place of symbolic ones.
type operands struct {
	graph  *ops.Graph
	values map[string]any
	rest   []any // of a variadic argument

	constant func(kernels.Array) *ops.Tensor
}

func (a *operands) resolve(v any, value func(*KerasTensor) *ops.Tensor) any {
	switch v := v.(type) {
	case *KerasTensor:
		t := value(v)
		if t == nil {
			ops.Failf(a.graph, "a tensor among the arguments does not belong to the model")
		}
		return t
	case kernels.Array:
		return a.constant(v)
	case ConstantTensor:
		return a.constant(v.Array)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = a.resolve(e, value)
		}
		return out
	}
	return v
}

//go:noinline
func (a *operands) fail(name, want string) {
	ops.Failf(a.graph, "argument %q must be %s, received %v", name, want, a.values[name])
}

func (a *operands) given(name string) bool { return a.values[name] != nil }

// tensor returns an argument as a tensor: numbers and lists of numbers become constants, whole ones int32, others
// float32.
//
//go:noinline
func (a *operands) tensor(name string) *ops.Tensor { return a.asTensor(name, a.values[name]) }

func (a *operands) asTensor(name string, v any) *ops.Tensor {
	switch v := v.(type) {
	case *ops.Tensor:
		return v
	case bool:
		return ops.Full(a.graph, ir.Bool, oneIf(v))
	case int64:
		return ops.Full(a.graph, ir.Int32, float64(v))
	case float64:
		return ops.Full(a.graph, ir.Float32, v)
	case []any:
		if len(v) == 0 {
			return ops.Zeros(a.graph, ir.Float32, 0)
		}
		parts := make([]*ops.Tensor, len(v))
		for i, e := range v {
			parts[i] = a.asTensor(name, e)
		}
		return ops.Stack(0, parts...)
	}
	a.fail(name, "a tensor")
	return nil
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// optional is tensor, or nil for None.
func (a *operands) optional(name string) *ops.Tensor {
	if !a.given(name) {
		return nil
	}
	return a.tensor(name)
}

// pair returns two arguments of a binary function. A number takes the type of the tensor that it meets, unless it is a
// fraction and the tensor is not, or whole and the tensor a bool. A whole number beyond the limits of the tensor's type
// wraps around, as in Keras: -1 is 255 where it meets uint8.
func (a *operands) pair(x, y string) (*ops.Tensor, *ops.Tensor) {
	u, uIsTensor := a.values[x].(*ops.Tensor)
	v, vIsTensor := a.values[y].(*ops.Tensor)
	switch {
	case uIsTensor && !vIsTensor:
		return u, a.like(u, y)
	case vIsTensor && !uIsTensor:
		return a.like(v, x), v
	}
	return a.tensor(x), a.tensor(y)
}

// exactPair is pair for functions that compute in floats, and for comparisons: there a whole number beyond the limits
// of the tensor's type keeps its value.
func (a *operands) exactPair(x, y string) (*ops.Tensor, *ops.Tensor) {
	if u, ok := a.values[x].(*ops.Tensor); ok && a.beyond(u.DType(), y) {
		return u, ops.ExactNumberBeside(u, a.values[y])
	}
	if v, ok := a.values[y].(*ops.Tensor); ok && a.beyond(v.DType(), x) {
		return ops.ExactNumberBeside(v, a.values[x]), v
	}
	return a.pair(x, y)
}

// beyond reports an argument that is a whole number beyond the limits of an integer type.
func (a *operands) beyond(d ir.DType, name string) bool {
	v, ok := a.values[name].(int64)
	return ok && d.IsInteger() && !d.Holds(v)
}

// truth is an argument as a bool: a number is true where it is not zero, whatever it meets.
func (a *operands) truth(name string) *ops.Tensor {
	switch v := a.values[name].(type) {
	case int64:
		return ops.Full(a.graph, ir.Bool, oneIf(v != 0))
	case float64:
		return ops.Full(a.graph, ir.Bool, oneIf(v != 0))
	}
	return ops.Cast(a.tensor(name), ir.Bool)
}

func (a *operands) like(t *ops.Tensor, name string) *ops.Tensor {
	switch v := a.values[name].(type) {
	case bool, int64, float64:
		return ops.NumberBeside(t, v)
	}
	return a.tensor(name)
}

// list returns an argument that is a list of tensors; a tensor alone is cut along its first axis.
func (a *operands) list(name string) []*ops.Tensor {
	v, ok := a.values[name].([]any)
	if !ok {
		x := a.tensor(name)
		if x.Rank() == 0 {
			a.fail(name, "a list of tensors")
		}
		a.bounded("the number of tensors in "+name, x.Dim(0), maxParts)
		return ops.Unstack(x, 0)
	}
	return a.asTensors(name, v)
}

func (a *operands) asTensors(name string, v []any) []*ops.Tensor {
	out := make([]*ops.Tensor, len(v))
	for i, e := range v {
		out[i] = a.asTensor(name, e)
	}
	if len(out) == 0 {
		a.fail(name, "a list of at least one tensor")
	}
	return out
}

func (a *operands) boolean(name string) bool {
	v, ok := a.values[name].(bool)
	if !ok && a.given(name) {
		a.fail(name, "true or false")
	}
	return v
}

func (a *operands) text(name string) string {
	v, ok := a.values[name].(string)
	if !ok && a.given(name) {
		a.fail(name, "a string")
	}
	return v
}

func (a *operands) number(name string) float64 {
	switch v := a.values[name].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case bool:
		return oneIf(v)
	}
	a.fail(name, "a number")
	return 0
}

// maxArgument bounds integers in files, so that sizes do not overflow.
const maxArgument = 1 << 40

func (a *operands) integer(name string) int {
	v := a.number(name)
	if v != math.Trunc(v) || math.Abs(v) > maxArgument {
		a.fail(name, "a whole number")
	}
	return int(v)
}

// integers returns a list of integers; one number stands for a list of one, None for nil.
func (a *operands) integers(name string) []int {
	switch v := a.values[name].(type) {
	case nil:
		return nil
	case []any:
		out := make([]int, len(v))
		for i, e := range v {
			n, ok := e.(int64)
			if f, isFloat := e.(float64); isFloat && f == math.Trunc(f) {
				n, ok = int64(f), true
			}
			if !ok || n > maxArgument || n < -maxArgument {
				a.fail(name, "a list of whole numbers")
			}
			out[i] = int(n)
		}
		return out
	}
	return []int{a.integer(name)}
}

// axes are the axes to reduce: all of x for None.
func (a *operands) axes(name string, x *ops.Tensor) []int {
	if a.given(name) {
		return a.integers(name)
	}
	all := make([]int, x.Rank())
	for i := range all {
		all[i] = i
	}
	return all
}

// dtype returns an element type, or def for None.
func (a *operands) dtype(name string, def ir.DType) ir.DType {
	if !a.given(name) {
		return def
	}
	return dtypeOf(a.graph, a.text(name))
}

// refuse reports an argument whose value is not one of those that can be computed here.
func (a *operands) refuse(name string, allowed ...any) {
	if !slices.Contains(allowed, a.values[name]) {
		ops.Failf(a.graph, "argument %q is %v; here it can only be one of %v", name, a.values[name], allowed)
	}
}

// The numbers that decide how much is built before anything runs are bounded, as files come from anywhere.
const (
	maxTable = 1 << 24 // elements of a constant
	maxParts = 1 << 14 // results, or steps that are traced one by one
)

// bounded reports a count that is too large to build.
func (a *operands) bounded(what string, n, limit int) {
	if dim.Known(n) && n > limit {
		ops.Failf(a.graph, "%s is %d; at most %d can be built", what, n, limit)
	}
}
