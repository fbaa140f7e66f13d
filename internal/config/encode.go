package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Encode returns the configuration of a struct (or a pointer to one), with all keys that Keras writes for it. The
// result holds only JSON values: strings, numbers, bools, nil, lists and maps.
func Encode(v any) (map[string]any, error) {
	s := reflect.ValueOf(v)
	for s.Kind() == reflect.Pointer || s.Kind() == reflect.Interface {
		if s.IsNil() {
			return nil, fmt.Errorf("config: cannot encode a nil %T", v)
		}
		s = s.Elem()
	}
	if s.Kind() != reflect.Struct {
		return nil, fmt.Errorf("config: cannot encode a %T; expected a struct", v)
	}
	out := map[string]any{}
	for _, f := range fieldsOf(s.Type()) {
		value := s.FieldByIndex(f.index)
		// If they are missing, Keras fills in a name and the policy of the session.
		unset := f.omitEmpty || !f.hasDefault && (f.key == "name" || f.key == "dtype")
		if unset && value.IsZero() {
			continue
		}
		x, err := f.encode(value)
		if err != nil {
			return nil, fmt.Errorf("config of %s: key %q: %w", ClassName(v), f.key, err)
		}
		out[f.key] = x
	}
	if a, ok := v.(interface{ AmendConfig(map[string]any) error }); ok {
		if err := a.AmendConfig(out); err != nil {
			return nil, fmt.Errorf("config of %s: %w", ClassName(v), err)
		}
	}
	return out, nil
}

func (f field) encode(v reflect.Value) (any, error) {
	if f.not {
		return !v.Bool(), nil
	}
	if v.IsZero() && f.hasDefault {
		return f.encodeDefault(v.Type())
	}
	if v.IsZero() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice) {
		return nil, nil
	}
	if v.Kind() == reflect.Interface || holdsKind(v.Type()) {
		return describe(f.key, v.Type(), v.Interface())
	}
	if v.Kind() == reflect.Slice && (v.Type().Elem().Kind() == reflect.Interface || holdsKind(v.Type().Elem())) {
		return f.encodeInterfaces(v)
	}
	if v.Kind() == reflect.Map && holdsKind(v.Type().Elem()) {
		return f.encodeMap(v)
	}
	if f.key == "dtype" && !f.plain && v.Kind() == reflect.String {
		return DTypePolicyObject(v.String()), nil
	}
	x, err := plain(v, f.shape)
	return f.list(x), err
}

// encodeInterfaces writes a list of names or values, whose kind is that of the key without its plural s.
func (f field) encodeInterfaces(v reflect.Value) (any, error) {
	out := make([]any, v.Len())
	for i := range out {
		x, err := describe(strings.TrimSuffix(f.key, "s"), v.Type().Elem(), v.Index(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		out[i] = x
	}
	return out, nil
}

// encodeMap writes a map of values that have a kind.
func (f field) encodeMap(v reflect.Value) (any, error) {
	out := make(map[string]any, v.Len())
	for _, key := range v.MapKeys() {
		x, err := describe(f.key, v.Type().Elem(), v.MapIndex(key).Interface())
		if err != nil {
			return nil, fmt.Errorf("entry %v: %w", key, err)
		}
		out[fmt.Sprint(key)] = x
	}
	return out, nil
}

// encodeDefault returns the default of the tag: as JSON if it is JSON, otherwise as a string, resolved if the key has a
// kind. Numbers are floats if the field, of type t, holds floats.
func (f field) encodeDefault(t reflect.Type) (any, error) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	var x any
	d := json.NewDecoder(strings.NewReader(f.def))
	d.UseNumber()
	if d.Decode(&x) != nil || d.More() {
		return describe(f.key, nil, f.def)
	}
	x = numbers(x, t.Kind() == reflect.Float64 || t.Kind() == reflect.Float32)
	if s, ok := x.(string); ok {
		return describe(f.key, nil, s)
	}
	switch x.(type) {
	case float64, int64:
		if f.length > 0 {
			x = []any{x}
		}
	}
	return f.list(x), nil
}

// numbers converts the numbers in a JSON value to integers if they are written as such, and to floats otherwise, or if
// all must be floats.
func numbers(x any, floats bool) any {
	switch x := x.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil && !floats {
			return n
		}
		if v, err := x.Float64(); err == nil {
			return v
		}
	case []any:
		for i, e := range x {
			x[i] = numbers(e, floats)
		}
	}
	return x
}

// list applies the options length and scalar.
func (f field) list(x any) any {
	l, ok := x.([]any)
	if !ok || len(l) != 1 {
		return x
	}
	if f.scalar {
		return l[0]
	}
	for len(l) < f.length {
		l = append(l, l[0])
	}
	return l
}

// describe writes a name or value of the kind that the key, or else the type of its field, belongs to.
func describe(key string, t reflect.Type, v any) (any, error) {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
		return nil, nil
	}
	k, ok := kindFor(key, t)
	if !ok {
		return describeValue(v)
	}
	value, err := k.resolve(v)
	if err != nil {
		return nil, err
	}
	if k.describe != nil {
		return k.describe(value)
	}
	return describeValue(value)
}

// describeValue writes structs as objects and everything else unchanged.
func describeValue(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if o, ok := v.(Object); ok {
		return o, nil
	}
	r := reflect.ValueOf(v)
	for r.Kind() == reflect.Pointer && !r.IsNil() {
		r = r.Elem()
	}
	if r.Kind() == reflect.Struct {
		return EncodeObject(v)
	}
	return plain(r, false)
}

// plain converts numbers, strings, bools, pointers to them, lists and maps to JSON values.
func plain(v reflect.Value, shape bool) (any, error) {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.String:
		return v.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint(), nil
	case reflect.Float32, reflect.Float64:
		return plainFloat(v.Float())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		return plain(v.Elem(), shape)
	case reflect.Slice, reflect.Array:
		out := make([]any, v.Len())
		for i := range out {
			x, err := plain(v.Index(i), shape)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
			if n, ok := x.(int64); ok && shape && n < 0 {
				x = nil
			}
			out[i] = x
		}
		return out, nil
	case reflect.Map:
		out := make(map[string]any, v.Len())
		for _, key := range v.MapKeys() {
			x, err := plain(v.MapIndex(key), shape)
			if err != nil {
				return nil, fmt.Errorf("entry %v: %w", key, err)
			}
			out[fmt.Sprint(key)] = x
		}
		return out, nil
	case reflect.Struct:
		return EncodeObject(v.Interface())
	}
	return nil, fmt.Errorf("a value of type %v has no configuration; expected a name, number, list or registered object", v.Type())
}

func plainFloat(x float64) (any, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%v cannot be written as JSON; use a finite number", x)
	}
	return x, nil
}
