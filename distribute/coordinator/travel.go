package coordinator

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/gokeras/gokeras/kernels"
)

// Values are encoded with encoding/gob. Plain numbers and strings have a simpler encoding, because gob repeats the
// description of its types in each message, which costs more than a small closure.
const (
	inGob byte = iota
	inPlain
)

// Kinds of plain values.
const (
	plainNil byte = iota
	plainFalse
	plainTrue
	plainInt
	plainInt64
	plainFloat32
	plainFloat64
	plainString
	plainDataset
)

var errMessage = errors.New("broken message")

// encodePlain returns nil if a value is not plain.
func encodePlain(values []any) []byte {
	out := binary.AppendUvarint(append(make([]byte, 0, 16+16*len(values)), inPlain), uint64(len(values)))
	text := func(kind byte, s string) {
		out = append(binary.AppendUvarint(append(out, kind), uint64(len(s))), s...)
	}
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			out = append(out, plainNil)
		case bool:
			kind := plainFalse
			if v {
				kind = plainTrue
			}
			out = append(out, kind)
		case int:
			out = binary.AppendVarint(append(out, plainInt), int64(v))
		case int64:
			out = binary.AppendVarint(append(out, plainInt64), v)
		case float32:
			out = binary.LittleEndian.AppendUint32(append(out, plainFloat32), math.Float32bits(v))
		case float64:
			out = binary.LittleEndian.AppendUint64(append(out, plainFloat64), math.Float64bits(v))
		case string:
			text(plainString, v)
		case datasetArgument:
			text(plainDataset, v.Name)
		default:
			return nil
		}
	}
	return out
}

// plainReader decodes plain values.
type plainReader struct {
	b      []byte
	broken bool
}

func (r *plainReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.broken, r.b = true, nil
		return make([]byte, 8) // that of any number
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

// after skips a number that took n bytes.
func (r *plainReader) after(n int) {
	if n <= 0 {
		r.broken, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

func (r *plainReader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.after(n)
	return v
}

func (r *plainReader) int() int64 {
	v, n := binary.Varint(r.b)
	r.after(n)
	return v
}

func (r *plainReader) text() string {
	b := r.take(r.uint())
	if r.broken {
		return ""
	}
	return string(b)
}

func (r *plainReader) value() any {
	switch kind := r.take(1)[0]; kind {
	case plainNil:
		return nil
	case plainFalse, plainTrue:
		return kind == plainTrue
	case plainInt:
		return int(r.int())
	case plainInt64:
		return r.int()
	case plainFloat32:
		return math.Float32frombits(binary.LittleEndian.Uint32(r.take(4)))
	case plainFloat64:
		return math.Float64frombits(binary.LittleEndian.Uint64(r.take(8)))
	case plainString:
		return r.text()
	case plainDataset:
		return datasetArgument{r.text()}
	}
	r.broken = true
	return nil
}

func decodePlain(b []byte) ([]any, error) {
	r := &plainReader{b: b}
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.broken = true
	}
	var values []any
	for range n {
		if r.broken {
			break
		}
		values = append(values, r.value())
	}
	if r.broken || len(r.b) > 0 {
		return nil, fmt.Errorf("coordinator: %w: %d bytes of plain values; run the same program everywhere", errMessage, len(b))
	}
	return values, nil
}

func init() {
	for _, v := range []any{[]any{}, []bool{}, []int{}, []int32{}, []int64{}, []float32{}, []float64{}, []string{}, [][]int{}, [][]int64{}, [][]float32{}, [][]float64{}, map[string]any{}, map[string]bool{},
		map[string]int{}, map[string]int64{}, map[string]float32{}, map[string]float64{}, map[string]string{}, map[string][]int64{}, map[string][]float32{}, map[string][]float64{}, map[int64]int64{}, map[int64][]float32{}, kernels.Array{}, datasetArgument{}} {
		gob.Register(v)
	}
}

// datasetArgument stands for a dataset among the arguments.
type datasetArgument struct{ Name string }

type payload struct{ Values []any }

// encode encodes values for another process.
func encode(what string, values ...any) (b []byte, err error) {
	if b := encodePlain(values); b != nil {
		return b, nil
	}
	for i, v := range values {
		if v == nil {
			values[i] = noValue{}
			continue
		}
		if why := cannotTravel(reflect.ValueOf(v), 0); why != "" {
			return nil, fmt.Errorf("coordinator: %s cannot travel: it has %s; send numbers, texts, slices, maps and structs that gob.Register knows", what, why)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("coordinator: %s cannot travel: %v", what, r)
		}
	}()
	out := bytes.NewBuffer([]byte{inGob})
	if err := gob.NewEncoder(out).Encode(payload{values}); err != nil {
		return nil, fmt.Errorf("coordinator: %s cannot travel: %w; of other types than numbers, texts and slices of them give gob.Register a value when the program begins, in all processes", what, err)
	}
	return out.Bytes(), nil
}

// noValue stands for nil.
type noValue struct{ Nothing bool }

func init() { gob.Register(noValue{}) }

// cannotTravel names the part of a value that has no meaning in another process.
func cannotTravel(v reflect.Value, depth int) string {
	if depth > 8 || !v.IsValid() {
		return ""
	}
	switch v.Kind() {
	case reflect.Func:
		return "a function"
	case reflect.Chan:
		return "a channel"
	case reflect.UnsafePointer, reflect.Uintptr:
		return "an address"
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return cannotTravel(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k < reflect.Array && k != reflect.Uintptr || v.Len() == 0 {
			return ""
		}
		return cannotTravel(v.Index(0), depth+1)
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if why := cannotTravel(it.Value(), depth+1); why != "" {
				return why
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				if why := cannotTravel(v.Field(i), depth+1); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

func decode(b []byte) ([]any, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("coordinator: %w: it has no bytes", errMessage)
	}
	if b[0] == inPlain {
		return decodePlain(b[1:])
	}
	var p payload
	if err := gob.NewDecoder(bytes.NewReader(b[1:])).Decode(&p); err != nil {
		return nil, fmt.Errorf("coordinator: %w; register the types of arguments and results with gob.Register in all processes", err)
	}
	for i, v := range p.Values {
		if _, none := v.(noValue); none {
			p.Values[i] = nil
		}
	}
	return p.Values, nil
}
