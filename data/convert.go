package data

import (
	"fmt"
	"reflect"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// ToDense turns v into a row-major array. It accepts
//
//   - *tensor.Dense: itself if it is row-major and contiguous, else a copy that is;
//   - slices of numbers or bools: []T becomes shape (n) and shares the memory of the slice;
//   - nested slices or Go arrays of any depth ([][]float64, [][28][28]uint8, ...), copied; all must have the same length on
//     the same axis;
//   - image.Image and slices of images of one size: float32 (images, height, width, channels) from 0 to 255, one image being a batch of
//     one; with one channel where all are image.Gray or Gray16, otherwise three, without transparency;
//   - gonum's mat.Vector (shape (n)) and mat.Matrix (shape (rows, columns)), as float64; a dense matrix without a gap
//     between its rows shares its memory.
//
// The element type is kept: float64 stays float64, int stays int. Types such as "type Label uint8" count as what they are
// made of. Complex numbers, strings and structs are errors, and so are slices without values, whose shape is not known: see [Empty].
func ToDense(v any) (*tensor.Dense, error) {
	d, err := toDense(v, "value")
	if err != nil {
		return nil, fmt.Errorf("data: ToDense: %w", err)
	}
	return d, nil
}

// toDense is ToDense with the name that errors use for v.
func toDense(v any, name string) (*tensor.Dense, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() || rv.Kind() == reflect.Pointer && rv.IsNil() {
		return nil, fmt.Errorf("%s is nil; expected an array, a slice or a matrix", name)
	}
	switch v := v.(type) {
	case *tensor.Dense:
		return fromDense(v, name)
	case tensor.Tensor:
		return nil, fmt.Errorf("%s is a %T; expected a *tensor.Dense (a sparse tensor has a Dense method)", name, v)
	case mat.Vector:
		return fromVector(v, name)
	case mat.Matrix:
		return fromMatrix(v, name)
	}
	if images, list := imagesIn(v); images != nil || list {
		return fromImages(images, name)
	}
	return fromNested(rv, name)
}

func fromDense(d *tensor.Dense, name string) (*tensor.Dense, error) {
	switch {
	case !isModelDtype(d.Dtype()):
		return nil, fmt.Errorf("%s holds elements of type %s; %s", name, d.Dtype(), dtypeHint)
	case slices.ContainsFunc(d.Shape(), func(n int) bool { return n < 0 }):
		return nil, fmt.Errorf("%s has shape %v; expected lengths of 0 and more", name, d.Shape())
	case isEmpty(d):
		return emptyDense(d.Dtype(), d.Shape()...), nil
	case len(d.Raw) == 0:
		return nil, fmt.Errorf("%s has shape %v and no memory", name, d.Shape())
	case !d.IsNativelyAccessible():
		return nil, fmt.Errorf("%s lives in memory that Go cannot read; copy it to the host first", name)
	case d.IsMasked():
		return nil, fmt.Errorf("%s is a masked tensor; fill the masked values first, or give their weight as SampleWeight", name)
	}
	return compact(d), nil
}

func fromVector(v mat.Vector, name string) (*tensor.Dense, error) {
	n := v.Len()
	if n == 0 {
		return nil, fmt.Errorf("%s is an empty vector", name)
	}
	if raw, ok := v.(mat.RawVectorer); ok {
		if r := raw.RawVector(); r.Inc == 1 {
			return denseOf(r.Data[:n:n], n), nil
		}
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = v.AtVec(i)
	}
	return denseOf(values, n), nil
}

func fromMatrix(m mat.Matrix, name string) (*tensor.Dense, error) {
	rows, columns := m.Dims()
	if rows == 0 || columns == 0 {
		return nil, fmt.Errorf("%s is an empty matrix", name)
	}
	if raw, ok := m.(mat.RawMatrixer); ok {
		if r := raw.RawMatrix(); r.Stride == columns {
			return denseOf(r.Data[:rows*columns:rows*columns], rows, columns), nil
		}
	}
	values := make([]float64, 0, rows*columns)
	for i := range rows {
		for j := range columns {
			values = append(values, m.At(i, j))
		}
	}
	return denseOf(values, rows, columns), nil
}

// dtypeOfKind gives the element type for the kinds a model takes.
func dtypeOfKind(k reflect.Kind) (tensor.Dtype, bool) {
	for _, dt := range dtypes {
		if dt.Kind() == k {
			return dt, true
		}
	}
	return tensor.Dtype{}, false
}

func isList(k reflect.Kind) bool { return k == reflect.Slice || k == reflect.Array }

func fromNested(v reflect.Value, name string) (*tensor.Dense, error) {
	element := v.Type()
	for isList(element.Kind()) {
		element = element.Elem()
	}
	dtype, ok := dtypeOfKind(element.Kind())
	switch {
	case !ok:
		hint := dtypeHint
		if element.Kind() == reflect.String {
			hint += "; ClassLabelsOf and its Encode turn names of classes into numbers"
		}
		return nil, fmt.Errorf("%s is a %s with elements of type %s; %s", name, v.Type(), element, hint)
	case !isList(v.Kind()):
		return nil, fmt.Errorf("%s is a single %s; expected an array, a slice or a matrix", name, v.Type())
	}
	var shape []int
	for probe, path := v, name; isList(probe.Kind()); probe, path = probe.Index(0), path+"[0]" {
		if probe.Len() == 0 {
			return nil, fmt.Errorf("%s is an empty %s; expected at least one value (data.Empty makes an array without any, and knows its whole shape)", path, probe.Type())
		}
		shape = append(shape, probe.Len())
	}
	if len(shape) == 1 && v.Kind() == reflect.Slice && element == dtype.Type {
		return denseOf(v.Convert(reflect.SliceOf(element)).Interface(), shape...), nil
	}
	n, ok := volume(shape, int(dtype.Size()))
	if !ok {
		return nil, fmt.Errorf("%s has shape %v, too large for memory", name, shape)
	}
	f := flattener{shape: shape, flat: reflect.MakeSlice(reflect.SliceOf(dtype.Type), n, n), same: element == dtype.Type}
	if r := f.fill(v, 0); r != nil {
		return nil, fmt.Errorf("%s%s is ragged: length %d on axis %d, but %d in the first entry; pad it (PadSequences) or cut it",
			name, r.path, r.length, r.axis, shape[r.axis])
	}
	return denseOf(f.flat.Interface(), shape...), nil
}

// flattener copies a nested list, innermost row by row.
type flattener struct {
	shape []int
	flat  reflect.Value
	next  int  // index of the next element of flat
	same  bool // the elements need no conversion
}

// ragged is the place of the first list whose length is not that of its siblings.
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
	if f.same {
		reflect.Copy(out, v)
		return
	}
	for i := range n {
		out.Index(i).Set(v.Index(i).Convert(out.Type().Elem()))
	}
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
	case rv.Kind() == reflect.Slice && (rv.Type().Elem().Kind() == reflect.Interface || rv.Type().Elem().Kind() == reflect.Pointer):
		return fromList(rv, component)
	}
	d, err := toArray(v, component)
	if err != nil {
		return Tensors{}, err
	}
	return List(d), nil
}

func convertTensors(t Tensors, component string) (Tensors, error) {
	if err := t.check(component); err != nil {
		return Tensors{}, err
	}
	out := Tensors{Names: t.Names, Arrays: make([]*tensor.Dense, len(t.Arrays))}
	for i, a := range t.Arrays {
		var err error
		if out.Arrays[i], err = toDense(a, t.label(component, i)); err != nil {
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
