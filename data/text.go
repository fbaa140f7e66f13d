package data

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels"
)

// Text makes an array of strings with the given shape (default: a vector). An array of text is an array of bytes with
// one more axis, the last: the UTF-8 of each string, padded with zeros to the length of the longest, as in NumPy's type
// S. So texts can be batched, shuffled and sent like any array, and models with text inputs accept them. A string must
// not end in a zero byte.
func Text(values []string, shape ...int) (Array, error) {
	d, err := kernels.TextArray(values, shape...)
	if err != nil {
		return Array{}, fmt.Errorf("data: Text: %w", err)
	}
	return d, nil
}

func packText(values []string, shape []int, name string) (Array, error) {
	d, err := kernels.TextArray(values, append([]int{}, shape...)...)
	if err != nil {
		return Array{}, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// Strings returns the strings of an array that [Text] made, row-major, and their shape.
func Strings(d Array) (values []string, shape []int, err error) {
	if values, err = d.Strings(); err != nil {
		return nil, nil, fmt.Errorf("data: Strings: %w", err)
	}
	return values, slices.Clone(d.Shape()[:d.Rank()-1]), nil
}

// toArray is numericArray that also accepts nested slices of strings if name is that of an input.
func toArray(v any, name string) (Array, error) {
	if rv := reflect.ValueOf(v); rv.IsValid() && strings.HasPrefix(name, componentNames[0]) {
		if d, ok, err := textOf(rv, name); ok {
			return d, err
		}
	}
	return numericArray(v, name)
}

// textType returns the type of the first strings among inputs; "" if there are none.
func textType(x any) string {
	switch x.(type) {
	case Array, *Array:
		return ""
	}
	v := reflect.ValueOf(x)
	if !v.IsValid() {
		return ""
	}
	element := v.Type()
	for isList(element.Kind()) {
		element = element.Elem()
	}
	switch {
	case element.Kind() == reflect.String && isList(v.Kind()):
		return v.Type().String()
	case v.Kind() == reflect.Slice && element.Kind() == reflect.Interface:
		for i := range v.Len() {
			if name := textType(v.Index(i).Interface()); name != "" {
				return name
			}
		}
	case v.Kind() == reflect.Map:
		for _, key := range v.MapKeys() {
			if name := textType(v.MapIndex(key).Interface()); name != "" {
				return name
			}
		}
	}
	return ""
}

// textOf turns nested slices of strings into an array of text; it returns false if v holds no strings.
func textOf(v reflect.Value, name string) (d Array, ok bool, err error) {
	element := v.Type()
	for isList(element.Kind()) {
		element = element.Elem()
	}
	if element.Kind() != reflect.String || !isList(v.Kind()) {
		return Array{}, false, nil
	}
	var shape []int
	for probe := v; isList(probe.Kind()); probe = probe.Index(0) {
		if probe.Len() == 0 {
			return Array{}, true, fmt.Errorf("%s is an empty %s; expected at least one value", name, probe.Type())
		}
		shape = append(shape, probe.Len())
	}
	var values []string
	var walk func(v reflect.Value, axis int) error
	walk = func(v reflect.Value, axis int) error {
		if axis == len(shape) {
			values = append(values, v.String())
			return nil
		}
		if v.Len() != shape[axis] {
			return fmt.Errorf("%s is ragged: length %d on axis %d, but %d in the first entry; fill it up with empty strings", name, v.Len(), axis, shape[axis])
		}
		for i := range v.Len() {
			if err := walk(v.Index(i), axis+1); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(v, 0); err != nil {
		return Array{}, true, err
	}
	d, err = packText(values, shape, name)
	return d, true, err
}
