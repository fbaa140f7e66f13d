package layers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
)

// LambdaFunc is the function of a [Lambda] layer. The context tells whether the model is training.
type LambdaFunc func(c *Context, inputs []*ops.Tensor) *ops.Tensor

// Lambda applies a Go function to its inputs. It has no weights; for those write a layer type. A model with a Lambda can be saved
// only if the function is given by a name, made known with [RegisterLambda]; a file from Keras that holds Python code cannot be
// read, but one that names a registered function can.
//
// Input and output shape: what the function makes of them. A mask does not pass through.
type Lambda struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	// Function is a LambdaFunc, a func(x *ops.Tensor) *ops.Tensor, or the name of a registered LambdaFunc. Required.
	Function any `keras:"function"`
}

var lambdas = map[string]LambdaFunc{}

// RegisterLambda makes a function known by name to Lambda layers. It panics when the name is taken, and is called from init.
func RegisterLambda(name string, f LambdaFunc) {
	if _, taken := lambdas[name]; taken {
		panic("layers: RegisterLambda called twice for " + name)
	}
	lambdas[name] = f
}

// Forward calls the function.
func (l *Lambda) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	f, err := lambdaFunction(l.Function)
	if err != nil {
		ops.Fail(c.Graph(), err)
	}
	y := f(c, in)
	if y == nil {
		ops.Failf(c.Graph(), "the function of the Lambda returned nil; expected a tensor")
	}
	return []*ops.Tensor{y}
}

func lambdaFunction(function any) (LambdaFunc, error) {
	switch f := function.(type) {
	case LambdaFunc:
		return f, nil
	case func(*Context, []*ops.Tensor) *ops.Tensor:
		return f, nil
	case func(*ops.Tensor) *ops.Tensor:
		return func(c *Context, in []*ops.Tensor) *ops.Tensor { return f(one(c, in)) }, nil
	case string:
		if f, ok := lambdas[f]; ok {
			return f, nil
		}
		return nil, fmt.Errorf("no function is registered under %q; known: %s; make it known with layers.RegisterLambda", f, strings.Join(lambdaNames(), ", "))
	}
	return nil, fmt.Errorf("the Function is a %T; expected a layers.LambdaFunc, a func(*ops.Tensor) *ops.Tensor or the name of a registered function", function)
}

func lambdaNames() []string {
	names := make([]string, 0, len(lambdas))
	for name := range lambdas {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Call applies the layer inside a trace.
func (l *Lambda) Call(c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return Invoke(l, c, inputs...)
}

// IgnoredConfig lists what follows from the function.
func (l *Lambda) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "output_shape", "mask=null")
}

// MigrateConfig refuses arguments: a Go function has them built in.
func (l *Lambda) MigrateConfig(keys map[string]json.RawMessage) error {
	var arguments map[string]json.RawMessage
	if raw, ok := keys["arguments"]; ok && json.Unmarshal(raw, &arguments) == nil && len(arguments) > 0 {
		return fmt.Errorf("the Lambda's function has arguments %s, which a registered Go function cannot take; register a function with these values built in and write {} instead", raw)
	}
	delete(keys, "arguments")
	delete(keys, "module")
	delete(keys, "function_type")
	delete(keys, "output_shape_type")
	delete(keys, "output_shape_module")
	return nil
}

func init() {
	Register[Lambda]()
	config.RegisterKindWith("function", resolveLambda, func(v any) (any, error) {
		name, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("the function of a Lambda has no name; register it with layers.RegisterLambda and set Function to the name, so that the model can be saved")
		}
		return map[string]any{"module": "builtins", "class_name": "function", "config": name, "registered_name": "function"}, nil
	})
}

func resolveLambda(v any) (any, error) {
	switch v := v.(type) {
	case config.Object:
		if name, ok := v.FunctionName(); ok {
			_, err := lambdaFunction(name)
			return name, err
		}
		return nil, fmt.Errorf("the Lambda holds Python code (%s), which cannot run here; register a Go function with layers.RegisterLambda and name it in the configuration", v.ClassName)
	case string:
		_, err := lambdaFunction(v)
		return v, err
	case []any:
		return nil, fmt.Errorf("the Lambda holds Python code, which cannot run here; register a Go function with layers.RegisterLambda and name it in the configuration")
	}
	return v, nil
}
