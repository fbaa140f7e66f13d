package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// unset are keys of many classes that are null where nobody has set them.
var unset = []string{"name", "dtype", "data_format", "bounding_box_format", "lora_rank", "lora_alpha"}

// decodeOrNull reads the value of a key of a value's configuration.
func (f field) decodeOrNull(raw json.RawMessage, field reflect.Value, of any) error {
	if isNull(raw) {
		return f.decodeNull(field, Module(of) != "")
	}
	return f.decode(raw, field)
}

// decodeNull reads null, which is None in Python: the zero value where that means the same. Elsewhere the zero value
// would be a number, or a default, that nobody wrote. A list of a type from outside of this module may always be nil.
func (f field) decodeNull(into reflect.Value, ours bool) error {
	if f.null || f.hasDefault && f.def == "null" || slices.Contains(unset, f.key) {
		into.SetZero()
		return nil
	}
	switch kind := into.Kind(); {
	case f.required:
	case kind == reflect.Bool && f.key != "trainable":
		into.SetBool(f.not)
		return nil
	case kind == reflect.Interface || holdsKind(into.Type()):
		if !f.hasDefault {
			into.SetZero()
			return nil
		}
		k, _ := kindFor(f.key, into.Type())
		if none, ok := unnamed[k.suffix]; ok {
			return decodeInterface(f.key, []byte(none), into)
		}
	case !f.hasDefault && (kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice && !ours):
		into.SetZero()
		return nil
	}
	if into.Kind() == reflect.Interface {
		return errors.New("expected a value, received null")
	}
	return fmt.Errorf("expected %s, received null", expected(into.Type()))
}

// unnamed are what Keras takes for None, whatever the default of the class is.
var unnamed = map[string]string{"activation": `"linear"`, "initializer": `"glorot_uniform"`}
