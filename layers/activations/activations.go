// Package activations holds the activation functions of keras.activations by name. The functions themselves, with their
// formulas and options, are in package ops; a name stands for a function with Keras's default options.
package activations

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Func is an activation function: it maps each element, or each row along the last axis.
type Func = func(x *ops.Tensor) *ops.Tensor

// Linear returns x.
func Linear(x *ops.Tensor) *ops.Tensor { return x }

// Options have the defaults of Keras's activations module, which differ from those of keras.ops for gelu.

func elu(x *ops.Tensor) *ops.Tensor        { return ops.Elu(x, 1) }
func celu(x *ops.Tensor) *ops.Tensor       { return ops.Celu(x, 1) }
func leakyRelu(x *ops.Tensor) *ops.Tensor  { return ops.LeakyRelu(x, 0.2) }
func gelu(x *ops.Tensor) *ops.Tensor       { return ops.Gelu(x, false) }
func glu(x *ops.Tensor) *ops.Tensor        { return ops.Glu(x, -1) }
func hardShrink(x *ops.Tensor) *ops.Tensor { return ops.HardShrink(x, 0.5) }
func softShrink(x *ops.Tensor) *ops.Tensor { return ops.SoftShrink(x, 0.5) }
func softmax(x *ops.Tensor) *ops.Tensor    { return ops.Softmax(x, -1) }
func logSoftmax(x *ops.Tensor) *ops.Tensor { return ops.LogSoftmax(x, -1) }
func sparsemax(x *ops.Tensor) *ops.Tensor  { return Sparsemax(x, -1) }
func squareplus(x *ops.Tensor) *ops.Tensor { return ops.Squareplus(x, 4) }

// Sparsemax is Keras's function of that name (up to version 3.15): with x sorted in decreasing order along axis,
// running sums s, and k the number of positions (from 1) with x > (s - 1)/position,
//
//	y = max(x - tau, 0),   tau = (Σ over these positions of s - 1) / k
//
// The paper's tau uses the last of these sums instead of their total, which makes y sum to 1; that is [ops.Sparsemax].
// A model trained by Keras needs this one.
func Sparsemax(x *ops.Tensor, axis int) *ops.Tensor {
	if !x.DType().IsFloat() {
		x = ops.Cast(x, ir.Float32).WithMask(x.Mask())
	}
	sorted := ops.Negative(ops.Sort(ops.Negative(x), axis))
	sums := ops.Cumsum(sorted, axis)
	place := ops.AddScalar(ops.Iota(x, sorted.DType(), axis, sorted.Shape()...), 1)
	support := ops.CompareScalar(ir.Gt, ops.Subtract(sorted, ops.Divide(ops.SubtractScalar(sums, 1), place)), 0)
	total := ops.Sum(ops.Where(support, sums, ops.ZerosLike(sums)), axis)
	tau := ops.Divide(ops.SubtractScalar(total, 1), ops.Sum(ops.Cast(support, sorted.DType()), axis))
	return ops.MaximumScalar(ops.Subtract(x, ops.KeepDims(tau, x, axis)), 0).WithMask(x.Mask())
}

var registry = config.NewFunctions[Func]("activations: Register")

// aliases are second names; a function is saved under its first.
var aliases = map[string]string{"swish": "silu", "hard_swish": "hard_silu"}

func init() {
	for name, f := range map[string]Func{
		"celu": celu, "elu": elu, "exponential": ops.Exponential, "gelu": gelu, "glu": glu, "hard_shrink": hardShrink,
		"hard_sigmoid": ops.HardSigmoid, "hard_silu": ops.HardSilu, "hard_tanh": ops.HardTanh, "leaky_relu": leakyRelu,
		"linear": Linear, "log_sigmoid": ops.LogSigmoid, "log_softmax": logSoftmax, "mish": ops.Mish, "relu": ops.Relu,
		"relu6": ops.Relu6, "selu": ops.Selu, "sigmoid": ops.Sigmoid, "silu": ops.Silu, "soft_shrink": softShrink,
		"softmax": softmax, "softplus": ops.Softplus, "softsign": ops.Softsign, "sparse_plus": ops.SparsePlus,
		"sparse_sigmoid": ops.SparseSigmoid, "sparsemax": sparsemax, "squareplus": squareplus, "tanh": ops.Tanh,
		"tanh_shrink": ops.TanhShrink,
	} {
		registry.Add(name, f)
	}
	config.RegisterKindWith("activation", func(v any) (any, error) { return resolve(v) }, describe)
}

// Register gives a function a name, so that it can be given as a string and models that use it can be saved and read.
// In files the name is "Custom>name", or has the given package instead of Custom, as in Python with
// @keras.saving.register_keras_serializable(package=...); the name alone suffices if only one package has it. Call
// Register from init. It panics if the name is taken. The function must not be a closure, because all closures of one
// function literal would share the name.
func Register(name string, f Func, packageName ...string) {
	registry.Register(name, f, packageName)
}

// Names lists the registered names in alphabetical order.
func Names() []string { return registry.Names() }

// Name returns the name that a function is registered under, and whether it is registered.
func Name(f Func) (string, bool) {
	if f == nil {
		return "linear", true
	}
	name, _ := registry.Name(f)
	return name, name != ""
}

// Get returns the activation function that v stands for: a function, or the name of one ("relu", "swish"). nil and ""
// are linear.
func Get(activation any) (Func, error) {
	switch v := config.Given(activation).(type) {
	case nil:
		return Linear, nil
	case Func:
		if v == nil {
			return Linear, nil
		}
		return v, nil
	case string:
		return byName(v)
	case config.Object:
		if name, ok := v.FunctionName(); ok {
			return byName(name)
		}
		return nil, fmt.Errorf("activations: an object of class %q is no activation function; use a function's name, or a layer of its own", v.ClassName)
	}
	return nil, fmt.Errorf("activations: received %s; expected a name (string) or a func(*ops.Tensor) *ops.Tensor", config.Received(activation))
}

func byName(name string) (Func, error) {
	if name == "" {
		return Linear, nil
	}
	if full, ok := aliases[name]; ok {
		name = full
	}
	if name == "threshold" {
		return nil, fmt.Errorf("activations: threshold needs two values, which a name cannot give; use a function that calls ops.Threshold")
	}
	_, f, ok := registry.Find(name)
	if !ok {
		return nil, fmt.Errorf("activations: unknown activation %q; %sknown: %s, swish, hard_swish; register your own with activations.Register", name,
			config.Guess(name, Names(), []string{"swish", "hard_swish"}), strings.Join(Names(), ", "))
	}
	return f, nil
}

// resolve keeps names unchanged, so that a configuration is read as it was written. A layer may take the place of a
// function.
func resolve(v any) (any, error) {
	if o, ok := v.(config.Object); ok {
		if _, isFunction := o.FunctionName(); !isFunction {
			return config.Resolve("layer", o)
		}
	}
	if isLayer(v) {
		return v, nil
	}
	f, err := Get(v)
	if err != nil {
		return nil, err
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	return f, nil
}

// isLayer reports whether v is a value of its own kind, neither a name nor a function.
func isLayer(v any) bool {
	t := reflect.TypeOf(v)
	return t != nil && t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

func describe(v any) (any, error) {
	if isLayer(v) {
		return config.Describe("layer", v)
	}
	f, err := Get(v)
	if err != nil {
		return nil, err
	}
	name, ok := Name(f)
	if !ok {
		return nil, fmt.Errorf("the activation is a Go function without a name; make it known with activations.Register so that the model can be saved")
	}
	if strings.Contains(name, ">") { // Keras writes functions that it does not have itself as objects
		return config.FunctionObject(name), nil
	}
	return name, nil
}
