package keras

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// tensorReference names a tensor in a document: the result of a layer's call.
type tensorReference struct {
	layer       string
	call, index int
	legacy      bool // from a Keras 2 document, in which the calls of a nested model count from 1
}

// argumentObject is an argument of a call that JSON has no form for.
type argumentObject struct {
	ClassName string `json:"class_name"`
	Config    struct {
		History []json.RawMessage `json:"keras_history"`
		Shape   json.RawMessage   `json:"shape"`
		Value   json.RawMessage   `json:"value"`
		DType   string            `json:"dtype"`
		Start   *int              `json:"start"`
		Stop    *int              `json:"stop"`
		Step    *int              `json:"step"`
		Name    string            `json:"name"`
	} `json:"config"`
}

// decodeArgument reads an argument of a call in the forms of layers.Arguments. find returns the tensor of a reference.
func decodeArgument(raw json.RawMessage, find func(tensorReference) (*layers.KerasTensor, error)) (any, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	switch raw[0] {
	case '[':
		var list []json.RawMessage
		if err := config.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		out := make([]any, len(list))
		for i, e := range list {
			var err error
			if out[i], err = decodeArgument(e, find); err != nil {
				return nil, err
			}
		}
		return out, nil
	case '{':
		return decodeObject(raw, find)
	case '"':
		var text string
		if err := config.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		return nonFiniteNumber(text), nil
	case 't', 'f', 'n':
		var v any
		err := config.Unmarshal(raw, &v)
		return v, err
	}
	if !bytes.ContainsAny(raw, ".eE") {
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return nil, fmt.Errorf("number %s: %w", raw, err)
	}
	return f, nil
}

// nonFiniteNumber undoes quoteNonFinite.
func nonFiniteNumber(text string) any {
	switch text {
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	case "NaN":
		return math.NaN()
	}
	return text
}

func decodeObject(raw json.RawMessage, find func(tensorReference) (*layers.KerasTensor, error)) (any, error) {
	var members map[string]json.RawMessage
	if err := config.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	if members["class_name"] == nil {
		out := map[string]any{}
		for key, e := range members {
			v, err := decodeArgument(e, find)
			if err != nil {
				return nil, err
			}
			out[key] = v
		}
		return out, nil
	}
	var o argumentObject
	if err := config.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	switch o.ClassName {
	case "__keras_tensor__":
		r, err := reference(o.Config.History)
		if err != nil || find == nil {
			return nil, fmt.Errorf("a tensor stands where none can be: %w", err)
		}
		r.legacy = len(o.Config.Shape) == 0 || string(o.Config.Shape) == "null"
		return find(r)
	case "__slice__":
		return layers.Slice{Start: o.Config.Start, Stop: o.Config.Stop, Step: o.Config.Step}, nil
	case "__ellipsis__":
		return layers.Ellipsis, nil
	case "__numpy__", "__tensor__":
		a, err := decodeArray(o.Config.Value, o.Config.DType)
		if err != nil || o.ClassName == "__numpy__" {
			return a, err
		}
		return layers.ConstantTensor{Array: a}, nil
	}
	if strings.HasSuffix(o.ClassName, "DTypePolicy") {
		return o.Config.Name, nil
	}
	return nil, fmt.Errorf("an argument is %s, which cannot be read", config.A(o.ClassName))
}

// reference reads [layer, call, result].
func reference(history []json.RawMessage) (r tensorReference, err error) {
	if len(history) < 3 || json.Unmarshal(history[0], &r.layer) != nil || json.Unmarshal(history[1], &r.call) != nil || json.Unmarshal(history[2], &r.index) != nil {
		return r, fmt.Errorf("a tensor must be named by [layer, call, result], received %s", history)
	}
	return r, nil
}

// decodeArray reads nested lists of numbers.
func decodeArray(raw json.RawMessage, dtype string) (a kernels.Array, err error) {
	d, err := ir.ParseDType(dtype)
	if err != nil {
		return a, err
	}
	v, err := decodeArgument(raw, nil)
	if err != nil {
		return a, err
	}
	shape, values, err := flatten(v)
	if err != nil {
		return a, err
	}
	return kernels.FromFloat64s(d, shape, values)
}

func flatten(v any) (shape ir.Shape, values []float64, err error) {
	switch v := v.(type) {
	case int64:
		return ir.Shape{}, []float64{float64(v)}, nil
	case float64:
		return ir.Shape{}, []float64{v}, nil
	case bool:
		n := 0.0
		if v {
			n = 1
		}
		return ir.Shape{}, []float64{n}, nil
	case []any:
		shape = ir.Shape{len(v)}
		for i, e := range v {
			inner, more, err := flatten(e)
			if err != nil {
				return nil, nil, err
			}
			if i == 0 {
				shape = append(shape, inner...)
			} else if !inner.Equal(shape[1:]) {
				return nil, nil, fmt.Errorf("an array has rows of shapes %v and %v", shape[1:], inner)
			}
			values = append(values, more...)
		}
		return shape, values, nil
	}
	return nil, nil, fmt.Errorf("an array holds %v, which is not a number", v)
}

// encodeArgument writes what decodeArgument reads. history names a tensor.
func encodeArgument(v any, history func(*layers.KerasTensor) []any) (any, error) {
	special := func(class string, config map[string]any) (any, error) {
		return map[string]any{"class_name": class, "config": config}, nil
	}
	switch v := v.(type) {
	case *layers.KerasTensor:
		if history == nil {
			return nil, fmt.Errorf("a tensor stands where none can be")
		}
		return special("__keras_tensor__", map[string]any{"shape": shapeList(v.Shape()), "dtype": v.DTypeName(), "keras_history": history(v)})
	case layers.Slice:
		return special("__slice__", map[string]any{"start": v.Start, "stop": v.Stop, "step": v.Step})
	case layers.EllipsisType:
		return special("__ellipsis__", map[string]any{})
	case kernels.Array:
		return encodeArray("__numpy__", v)
	case layers.ConstantTensor:
		return encodeArray("__tensor__", v.Array)
	case nil, bool, int, int64, float64, string:
		return v, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = encodeArgument(e, history); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			var err error
			if out[key], err = encodeArgument(v[key], history); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("an argument of type %T has no form in a document", v)
}

// encodeArray writes what decodeArray reads. class is the kind of array that Keras holds.
func encodeArray(class string, a kernels.Array) (any, error) {
	d := a.Type.DType
	if !d.IsFloat() && !d.IsInteger() && d != ir.Bool {
		return nil, fmt.Errorf("a constant of type %v has no form in a document", d)
	}
	return map[string]any{"class_name": class, "config": map[string]any{"value": nested(a.Type.Shape, d, a.Float64s()), "dtype": d.String()}}, nil
}

// shapeList writes a shape with null for open axes.
func shapeList(s ir.Shape) []any {
	out := make([]any, len(s))
	for i, d := range s {
		if d != layers.Unknown {
			out[i] = d
		}
	}
	return out
}

// nested arranges values in nested lists.
func nested(shape ir.Shape, d ir.DType, values []float64) any {
	if len(shape) == 0 {
		switch {
		case d == ir.Bool:
			return values[0] != 0
		case d.IsInteger():
			return int64(values[0])
		}
		return values[0]
	}
	out := make([]any, shape[0])
	for i := range out {
		n := len(values) / shape[0]
		out[i] = nested(shape[1:], d, values[i*n:(i+1)*n])
	}
	return out
}
