package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// ArrayObject returns what Keras writes for a NumPy array: its numbers as nested lists, with its dtype.
func ArrayObject(dtype string, shape []int, values []float64) map[string]any {
	return map[string]any{"class_name": "__numpy__", "config": map[string]any{"value": nest(shape, values), "dtype": dtype}}
}

func nest(shape []int, values []float64) any {
	if len(shape) == 0 {
		return values[0]
	}
	out := make([]any, shape[0])
	for i := range out {
		n := len(values) / shape[0]
		out[i] = nest(shape[1:], values[i*n:(i+1)*n])
	}
	return out
}

// ReadArray reads what ArrayObject writes, or plain nested lists, which have the dtype "". For anything else, such as a
// single number, the shape is nil.
func ReadArray(raw json.RawMessage) (shape []int, values []float64, dtype string, err error) {
	if isNull(raw) {
		return nil, nil, "", nil
	}
	if o, wrong := ParseObject(raw); wrong == nil && (o.ClassName == "__numpy__" || o.ClassName == "__tensor__") {
		var c struct {
			DType string `json:"dtype"`
		}
		if err := json.Unmarshal(o.Config, &c); err != nil {
			return nil, nil, "", err
		}
		dtype, raw = c.DType, unwrap(raw)
	}
	var list any
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, nil, "", err
	}
	if _, ok := list.([]any); !ok {
		return nil, nil, "", nil
	}
	shape, values, err = flatten(list)
	return shape, values, dtype, err
}

// flatten returns the numbers of nested lists, row-major.
func flatten(v any) (shape []int, values []float64, err error) {
	switch v := v.(type) {
	case float64:
		return []int{}, []float64{v}, nil
	case string: // a number that JSON has no word for
		if x, ok := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[v]; ok {
			return []int{}, []float64{x}, nil
		}
	case []any:
		shape = []int{len(v)}
		for i, e := range v {
			inner, more, err := flatten(e)
			if err != nil {
				return nil, nil, err
			}
			if i == 0 {
				shape = append(shape, inner...)
			} else if !slices.Equal(inner, shape[1:]) {
				return nil, nil, fmt.Errorf("row %d has shape %v and the rows before it %v; expected rows of one shape", i, inner, shape[1:])
			}
			values = append(values, more...)
		}
		return shape, values, nil
	}
	return nil, nil, fmt.Errorf("expected nested lists of numbers, received %v in them", v)
}
