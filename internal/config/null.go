package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// unset lists keys of many classes that are null if they are not set.
var unset = []string{"name", "dtype", "data_format", "bounding_box_format", "lora_rank", "lora_alpha"}

// decodeValue reads the value of a key. In types of this module, an empty list that would mean the default is an error.
func (f field) decodeValue(raw json.RawMessage, into reflect.Value, ours bool) error {
	if isNull(raw) {
		return f.decodeNull(into, ours)
	}
	if err := f.decode(raw, into); err != nil {
		return err
	}
	empty := ours && into.Kind() == reflect.Slice && into.Len() == 0
	if empty && (f.length > 0 || f.hasDefault && f.def != "[]" && f.def != "null" && f.key != "axis") { // no axes have a meaning of their own
		return errors.New("expected a list with elements, received an empty one")
	}
	return nil
}

// decodeNull reads null, which is None in Python, as the zero value if that means the same. Otherwise it is an error,
// because the zero value would be a number or a default that nobody wrote. A list of a type from outside this module
// may always be nil.
func (f field) decodeNull(into reflect.Value, ours bool) error {
	if f.null || f.hasDefault && f.def == "null" || slices.Contains(unset, f.key) {
		into.SetZero()
		return nil
	}
	k, _ := kindFor(f.key, into.Type())
	none, isUnnamed := unnamed[k.suffix]
	switch kind := into.Kind(); {
	case f.required && !isUnnamed:
	case kind == reflect.Bool && f.key != "trainable":
		into.SetBool(f.not)
		return nil
	case kind == reflect.Interface || holdsKind(into.Type()):
		if !f.hasDefault {
			into.SetZero()
			return nil
		}
		if isUnnamed {
			return decodeInterface(f.key, []byte(none), into)
		}
	case !f.hasDefault && (kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice && !ours):
		into.SetZero()
		return nil
	}
	if into.Kind() == reflect.Interface {
		return errors.New("expected a value, received null")
	}
	if !ours {
		return fmt.Errorf("expected %[1]s, received null; if the zero value is to stand for None, say so in the tag: `keras:%[2]q`", expected(into.Type()), f.key+",null")
	}
	return fmt.Errorf("expected %s, received null", expected(into.Type()))
}

// unnamed holds what Keras uses for None, whatever the default of the class is.
var unnamed = map[string]string{"activation": `"linear"`, "initializer": `"glorot_uniform"`}
