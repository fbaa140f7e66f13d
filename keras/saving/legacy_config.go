package saving

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// IsLegacyConfig reports whether a configuration is in the format of Keras 2.
func IsLegacyConfig(config []byte) bool {
	for _, sign := range []string{`"batch_input_shape"`, `"keras.src.engine`, `"keras.engine`, `"inbound_nodes": [[[`, `"inbound_nodes":[[[`} {
		if bytes.Contains(config, []byte(sign)) {
			return true
		}
	}
	return false
}

// ModernConfig rewrites the configuration of a model from the format of Keras 1 and 2 to that of Keras 3: shapes become
// batch_shape, the calls of a graph become objects with args and kwargs, operations outside of layers get their current
// names, and obsolete keys are dropped.
func ModernConfig(config []byte) ([]byte, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("the configuration is not JSON: %w", err)
	}
	v, err := modernize(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// object is a JSON object.
type object = map[string]any

// modernize rewrites all objects inside v.
func modernize(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			var err error
			if v[i], err = modernize(e); err != nil {
				return nil, err
			}
		}
	case object:
		if v["class_name"] == "Sequential" {
			if list, ok := v["config"].([]any); ok { // Keras 1
				v["config"] = object{"layers": list}
			}
			config, _ := v["config"].(object)
			declareInput(config)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key == "inbound_nodes" {
				continue
			}
			var err error
			if v[key], err = modernize(v[key]); err != nil {
				return nil, err
			}
		}
		if class, ok := v["class_name"].(string); ok {
			return modernizeObject(class, v)
		}
	}
	return v, nil
}

func modernizeObject(class string, o object) (any, error) {
	config, _ := o["config"].(object)
	switch class {
	case "Policy", "PolicyV1":
		return config["name"], nil
	case "Model":
		o["class_name"] = "Functional"
	case "InputLayer":
		rename(config, "batch_input_shape", "batch_shape")
		return o, nil
	case "TFOpLambda":
		if err := modernizeOperation(o, config); err != nil {
			return nil, err
		}
	}
	for _, key := range []string{"batch_input_shape", "input_length", "input_dtype"} {
		delete(config, key)
	}
	if isInitializer(o) {
		delete(config, "dtype")
	}
	return o, modernizeNodes(o)
}

// isInitializer reports whether an object is an initializer, judging by its class: those of Keras 1 and 2 have a type
// that means nothing here.
func isInitializer(o object) bool {
	switch o["class_name"] {
	case "Zeros", "Ones", "Constant", "RandomNormal", "RandomUniform", "TruncatedNormal", "VarianceScaling", "Orthogonal", "Identity",
		"GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "LecunNormal", "LecunUniform":
		config, _ := o["config"].(object)
		_, layer := config["name"]
		return !layer
	}
	return false
}

func rename(o object, from, to string) {
	if v, ok := o[from]; ok {
		o[to] = v
		delete(o, from)
	}
}

// declareInput puts an InputLayer before the first layer of a Sequential model that declares its input's shape.
func declareInput(config object) {
	list, _ := config["layers"].([]any)
	if len(list) == 0 {
		return
	}
	first, _ := list[0].(object)
	inner, _ := first["config"].(object)
	shape, ok := inner["batch_input_shape"]
	if first["class_name"] == "InputLayer" || !ok {
		return
	}
	input := object{"class_name": "InputLayer", "module": "keras.layers", "registered_name": nil,
		"config": object{"batch_shape": shape, "dtype": "float32", "name": fmt.Sprintf("%v_input", inner["name"])}}
	config["layers"] = append([]any{input}, list...)
}

// modernizeNodes rewrites the calls of a layer: for each [["name", call, result, {arguments}], ...].
func modernizeNodes(o object) error {
	nodes, ok := o["inbound_nodes"].([]any)
	if !ok {
		return nil
	}
	for i, n := range nodes {
		var err error
		switch call := n.(type) {
		case []any:
			nodes[i], err = modernizeCall(call)
		case object:
			if _, modern := call["args"]; !modern { // not an object of Keras 3
				nodes[i], err = modernizeDict(call)
			}
		}
		if err != nil {
			return fmt.Errorf("%v: call %d: %w", o["name"], i, err)
		}
	}
	return nil
}

func modernizeCall(call []any) (any, error) {
	if isHistory(call) { // one tensor that is not in a list
		call = []any{call}
	}
	var tensors []any
	arguments := object{}
	for _, e := range call {
		part, ok := e.([]any)
		if !ok || len(part) < 3 {
			return nil, fmt.Errorf("a tensor must be named by [layer, call, result, arguments], received %v", e)
		}
		if part[0] == "_CONSTANT_VALUE" {
			tensors = append(tensors, part[2])
		} else {
			tensors = append(tensors, tensorObject(part))
		}
		if len(part) > 3 {
			more, _ := part[3].(object)
			for key, v := range more {
				if key != "name" || v != nil {
					arguments[key] = modernizeArgument(v)
				}
			}
		}
	}
	args := tensors
	if len(tensors) > 1 {
		args = []any{tensors}
	}
	return object{"args": args, "kwargs": arguments}, nil
}

// modernizeDict rewrites the call of a model that takes a dict of inputs: {name: [name, call, result, {arguments}]}.
func modernizeDict(call object) (any, error) {
	inputs, arguments := object{}, object{}
	for name, v := range call {
		part, ok := v.([]any)
		if !ok || !isHistory(part) {
			return nil, fmt.Errorf("the input %q must be named by [layer, call, result, arguments], received %v", name, v)
		}
		inputs[name] = tensorObject(part)
		if len(part) > 3 {
			more, _ := part[3].(object)
			for key, v := range more {
				if key != "name" || v != nil {
					arguments[key] = modernizeArgument(v)
				}
			}
		}
	}
	return object{"args": []any{inputs}, "kwargs": arguments}, nil
}

// isHistory reports whether a list is [layer, call, result, ...].
func isHistory(list []any) bool {
	if len(list) != 3 && len(list) != 4 {
		return false
	}
	_, name := list[0].(string)
	_, call := list[1].(json.Number)
	_, result := list[2].(json.Number)
	return name && call && result
}

// modernizeArgument turns names of tensors inside an argument into objects.
func modernizeArgument(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	if isHistory(list) {
		return tensorObject(list)
	}
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = modernizeArgument(e)
	}
	return out
}

func tensorObject(history []any) object {
	return object{"class_name": "__keras_tensor__", "config": object{"shape": nil, "dtype": "float32", "keras_history": history[:3:3]}}
}

// operations maps the Keras 2 names of operations outside of layers to the current ones.
var operations = map[string]string{
	"math.add": "Add", "__operators__.add": "Add", "math.subtract": "Subtract", "__operators__.sub": "Subtract",
	"math.multiply": "Multiply", "__operators__.mul": "Multiply", "math.divide": "Divide", "math.truediv": "TrueDivide", "__operators__.truediv": "TrueDivide",
	"math.maximum": "Maximum", "math.minimum": "Minimum",
}

// modernizeOperation rewrites Keras 2 arithmetic outside of layers: x and the argument y become the two arguments of a
// call.
func modernizeOperation(o, config object) error {
	function, _ := config["function"].(string)
	class, ok := operations[function]
	if !ok {
		return fmt.Errorf("the model uses the TensorFlow function %q outside of layers (%v), which cannot be read; known are the arithmetic operations. Save the model with Keras 3", function, config["name"])
	}
	o["class_name"], o["module"], o["registered_name"] = class, "keras.src.ops.numpy", nil
	o["config"] = object{"name": config["name"]}
	nodes, _ := o["inbound_nodes"].([]any)
	for i, n := range nodes {
		call, ok := n.([]any)
		if !ok {
			return nil
		}
		made, err := modernizeCall(call)
		if err != nil {
			return err
		}
		node := made.(object)
		arguments := node["kwargs"].(object)
		if y, ok := arguments["y"]; ok {
			node["args"] = append(node["args"].([]any), y)
		}
		node["kwargs"] = object{}
		nodes[i] = node
	}
	return nil
}

// ModernTraining rewrites the training_config of a legacy file to a compile_config.
func ModernTraining(training []byte) ([]byte, error) {
	var o object
	d := json.NewDecoder(bytes.NewReader(training))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("training_config is not a JSON object: %w", err)
	}
	if o == nil {
		return nil, errors.New("training_config is null; expected a JSON object")
	}
	rename(o, "optimizer_config", "optimizer")
	if optimizer, ok := o["optimizer"].(object); ok {
		class, _ := optimizer["class_name"].(string)
		optimizer["class_name"] = strings.TrimPrefix(class, "Custom>")
		delete(optimizer, "registered_name")
		config, _ := optimizer["config"].(object)
		for _, key := range []string{"jit_compile", "is_legacy_optimizer"} {
			delete(config, key)
		}
		if decay, ok := config["decay"].(json.Number); ok { // of optimizers before Keras 2.11
			if x, err := decay.Float64(); err == nil && x == 0 {
				delete(config, "decay")
			}
		}
		rename(config, "lr", "learning_rate")
	}
	for _, key := range []string{"metrics", "weighted_metrics"} {
		o[key] = modernMetrics(o[key])
	}
	if list, ok := o["metrics"].([]any); ok && len(list) == 1 {
		if inner, nested := list[0].([]any); nested { // a list for the only output
			o["metrics"] = inner
		}
	}
	return json.Marshal(o)
}

// modernMetrics replaces wrapped functions by their names.
func modernMetrics(v any) any {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = modernMetrics(e)
		}
	case object:
		config, _ := v["config"].(object)
		if v["class_name"] == "MeanMetricWrapper" {
			for _, key := range []string{"name", "fn"} {
				if name, ok := config[key].(string); ok && name != "" {
					return name
				}
			}
		}
		if _, isClass := v["class_name"]; !isClass {
			for key, e := range v {
				v[key] = modernMetrics(e)
			}
		}
	}
	return v
}
