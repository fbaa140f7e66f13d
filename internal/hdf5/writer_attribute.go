package hdf5

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// variableString is the type of strings of variable length: a count, and the address and index of a heap object.
var variableString = Type{Class: ClassString, Size: 16, Variable: true}

// attributeWriter holds the attributes of an object to be written.
type attributeWriter struct {
	owner string
	list  []attributeValue
}

type attributeValue struct {
	name  string
	typ   Type
	shape []int // nil: a scalar
	data  []byte
	texts []string // instead of data, for variableString
}

const maxMessage = 65528 // bytes; a multiple of 8 that 16 bits hold

// SetAttribute sets an attribute, in place of one of the same name. value is a scalar or a slice (one axis) of: string
// (variable length, UTF-8), bool, any integer or any float; or a []byte, which is one string of fixed length (NumPy's
// "S<length>"). The limit is 64 KiB, the size of a header message, in which a string of variable length takes 16 bytes.
func (w *attributeWriter) SetAttribute(name string, value any) error {
	a, err := newAttribute(name, value)
	if err != nil {
		return fmt.Errorf("hdf5: attribute %q of %q: %w", name, w.owner, err)
	}
	return w.set(a)
}

func (w *attributeWriter) set(a attributeValue) error {
	if err := checkName(a.name); err != nil {
		return fmt.Errorf("hdf5: attribute of %q: %w", w.owner, err)
	}
	if n := len(a.message(make([]byte, len(a.texts)*variableString.Size))); n > maxMessage {
		return fmt.Errorf("hdf5: attribute %q of %q takes %d bytes, at most %d", a.name, w.owner, n, maxMessage)
	}
	if i := slices.IndexFunc(w.list, func(b attributeValue) bool { return b.name == a.name }); i >= 0 {
		w.list[i] = a
		return nil
	}
	w.list = append(w.list, a)
	return nil
}

// newAttribute finds the type of a value.
func newAttribute(name string, value any) (attributeValue, error) {
	a := attributeValue{name: name}
	switch v := value.(type) {
	case string:
		a.typ, a.texts = variableString, []string{v}
	case []string:
		a.typ, a.texts, a.shape = variableString, slices.Clone(v), []int{len(v)}
	case []byte:
		a.typ, a.data = FixedString(max(1, len(v))), slices.Clone(v)
		if len(v) == 0 {
			a.data = []byte{0}
		}
	case bool:
		a.typ, a.data = Bool, flags(v)
	case []bool:
		a.typ, a.data, a.shape = Bool, flags(v...), []int{len(v)}
	case int:
		a.typ = Int64
		value = int64(v)
	case []int:
		a.typ, a.shape = Int64, []int{len(v)}
		list := make([]int64, len(v))
		for i, n := range v {
			list[i] = int64(n)
		}
		value = list
	case int8, []int8:
		a.typ = Int8
	case int16, []int16:
		a.typ = Int16
	case int32, []int32:
		a.typ = Int32
	case int64, []int64:
		a.typ = Int64
	case uint8:
		a.typ = Uint8
	case uint16, []uint16:
		a.typ = Uint16
	case uint32, []uint32:
		a.typ = Uint32
	case uint64, []uint64:
		a.typ = Uint64
	case float32, []float32:
		a.typ = Float32
	case float64, []float64:
		a.typ = Float64
	default:
		return a, fmt.Errorf("a value of Go type %T, expected a string, bool, integer or float, or a slice of them", value)
	}
	if a.texts != nil || a.data != nil {
		return a, nil
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, value); err != nil {
		return a, err
	}
	a.data = b.Bytes()
	if kind := fmt.Sprintf("%T", value); kind[0] == '[' {
		a.shape = []int{len(a.data) / a.typ.Size}
	}
	return a, nil
}

func flags(values ...bool) []byte {
	b := make([]byte, len(values))
	for i, v := range values {
		if v {
			b[i] = 1
		}
	}
	return b
}

// legacyLimit is Keras's HDF5_OBJECT_HEADER_LIMIT: a list with more bytes is split.
const legacyLimit = 64512

// SetStringList sets an attribute to an array of fixed-length strings as Keras's legacy files have it (layer_names,
// weight_names): in one attribute, or split evenly into name0, name1, ... if it is longer than 64512 bytes. An empty
// list becomes an empty array of float64, because NumPy has no type for an empty list of strings. [StringList] reads
// it.
func (w *attributeWriter) SetStringList(name string, values []string) error {
	if len(values) == 0 {
		return w.SetAttribute(name, []float64{})
	}
	width := 1
	for _, v := range values {
		width = max(width, len(v))
	}
	if width > legacyLimit {
		return fmt.Errorf("hdf5: attribute %q of %q: a string of %d bytes, at most %d", name, w.owner, width, legacyLimit)
	}
	parts := 1
	for (len(values)+parts-1)/parts*width > legacyLimit {
		parts++
	}
	for i := range parts {
		n := len(values) / (parts - i) // NumPy's array_split puts the longer parts first
		if len(values)%(parts-i) != 0 {
			n++
		}
		part := values[:n]
		values = values[n:]
		data := make([]byte, n*width)
		for j, v := range part {
			copy(data[j*width:], v)
		}
		a := attributeValue{name: name, typ: FixedString(width), shape: []int{n}, data: data}
		if parts > 1 {
			a.name += strconv.Itoa(i)
		}
		if err := w.set(a); err != nil {
			return err
		}
	}
	return nil
}

// message is the body of the attribute's header message (version 1) around its data.
func (a *attributeValue) message(data []byte) []byte {
	typ, space := typeMessage(a.typ), spaceMessage(a.shape)
	if a.texts == nil {
		data = a.data
	}
	b := []byte{1, 0}
	for _, n := range []int{len(a.name) + 1, len(typ), len(space)} {
		b = binary.LittleEndian.AppendUint16(b, uint16(min(n, math.MaxUint16)))
	}
	b = pad(append(append(b, a.name...), 0))
	b = pad(append(b, typ...))
	b = pad(append(b, space...))
	return pad(append(b, data...))
}
