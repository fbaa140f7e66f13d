package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Unmarshal is json.Unmarshal, but its errors about unexpected kinds of values speak of the file and its keys instead
// of Go types.
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

// expected says what a file holds for a Go type.
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

// found returns the decoder's word for a value of a file: "array", or "number 1.5".
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

// Received describes what a [Resolver] was given, for use after "received": a value from a file as in the file, other
// values by their Go type.
func Received(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		if _, named := v["class_name"]; named {
			return "an object that is none of a file"
		}
		return "an object without a class_name"
	case []any:
		return "a list"
	case Object:
		return fmt.Sprintf("an object of class %q", v.ClassName)
	case bool:
		return fmt.Sprintf("the value %v", v)
	case string:
		return fmt.Sprintf("the text %q", v)
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Int, reflect.Int64, reflect.Float32, reflect.Float64:
		return fmt.Sprintf("the number %v", v)
	case reflect.Pointer, reflect.Func:
		if r.IsNil() {
			return fmt.Sprintf("a nil %T", v)
		}
	}
	return A(fmt.Sprintf("%T", v))
}

// IsNil reports whether v is a nil pointer or function in an interface that is not nil.
func IsNil(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Func:
		return r.IsNil()
	}
	return false
}

// A returns a word preceded by its article, chosen by its first letter: "a Dense". It does not get "an LSTM" right.
func A(word string) string {
	if word != "" && strings.ContainsRune("AEIOUaeiou", rune(word[0])) && !strings.HasPrefix(word, "Uni") {
		return "an " + word
	}
	return "a " + word
}

// Form returns the type of a function as its author would write it: the context of layers is an alias.
func Form(t reflect.Type) string {
	return strings.ReplaceAll(t.String(), "exec.Context", "layers.Context")
}

// Given returns what a caller passed for a value of a kind: a map with class_name and config, as in files, becomes an
// [Object].
func Given(v any) any {
	m, _ := v.(map[string]any)
	if _, named := m["class_name"].(string); !named {
		return v
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return v
	}
	o, err := ParseObject(raw)
	if err != nil {
		return v
	}
	return o
}
