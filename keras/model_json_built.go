package keras

import (
	"encoding/json"
	"reflect"
)

// builtObject is what a document stores about the shapes that a layer, and the layers that it wraps, were built with.
type builtObject struct {
	Build  json.RawMessage `json:"build_config"`
	Config struct {
		Layer    *builtObject `json:"layer"`
		Backward *builtObject `json:"backward_layer"`
		Cell     *builtObject `json:"cell"`
	} `json:"config"`
}

// builtFrom reads it from the object of a layer. Objects of another form have none.
func builtFrom(raw json.RawMessage) *builtObject {
	var b builtObject
	if json.Unmarshal(raw, &b) != nil {
		return nil
	}
	return &b
}

// restore replaces the shapes computed here by those of the document if the two differ only in the batch size or in
// whether a single state is in a list. Keras knows less or more about the batch size if constants are among the
// arguments of calls.
func (b *builtObject) restore(object map[string]any) {
	if b == nil {
		return
	}
	if now, ok := object["build_config"].(map[string]any); ok && len(b.Build) > 0 {
		if read, err := decodeArgument(b.Build, nil); err == nil && sameBut(now, read) {
			object["build_config"] = read
		}
	}
	c, _ := object["config"].(map[string]any)
	for key, inner := range map[string]*builtObject{"layer": b.Config.Layer, "backward_layer": b.Config.Backward, "cell": b.Config.Cell} {
		if o, ok := c[key].(map[string]any); ok {
			inner.restore(o)
		}
	}
}

// sameBut compares two records of shapes, one computed and one read, ignoring the first axis of each shape.
func sameBut(now, read any) bool {
	if m, ok := now.(map[string]any); ok {
		other, ok := read.(map[string]any)
		if !ok || len(m) != len(other) {
			return false
		}
		for key, v := range m {
			w, has := other[key]
			if list, ok := v.([][]any); ok && key == "initial_state_shape" && len(list) == 1 && !sameBut(v, w) {
				v = list[0]
			}
			if !has || !sameBut(v, w) {
				return false
			}
		}
		return true
	}
	a, aIsList := elements(now)
	b, bIsList := elements(read)
	if !aIsList || !bIsList {
		return aIsList == bIsList && now == nil && read == nil
	}
	if len(a) != len(b) || isShape(a) != isShape(b) {
		return false
	}
	for i := range a {
		if !isShape(a) && !sameBut(a[i], b[i]) || isShape(a) && i > 0 && number(a[i]) != number(b[i]) {
			return false
		}
	}
	return true
}

// elements returns the elements of a list of any type.
func elements(v any) ([]any, bool) {
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Slice {
		return nil, false
	}
	out := make([]any, r.Len())
	for i := range out {
		out[i] = r.Index(i).Interface()
	}
	return out, true
}

// isShape reports whether a list holds lengths and no lists.
func isShape(list []any) bool {
	for _, e := range list {
		if _, isList := elements(e); isList {
			return false
		}
	}
	return true
}

// number returns a length, or -1 for an open one.
func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	}
	return -1
}
