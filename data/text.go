package data

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorgonia.org/tensor"
)

// Text makes an array of strings of the given shape, a vector without one. An array of text is one of bytes with one more axis, the
// last: the UTF-8 of each string, filled with zeros to the length of the longest, as in NumPy's type S. So texts batch, shuffle and
// travel like any array, and a model whose input is text takes them. A string must not end in a zero byte.
func Text(values []string, shape ...int) (*tensor.Dense, error) {
	if shape == nil {
		shape = []int{len(values)}
	}
	d, err := packText(values, shape, "value")
	if err != nil {
		return nil, fmt.Errorf("data: Text: %w", err)
	}
	return d, nil
}

func packText(values []string, shape []int, name string) (*tensor.Dense, error) {
	width, n := 1, 1
	for _, length := range shape {
		n *= length
	}
	if n != len(values) || n == 0 {
		return nil, fmt.Errorf("%s has %d strings for the shape %v; expected as many as that has places, and at least one", name, len(values), shape)
	}
	for i, s := range values {
		if strings.HasSuffix(s, "\x00") {
			return nil, fmt.Errorf("%s: string %d ends in a zero byte, which marks the end of a text; cut it off", name, i)
		}
		width = max(width, len(s))
	}
	full := append(slices.Clone(shape), width)
	if _, ok := volume(full, 1); !ok {
		return nil, fmt.Errorf("%s has %d strings of up to %d bytes, too large for memory", name, n, width)
	}
	bytes := make([]byte, n*width)
	for i, s := range values {
		copy(bytes[i*width:], s)
	}
	return denseOf(bytes, full...), nil
}

// Strings returns the strings of an array that [Text] made, row-major, and their shape.
func Strings(d *tensor.Dense) (values []string, shape []int, err error) {
	if d == nil || d.Dtype() != tensor.Uint8 || len(d.Shape()) == 0 {
		return nil, nil, fmt.Errorf("data: Strings: received %s; expected an array of text, which is one of bytes (uint8) with the characters on the last axis", kindOf(d))
	}
	if d, err = ToDense(d); err != nil {
		return nil, nil, fmt.Errorf("data: Strings: %w", err)
	}
	full := d.Shape()
	width := full[len(full)-1]
	shape = slices.Clone([]int(full[:len(full)-1]))
	bytes := d.Data().([]byte)
	for at := 0; at+width <= len(bytes) && width > 0; at += width {
		values = append(values, strings.TrimRight(string(bytes[at:at+width]), "\x00"))
	}
	return values, shape, nil
}

func kindOf(d *tensor.Dense) string {
	if d == nil {
		return "nil"
	}
	return fmt.Sprintf("an array of %s of shape %v", d.Dtype(), d.Shape())
}

// toArray is toDense that takes nested slices of strings, too, where name is that of an input.
func toArray(v any, name string) (*tensor.Dense, error) {
	if rv := reflect.ValueOf(v); rv.IsValid() && strings.HasPrefix(name, componentNames[0]) {
		if d, ok, err := textOf(rv, name); ok {
			return d, err
		}
	}
	return toDense(v, name)
}

// textType returns the type of the first strings among inputs; "" where there are none.
func textType(x any) string {
	if _, ok := x.(*tensor.Dense); ok {
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

// textOf turns nested slices of strings into an array of text; false where v holds none.
func textOf(v reflect.Value, name string) (d *tensor.Dense, ok bool, err error) {
	element := v.Type()
	for isList(element.Kind()) {
		element = element.Elem()
	}
	if element.Kind() != reflect.String || !isList(v.Kind()) {
		return nil, false, nil
	}
	var shape []int
	for probe := v; isList(probe.Kind()); probe = probe.Index(0) {
		if probe.Len() == 0 {
			return nil, true, fmt.Errorf("%s is an empty %s; expected at least one value", name, probe.Type())
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
		return nil, true, err
	}
	d, err = packText(values, shape, name)
	return d, true, err
}
