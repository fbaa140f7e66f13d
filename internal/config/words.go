package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Unmarshal is json.Unmarshal whose errors about values of another kind than is expected speak of the file, by its
// keys, and not of Go's types.
func Unmarshal(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	wrong, ok := err.(*json.UnmarshalTypeError)
	if !ok {
		return err
	}
	place := ""
	if wrong.Field != "" {
		place = fmt.Sprintf("key %q: ", wrong.Field)
	}
	return fmt.Errorf("%sexpected %s, received %s", place, expected(wrong.Type), found(wrong.Value))
}

// expected says what a file has for a Go type.
func expected(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// found says what the decoder calls a value of a file: "array", or "number 1.5".
func found(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	if strings.HasPrefix(value, "number ") {
		return "the " + value
	}
	return "a " + value
}

// Received says what a [Resolver] was given, after "received": a value of a file by what the file has, others by their
// Go type.
func Received(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object without a class_name"
	case []any:
		return "a list"
	case Object:
		return fmt.Sprintf("an object of class %q", v.ClassName)
	case float64:
		return fmt.Sprintf("the number %v", v)
	case bool, string:
		return fmt.Sprintf("the value %v", v)
	}
	return fmt.Sprintf("a %T", v)
}
