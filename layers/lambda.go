package layers

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
)

// LambdaFunc is the function of a [Lambda] layer. The context reports whether the model is training.
type LambdaFunc func(c *Context, inputs []*ops.Tensor) *ops.Tensor

// Lambda applies a Go function to its inputs. It has no weights; if you need weights, write a layer type. A model with
// a Lambda can be saved only if the function is given by name: one registered with [RegisterLambda], or a function of
// keras.ops ("relu", see [OperationNames]). A file from Keras that holds Python code cannot be read, but one that names
// such a function can.
//
// Input and output shape: as the function defines them. A mask does not pass through.
type Lambda struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	// Function is a LambdaFunc, a func(x *ops.Tensor) *ops.Tensor, or the name of a registered LambdaFunc or of a
	// function of keras.ops. Required.
	Function any `keras:"function"`

	arguments Keywords // of a function of keras.ops, from a file
}

var lambdas = config.NewFunctions[LambdaFunc]("layers: RegisterLambda")

// RegisterLambda registers a function for Lambda layers under a name. Files contain "Custom>name", or the given package
// instead of Custom; the name alone finds it if only one package has it. Call RegisterLambda from init. It panics if
// the name is taken or the function is nil.
func RegisterLambda(name string, f LambdaFunc, packageName ...string) {
	lambdas.Register(name, f, packageName)
}

// lambdaNamed finds a registered function.
func lambdaNamed(name string) (full string, f LambdaFunc) {
	if full, f, ok := lambdas.Find(name); ok {
		return full, f
	}
	return name, nil
}

// Forward calls the function.
func (l *Lambda) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	f, err := lambdaFunction(l.Function, l.arguments)
	if err != nil {
		ops.Fail(c.Graph(), err)
	}
	y := f(c, in)
	if y == nil {
		ops.Failf(c.Graph(), "the function of the Lambda returned nil; expected a tensor")
	}
	return []*ops.Tensor{y}
}

func lambdaFunction(function any, arguments Keywords) (LambdaFunc, error) {
	switch f := function.(type) {
	case LambdaFunc:
		return f, nil
	case func(*Context, []*ops.Tensor) *ops.Tensor:
		return f, nil
	case func(*ops.Tensor) *ops.Tensor:
		return func(c *Context, in []*ops.Tensor) *ops.Tensor { return f(one(c, in)) }, nil
	case string:
		if _, registered := lambdaNamed(f); registered != nil {
			return registered, nil
		}
		if k := operationNames[f]; k != nil {
			return func(c *Context, in []*ops.Tensor) *ops.Tensor { return k.onTensors(c, in, arguments) }, nil
		}
		return nil, fmt.Errorf("no function is registered under %q; known: %s; make it known with layers.RegisterLambda", f, strings.Join(lambdas.Names(), ", "))
	}
	return nil, fmt.Errorf("the Function is %s; expected a layers.LambdaFunc, a func(*ops.Tensor) *ops.Tensor or the name of a registered function", config.Received(function))
}

// onTensors applies a function of keras.ops to tensors of a trace.
func (k *operationKind) onTensors(c *Context, in []*ops.Tensor, named Keywords) *ops.Tensor {
	symbols, values := make([]any, len(in)), map[*KerasTensor]*ops.Tensor{}
	for i, x := range in {
		t := &KerasTensor{shape: x.Shape(), dtype: x.DType()}
		symbols[i], values[t] = t, x
	}
	var args []any
	if len(in) > 1 && len(k.params) > 0 && k.params[0].name == "xs" {
		symbols = []any{symbols}
	}
	args = append(args, symbols...)
	settings, call, err := k.arrange(append(args, named))
	if err != nil {
		ops.Fail(c.Graph(), fmt.Errorf("the function %q of the Lambda: %w", k.name, err))
	}
	return (&Operation{kind: k, settings: settings}).compute(c.Graph(), call, false, func(t *KerasTensor) *ops.Tensor { return values[t] })[0]
}

// IgnoredConfig lists what follows from the function.
func (l *Lambda) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "output_shape", "mask=null")
}

// MigrateConfig reads the arguments of a function of keras.ops. It refuses arguments of other functions, because Go
// functions take none.
func (l *Lambda) MigrateConfig(keys map[string]json.RawMessage) error {
	var arguments map[string]json.RawMessage
	if raw, ok := keys["arguments"]; ok && json.Unmarshal(raw, &arguments) == nil && len(arguments) > 0 {
		name := functionNamed(keys["function"])
		if _, f := lambdaNamed(name); f != nil || operationNames[name] == nil {
			return fmt.Errorf("the Lambda's function has arguments %s, which a registered Go function cannot take; register a function with these values built in and write {} instead", raw)
		}
		l.arguments = Keywords{}
		for key, v := range arguments {
			if !json.Valid(v) {
				return fmt.Errorf("argument %q of the Lambda is not JSON: %.40s", key, v)
			}
			l.arguments[key] = literalOf(string(v))
		}
	}
	delete(keys, "arguments")
	delete(keys, "module")
	delete(keys, "function_type")
	delete(keys, "output_shape_type")
	delete(keys, "output_shape_module")
	return nil
}

// functionNamed returns the name in the object of a function, or "" if there is none.
func functionNamed(raw json.RawMessage) string {
	var o struct {
		Config string `json:"config"`
	}
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return name
	}
	if json.Unmarshal(raw, &o) == nil {
		return o.Config
	}
	return ""
}

// AmendConfig writes the arguments of a function of keras.ops.
func (l *Lambda) AmendConfig(keys map[string]any) error {
	if len(l.arguments) > 0 {
		keys["arguments"] = l.arguments
	}
	return nil
}

func init() {
	Register[Lambda]()
	config.RegisterKindWith("function", resolveLambda, func(v any) (any, error) {
		name, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("the function of a Lambda has no name; register it with layers.RegisterLambda and set Function to the name, so that the model can be saved")
		}
		name, _ = lambdaNamed(name)
		return config.FunctionObject(name), nil
	})
}

func resolveLambda(v any) (any, error) {
	switch v := v.(type) {
	case config.Object:
		if name, ok := v.FunctionName(); ok {
			_, err := lambdaFunction(name, nil)
			return name, err
		}
		return nil, fmt.Errorf("the Lambda holds Python code (%s), which cannot run here; register a Go function with layers.RegisterLambda and name it in the configuration", v.ClassName)
	case string:
		_, err := lambdaFunction(v, nil)
		return v, err
	case []any:
		return nil, fmt.Errorf("the Lambda holds Python code, which cannot run here; register a Go function with layers.RegisterLambda and name it in the configuration")
	}
	return v, nil
}
