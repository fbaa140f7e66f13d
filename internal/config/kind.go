package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Object is a configured value of a class, as Keras writes it.
type Object struct {
	Module         string          `json:"module"`
	ClassName      string          `json:"class_name"`
	Config         json.RawMessage `json:"config"`
	RegisteredName string          `json:"registered_name"`

	// Further entries of models.
	Build   json.RawMessage `json:"build_config,omitempty"`
	Compile json.RawMessage `json:"compile_config,omitempty"`
}

// FunctionName returns the name in an object that stands for a Python function, and whether the object is one.
func (o Object) FunctionName() (string, bool) {
	if o.ClassName != "function" {
		return "", false
	}
	name := o.RegisteredName
	if json.Unmarshal(o.Config, &name) != nil {
		return "", false
	}
	return name, true
}

// Resolver converts what a configuration holds to a value: a name (string), an [Object], a number (float64), a bool, a
// list ([]any) or a map (map[string]any). It also accepts values.
type Resolver func(v any) (any, error)

// Describer converts a value to what the configuration holds for it: a JSON value.
type Describer func(v any) (any, error)

type kind struct {
	suffix   string
	resolve  Resolver
	describe Describer
}

var kinds = struct {
	sync.RWMutex
	list []kind
}{}

// RegisterKind says how fields whose key is suffix, or ends in "_" + suffix, are read. The packages of the kinds call
// it from init; a suffix taken twice panics.
func RegisterKind(suffix string, resolve Resolver) { RegisterKindWith(suffix, resolve, nil) }

// RegisterKindWith is RegisterKind for kinds whose values are not written as objects of their type (functions, for
// example).
func RegisterKindWith(suffix string, resolve Resolver, describe Describer) {
	kinds.Lock()
	defer kinds.Unlock()
	for _, k := range kinds.list {
		if k.suffix == suffix {
			panic("config: RegisterKind called twice for " + suffix)
		}
	}
	kinds.list = append(kinds.list, kind{suffix, resolve, describe})
}

// kindOf finds the kind with the longest suffix that fits the key.
func kindOf(key string) (kind, bool) {
	kinds.RLock()
	defer kinds.RUnlock()
	var best kind
	found := false
	for _, k := range kinds.list {
		if (key == k.suffix || strings.HasSuffix(key, "_"+k.suffix)) && len(k.suffix) > len(best.suffix) {
			best, found = k, true
		}
	}
	return best, found
}

// types holds the kinds of fields by their types.
var types = struct {
	sync.RWMutex
	list []typed
}{}

type typed struct {
	of     reflect.Type
	suffix string
}

// RegisterType says that fields of an interface type, or of pointers that implement it, are of the kind suffix even if
// their key does not say so. That includes lists and maps of them.
func RegisterType(of reflect.Type, suffix string) {
	types.Lock()
	defer types.Unlock()
	types.list = append(types.list, typed{of, suffix})
}

// kindOfType finds the kind of fields of a type.
func kindOfType(t reflect.Type) (kind, bool) {
	if t == nil || t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer {
		return kind{}, false
	}
	types.RLock()
	defer types.RUnlock()
	for _, known := range types.list {
		if t.Implements(known.of) {
			return kindOf(known.suffix)
		}
	}
	return kind{}, false
}

// holdsKind reports whether the type of values determines their kind.
func holdsKind(t reflect.Type) bool {
	_, ok := kindOfType(t)
	return ok
}

// kindFor finds the kind of a key, or else of the type of its field.
func kindFor(key string, t reflect.Type) (kind, bool) {
	if k, ok := kindOf(key); ok {
		return k, true
	}
	return kindOfType(t)
}

// Resolve turns a name or object of the given kind into a value.
func Resolve(suffix string, v any) (any, error) {
	k, ok := kindOf(suffix)
	if !ok {
		return nil, fmt.Errorf("nothing is known of %q", suffix)
	}
	return k.resolve(v)
}

// Describe returns what a configuration holds for a value of the given kind.
func Describe(suffix string, v any) (any, error) { return describe(suffix, nil, v) }

// parseAny reads arbitrary JSON. Objects with a class name become an Object.
func parseAny(raw json.RawMessage) (any, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	if m, ok := v.(map[string]any); ok {
		if _, isObject := m["class_name"].(string); isObject {
			return ParseObject(raw)
		}
	}
	return v, nil
}

// ParseObject reads an object with module, class name and configuration. Missing parts stay empty.
func ParseObject(raw json.RawMessage) (Object, error) {
	var o struct {
		Module         *string         `json:"module"`
		ClassName      string          `json:"class_name"`
		Config         json.RawMessage `json:"config"`
		RegisteredName *string         `json:"registered_name"`
		Build          json.RawMessage `json:"build_config"`
		Compile        json.RawMessage `json:"compile_config"`
	}
	if err := Unmarshal(raw, &o); err != nil {
		return Object{}, fmt.Errorf("expected an object with class_name and config: %w", err)
	}
	if o.ClassName == "" {
		return Object{}, fmt.Errorf("expected an object with class_name and config, received %s", shorten(raw))
	}
	out := Object{ClassName: o.ClassName, Config: o.Config, Build: o.Build, Compile: o.Compile}
	if o.Module != nil {
		out.Module = *o.Module
	}
	if o.RegisteredName != nil {
		out.RegisteredName = *o.RegisteredName
	}
	return out, nil
}

// root is the import path that the project's packages begin with.
var root = strings.TrimSuffix(reflect.TypeFor[Object]().PkgPath(), "internal/config")

// ClassName returns the class name of a value: the result of its ConfigClassName method, or its Go type name.
func ClassName(v any) string {
	if n, ok := v.(interface{ ConfigClassName() string }); ok {
		return n.ConfigClassName()
	}
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// Module returns the Keras module of a value's type, derived from its package: "keras.layers", "keras.initializers",
// "keras.optimizers.schedules". It is "" for types from outside the project and from test packages.
func Module(v any) string {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	path, ours := strings.CutPrefix(t.PkgPath(), root)
	if !ours || root == "" || strings.HasSuffix(path, "_test") {
		return ""
	}
	path = strings.TrimPrefix(path, "layers/")
	return "keras." + strings.ReplaceAll(path, "/", ".")
}

// placed is implemented by types whose class is in a module of Keras that is not part of its public interface. Keras
// writes such classes with their name as the registered name.
type placed interface{ Module() string }

// EncodeObject returns the full object for a configured value: module, class name, configuration and registered name.
// Types from outside the project are registered as "Custom>Name".
func EncodeObject(v any) (map[string]any, error) {
	if own, ok := v.(interface {
		ConfigObject() (map[string]any, error)
	}); ok {
		return own.ConfigObject()
	}
	c, err := Encode(v)
	if err != nil {
		return nil, err
	}
	o := map[string]any{"module": nil, "class_name": ClassName(v), "config": c, "registered_name": nil}
	if p, ok := v.(placed); ok {
		o["module"], o["registered_name"] = p.Module(), ClassName(v)
	} else if m := Module(v); m != "" {
		o["module"] = m
	} else {
		o["registered_name"] = DefaultPackage + ">" + ClassName(v)
	}
	if name := RegisteredName(v); name != "" {
		o["module"], o["registered_name"] = nil, name
	}
	return o, nil
}

func shorten(raw []byte) string {
	const limit = 120
	if len(raw) > limit {
		return string(raw[:limit]) + "..."
	}
	return string(raw)
}
