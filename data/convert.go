package data

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ToArray converts v to an array. It accepts
//
//   - an [Array], or a pointer to one: itself; numbers of half precision become float32;
//   - an [Arrayer]: what its Array method returns;
//   - slices of numbers or bools: []T becomes shape (n) and shares the memory of the slice;
//   - nested slices or Go arrays of any depth ([][]float64, [][28][28]uint8, ...), copied; all must have the same length on
//     the same axis;
//   - image.Image and slices of images of one size: float32 (images, height, width, channels) from 0 to 255, one image being a batch of
//     one; with one channel where all are image.Gray or Gray16, otherwise three, without transparency.
//
// The element type is kept: float64 stays float64; int is int64 where Go's int has 64 bits. Types such as "type Label
// uint8" count as their underlying type. Complex numbers, strings and structs are errors, and so are slices without
// values, whose shape is unknown: [Zeros] makes arrays without elements. Tensors of gorgonia.org/tensor and matrices of
// gonum go through data/gorgonia and data/gonum.
func ToArray(v any) (Array, error) {
	d, err := numericArray(v, "value")
	if err != nil {
		return Array{}, fmt.Errorf("data: ToArray: %w", err)
	}
	return d, nil
}

// numericArray is ToArray with the name by which errors refer to v.
func numericArray(v any, name string) (Array, error) {
	switch v := v.(type) {
	case Array:
		return checked(v, name)
	case *Array:
		if v != nil {
			return checked(*v, name)
		}
	}
	rv := reflect.ValueOf(v)
	if !rv.IsValid() || rv.Kind() == reflect.Pointer && rv.IsNil() {
		return Array{}, fmt.Errorf("%s is nil; expected an array or a slice", name)
	}
	if v, ok := v.(Arrayer); ok {
		a, err := v.Array()
		if err != nil {
			return Array{}, fmt.Errorf("%s: %w", name, err)
		}
		return checked(a, name)
	}
	if images, list := imagesIn(v); images != nil || list {
		return fromImages(images, name)
	}
	return fromNested(rv, name)
}

// checked returns the array if it may be passed to a model.
func checked(a Array, name string) (Array, error) {
	if err := a.Check(); err != nil {
		return Array{}, fmt.Errorf("%s: %w", name, err)
	}
	if a.DType().IsHalf() {
		return a.Convert(ir.Float32)
	}
	return a, nil
}

func isList(k reflect.Kind) bool { return k == reflect.Slice || k == reflect.Array }

func fromNested(v reflect.Value, name string) (Array, error) {
	element := v.Type()
	for isList(element.Kind()) {
		element = element.Elem()
	}
	dtype := kernels.DTypeOfKind(element.Kind())
	switch {
	case dtype == ir.Invalid:
		return Array{}, fmt.Errorf("%s is a %s with elements of type %s; %s", name, v.Type(), element, hintFor(element))
	case !isList(v.Kind()):
		return Array{}, fmt.Errorf("%s is a single %s; expected an array or a slice", name, v.Type())
	}
	var shape []int
	for probe, path := v, name; isList(probe.Kind()); probe, path = probe.Index(0), path+"[0]" {
		if probe.Len() == 0 {
			return Array{}, fmt.Errorf("%s is an empty %s; expected at least one value (data.Zeros makes an array without any, and knows its whole shape)", path, probe.Type())
		}
		shape = append(shape, probe.Len())
	}
	flat := v
	if len(shape) > 1 || v.Kind() != reflect.Slice {
		n, ok := volume(shape, dtype.Size())
		if !ok {
			return Array{}, fmt.Errorf("%s has shape %v, too large for memory", name, shape)
		}
		f := flattener{shape: shape, flat: reflect.MakeSlice(reflect.SliceOf(element), n, n)}
		if r := f.fill(v, 0); r != nil {
			return Array{}, fmt.Errorf("%s%s is ragged: length %d on axis %d, but %d in the first entry; pad it (PadSequences) or cut it",
				name, r.path, r.length, r.axis, shape[r.axis])
		}
		flat = f.flat
	}
	return kernels.ArrayAt(dtype, flat.UnsafePointer(), flat.Len(), shape...)
}

// hintFor says what to do with elements that are not numbers.
func hintFor(element reflect.Type) string {
	switch {
	case element.Kind() == reflect.String:
		return dtypeHint + "; ClassLabelsOf and its Encode turn names of classes into numbers"
	case strings.Contains(element.String(), "tensor.Dense"):
		return dtypeHint + "; FromTensor of data/gorgonia makes an array of a tensor"
	case strings.Contains(element.String(), "mat."):
		return dtypeHint + "; FromMatrix of data/gonum makes an array of a matrix"
	}
	return dtypeHint
}

// flattener copies a nested list, innermost row by row.
type flattener struct {
	shape []int
	flat  reflect.Value
	next  int // index of the next element of flat
}

// ragged is the position of the first list whose length differs from that of its siblings.
type ragged struct {
	path         string // "[3][0]"
	axis, length int
}

func (f *flattener) fill(v reflect.Value, axis int) *ragged {
	if v.Len() != f.shape[axis] {
		return &ragged{axis: axis, length: v.Len()}
	}
	if axis == len(f.shape)-1 {
		f.row(v)
		return nil
	}
	for i := range v.Len() {
		if r := f.fill(v.Index(i), axis+1); r != nil {
			r.path = fmt.Sprintf("[%d]%s", i, r.path)
			return r
		}
	}
	return nil
}

func (f *flattener) row(v reflect.Value) {
	n := v.Len()
	out := f.flat.Slice(f.next, f.next+n)
	f.next += n
	reflect.Copy(out, v)
}

// toTensors turns an argument of Arrays into a component: nothing (nil), one array, a list or a dictionary of arrays.
func toTensors(v any, component string) (Tensors, error) {
	if v == nil {
		return Tensors{}, nil
	}
	if t, ok := v.(Tensors); ok {
		return convertTensors(t, component)
	}
	if images, list := imagesIn(v); images != nil || list {
		d, err := fromImages(images, component)
		return List(d), err
	}
	rv := reflect.ValueOf(v)
	switch {
	case rv.Kind() == reflect.Map && rv.Type().Key().Kind() == reflect.String:
		return fromMap(rv, component)
	case rv.Kind() == reflect.Slice && holdsArrays(rv.Type().Elem()):
		return fromList(rv, component)
	}
	d, err := toArray(v, component)
	if err != nil {
		return Tensors{}, err
	}
	return List(d), nil
}

// holdsArrays reports whether each element of a list is, or may be, an array.
func holdsArrays(element reflect.Type) bool {
	return element.Kind() == reflect.Interface || element.Kind() == reflect.Pointer || element == reflect.TypeFor[Array]() || element.Implements(reflect.TypeFor[Arrayer]())
}

func convertTensors(t Tensors, component string) (Tensors, error) {
	if err := t.check(component); err != nil {
		return Tensors{}, err
	}
	out := Tensors{Names: t.Names, Arrays: make([]Array, len(t.Arrays))}
	for i, a := range t.Arrays {
		var err error
		if out.Arrays[i], err = numericArray(a, t.label(component, i)); err != nil {
			return Tensors{}, err
		}
	}
	return out, nil
}

func fromMap(m reflect.Value, component string) (Tensors, error) {
	if m.Len() == 0 {
		return Tensors{}, fmt.Errorf("%s is an empty %s; expected at least one array", component, m.Type())
	}
	keys := m.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	var t Tensors
	for _, key := range keys {
		d, err := toArray(m.MapIndex(key).Interface(), fmt.Sprintf("%s[%q]", component, key.String()))
		if err != nil {
			return Tensors{}, err
		}
		t.Names, t.Arrays = append(t.Names, key.String()), append(t.Arrays, d)
	}
	return t, nil
}

func fromList(list reflect.Value, component string) (Tensors, error) {
	if list.Len() == 0 {
		return Tensors{}, fmt.Errorf("%s is an empty %s; expected at least one array", component, list.Type())
	}
	var t Tensors
	for i := range list.Len() {
		d, err := toArray(list.Index(i).Interface(), fmt.Sprintf("%s[%d]", component, i))
		if err != nil {
			return Tensors{}, err
		}
		t.Arrays = append(t.Arrays, d)
	}
	return t, nil
}
