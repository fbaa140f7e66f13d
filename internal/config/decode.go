package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Decode reads a configuration into a struct (into is a pointer to it). Missing keys leave their fields unchanged, so
// that the zero value means the default; unknown keys are an error, except those in ignore or in the type's
// IgnoredConfig.
func Decode(raw json.RawMessage, into any, ignore ...string) error {
	v := reflect.ValueOf(into)
	for v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("config: cannot decode into %T; expected a pointer to a struct", into)
	}
	name := ClassName(into)
	keys := map[string]json.RawMessage{}
	if !isNull(raw) {
		if err := json.Unmarshal(raw, &keys); err != nil {
			return fmt.Errorf("config of %s: expected a JSON object, received %s", name, shorten(raw))
		}
	}
	if m, ok := into.(interface {
		MigrateConfig(map[string]json.RawMessage) error
	}); ok {
		if err := m.MigrateConfig(keys); err != nil {
			return fmt.Errorf("config of %s: %w", name, err)
		}
	}
	fields := fieldsOf(v.Elem().Type())
	byKey := make(map[string]field, len(fields))
	for _, f := range fields {
		byKey[f.key] = f
	}
	if i, ok := into.(interface{ IgnoredConfig() []string }); ok {
		ignore = append(slices.Clone(ignore), i.IgnoredConfig()...)
	}
	sorted := make([]string, 0, len(keys))
	for key := range keys {
		sorted = append(sorted, key)
	}
	slices.Sort(sorted)
	for _, key := range sorted {
		f, known := byKey[key]
		if !known {
			if err := checkIgnored(key, keys[key], ignore, byKey); err != nil {
				return fmt.Errorf("config of %s: %w", name, err)
			}
			continue
		}
		if err := f.decodeValue(keys[key], v.Elem().FieldByIndex(f.index), Module(into) != ""); err != nil {
			return fmt.Errorf("config of %s: key %q: %w", name, key, err)
		}
	}
	for _, f := range fields {
		if _, there := keys[f.key]; f.required && !there {
			return fmt.Errorf("config of %s: the key %q is missing", name, f.key)
		}
	}
	if err := CheckBounds(into); err != nil {
		return fmt.Errorf("config of %w", err)
	}
	return nil
}

func checkIgnored(key string, raw json.RawMessage, ignore []string, byKey map[string]field) error {
	if slices.Contains(ignore, key) {
		return nil
	}
	if slices.Contains(ignore, key+"=null") {
		if isNull(raw) || string(bytes.TrimSpace(raw)) == "false" {
			return nil
		}
		return fmt.Errorf("key %q has the value %s; this feature of Keras is not supported, only null is accepted", key, shorten(raw))
	}
	known := make([]string, 0, len(byKey))
	for k := range byKey {
		known = append(known, k)
	}
	slices.Sort(known)
	return fmt.Errorf("unknown key %q; known: %s", key, strings.Join(known, ", "))
}

func isNull(raw json.RawMessage) bool {
	s := bytes.TrimSpace(raw)
	return len(s) == 0 || string(s) == "null"
}

func (f field) decode(raw json.RawMessage, into reflect.Value) error {
	if f.not {
		var b bool
		if err := json.Unmarshal(raw, &b); err != nil || into.Kind() != reflect.Bool {
			return fmt.Errorf("expected true or false, received %s", shorten(raw))
		}
		into.SetBool(!b)
		return nil
	}
	if into.Kind() == reflect.Interface || holdsKind(into.Type()) {
		return decodeInterface(f.key, raw, into)
	}
	if into.Kind() == reflect.Slice && (into.Type().Elem().Kind() == reflect.Interface || holdsKind(into.Type().Elem())) {
		return f.decodeInterfaces(raw, into)
	}
	if into.Kind() == reflect.Map && into.Type().Key().Kind() == reflect.String && holdsKind(into.Type().Elem()) {
		return f.decodeMap(raw, into)
	}
	if b := bytes.TrimSpace(raw); len(b) > 0 && b[0] == '{' && into.Kind() != reflect.Map {
		var err error
		if raw, err = quantizedPolicy(raw); err != nil {
			return err
		}
		raw = unwrap(raw)
	}
	return assign(raw, into, f.shape)
}

// unwrap extracts the plain value from the objects that Keras writes for dtype policies, seeds and arrays.
func unwrap(raw json.RawMessage) json.RawMessage {
	o, err := ParseObject(raw)
	if err != nil {
		return raw
	}
	var c struct {
		Name  json.RawMessage `json:"name"`
		Seed  json.RawMessage `json:"seed"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(o.Config, &c) != nil {
		return raw
	}
	switch o.ClassName {
	case "SeedGenerator":
		return c.Seed
	case "__numpy__", "__tensor__":
		return c.Value
	}
	if strings.HasSuffix(o.ClassName, "DTypePolicy") && c.Name != nil {
		return c.Name
	}
	return raw
}

// hasName reports whether the configuration of an object has the key name.
func hasName(o Object) bool {
	var c map[string]json.RawMessage
	return json.Unmarshal(o.Config, &c) == nil && c["name"] != nil
}

// decodeInterfaces reads a list of names or objects, whose kind is that of the key without its plural s.
func (f field) decodeInterfaces(raw json.RawMessage, into reflect.Value) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("expected a list, received %s", shorten(raw))
	}
	out := reflect.MakeSlice(into.Type(), len(parts), len(parts))
	for i, part := range parts {
		if err := decodeInterface(strings.TrimSuffix(f.key, "s"), part, out.Index(i)); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	into.Set(out)
	return nil
}

// decodeMap reads a map of objects that have a kind.
func (f field) decodeMap(raw json.RawMessage, into reflect.Value) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("expected an object with an entry for each, received %s", shorten(raw))
	}
	if k, ok := kindFor(f.key, into.Type().Elem()); ok && k.suffix == "layer" {
		if err := inOrder(raw, parts); err != nil {
			return err
		}
	}
	out := reflect.MakeMapWithSize(into.Type(), len(parts))
	for _, key := range slices.Sorted(maps.Keys(parts)) { // layers are numbered as they are made
		part := parts[key]
		v := reflect.New(into.Type().Elem()).Elem()
		if err := decodeInterface(f.key, part, v); err != nil {
			return fmt.Errorf("entry %q: %w", key, err)
		}
		out.SetMapIndex(reflect.ValueOf(key).Convert(into.Type().Key()), v)
	}
	into.Set(out)
	return nil
}

// inOrder refuses layers of the same class whose keys are not in alphabetical order, because files tell their weights
// apart by that order, and Go maps have none.
func inOrder(raw json.RawMessage, parts map[string]json.RawMessage) error {
	last := map[string]string{} // keys, by class
	d := json.NewDecoder(bytes.NewReader(raw))
	_, err := d.Token()
	for err == nil && d.More() {
		var token json.Token
		if token, err = d.Token(); err != nil {
			break
		}
		key, _ := token.(string)
		if o, wrong := ParseObject(parts[key]); wrong == nil {
			if before, has := last[o.ClassName]; has && before > key {
				return fmt.Errorf("%q stands before %q; expected layers of one class in alphabetical order of their keys, as files tell weights apart by it: in Python sort the dict, or use a list", before, key)
			}
			last[o.ClassName] = key
		}
		err = d.Decode(new(json.RawMessage))
	}
	return err
}

func decodeInterface(key string, raw json.RawMessage, into reflect.Value) error {
	if isNull(raw) {
		into.SetZero()
		return nil
	}
	v, err := parseAny(raw)
	if err != nil {
		return err
	}
	if k, ok := kindFor(key, into.Type()); ok {
		if v, err = k.resolve(v); err != nil {
			return err
		}
	}
	if v == nil {
		into.SetZero()
		return nil
	}
	value := reflect.ValueOf(v)
	if !value.Type().AssignableTo(into.Type()) {
		return fmt.Errorf("expected a %v, received %s", into.Type(), shorten(raw))
	}
	into.Set(value)
	return nil
}

// assign reads plain JSON into numbers, strings, bools, pointers to them, and lists.
func assign(raw json.RawMessage, into reflect.Value, shape bool) error {
	if isNull(raw) {
		into.SetZero()
		return nil
	}
	switch into.Kind() {
	case reflect.Pointer:
		v := reflect.New(into.Type().Elem())
		if err := assign(raw, v.Elem(), shape); err != nil {
			return err
		}
		into.Set(v)
		return nil
	case reflect.Slice:
		return assignSlice(raw, into, shape)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return assignInteger(raw, into)
	case reflect.Float64, reflect.Float32:
		x, err := parseFloat(raw)
		if err != nil {
			return err
		}
		into.SetFloat(x)
		return nil
	}
	if err := json.Unmarshal(raw, into.Addr().Interface()); err != nil {
		return fmt.Errorf("expected %s, received %s", expected(into.Type()), shorten(raw))
	}
	return nil
}

// assignSlice reads a list; a single value stands for a list of one.
func assignSlice(raw json.RawMessage, into reflect.Value, shape bool) error {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		parts = []json.RawMessage{raw}
	}
	out := reflect.MakeSlice(into.Type(), len(parts), len(parts))
	for i, part := range parts {
		if isNull(part) {
			if !shape {
				return fmt.Errorf("element %d is null; expected %s", i, expected(into.Type().Elem()))
			}
			out.Index(i).SetInt(-1)
			continue
		}
		if err := assign(part, out.Index(i), shape); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	into.Set(out)
	return nil
}

func assignInteger(raw json.RawMessage, into reflect.Value) error {
	if json.Unmarshal(raw, into.Addr().Interface()) == nil {
		return nil
	}
	// Files of older versions have a list of one element instead of a number.
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 1 && !isNull(list[0]) {
		return assignInteger(list[0], into)
	}
	// Python writes whole floats as 2.0, and sometimes bools instead of ints.
	x, err := parseFloat(raw)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return fmt.Errorf("expected a whole number, received %s", shorten(raw))
	}
	return setInteger(into, int64(x))
}

func setInteger(into reflect.Value, n int64) error {
	if into.CanInt() && !into.OverflowInt(n) {
		into.SetInt(n)
		return nil
	}
	if into.CanUint() && n >= 0 && !into.OverflowUint(uint64(n)) {
		into.SetUint(uint64(n))
		return nil
	}
	return fmt.Errorf("%d does not fit %s", n, A(into.Type().String()))
}

// parseFloat reads a number; Python's NaN and Infinity are strings here, and its True is 1.
func parseFloat(raw json.RawMessage) (float64, error) {
	var x float64
	if json.Unmarshal(raw, &x) == nil {
		return x, nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		switch s {
		case "Infinity", "inf":
			return math.Inf(1), nil
		case "-Infinity", "-inf":
			return math.Inf(-1), nil
		case "NaN", "nan":
			return math.NaN(), nil
		}
	}
	var b bool
	if json.Unmarshal(raw, &b) == nil {
		return oneIf(b), nil
	}
	return 0, fmt.Errorf("expected a number, received %s", shorten(raw))
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
