package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func openBytes(b []byte) (*File, error) { return Open(bytes.NewReader(b), int64(len(b))) }

func testdata(t testing.TB, name string) []byte {
	b, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return b
}

// raw puts a header, which is not touched, before data bytes.
func raw(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

// The reference implementation's file is read, and writing what was read gives the same bytes.
func TestReference(t *testing.T) {
	b := testdata(t, "all.safetensors")
	f, err := openBytes(b)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a & b": "<text> \" é"}, f.Metadata())
	for name, want := range map[string][]float32{"values/f2": {1, -2.5, 1.0 / (1 << 24)}, "values/bf16": {1, -2.5},
		"values/f4": {1, 2, 3, 4, 5, -6.5}, "values/f8": {0.25}, "kernel <é>": {7}} {
		tensor, err := f.Tensor(name)
		require.NoError(t, err)
		got, err := tensor.Float32s()
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
	f4, err := f.Tensor("values/f4")
	require.NoError(t, err)
	require.Equal(t, []int{2, 3}, f4.Shape())
	require.Equal(t, F32, f4.DType())

	var w Writer
	seen := map[DType]bool{}
	for _, tensor := range f.Tensors() {
		data := make([]byte, tensor.Size())
		require.NoError(t, tensor.ReadInto(data))
		require.NoError(t, w.Add(tensor.Name(), tensor.DType(), tensor.Shape(), Bytes(data)))
		seen[tensor.DType()] = true
	}
	require.Len(t, seen, len(order)-2) // all but the two types of 6 bits
	for key, text := range f.Metadata() {
		require.NoError(t, w.SetMetadata(key, text))
	}
	var again bytes.Buffer
	n, err := w.WriteTo(&again)
	require.NoError(t, err)
	size, err := w.Size()
	require.NoError(t, err)
	require.EqualValues(t, len(b), n)
	require.Equal(t, size, n)
	require.Equal(t, string(b), again.String())

	var none bytes.Buffer
	_, err = (&Writer{}).WriteTo(&none)
	require.NoError(t, err)
	require.Equal(t, string(testdata(t, "empty.safetensors")), none.String())
	f, err = openBytes(none.Bytes())
	require.NoError(t, err)
	require.Empty(t, f.Tensors())
	require.Nil(t, f.Metadata())
}

const x = `{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`

func TestAccepted(t *testing.T) {
	for name, b := range map[string][]byte{
		"plain":          raw(x, 8),
		"spaces":         raw(x+"   \n", 8),
		"another order":  raw(`{"x":{"shape":[2], "data_offsets":[0,8], "dtype":"F32"}}`, 8),
		"an unknown key": raw(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":{"a":[1]}}}`, 8),
		"empty ones between": raw(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},`+
			`"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},`+
			`"b":{"dtype":"F32","shape":[0,5],"data_offsets":[8,8]}}`, 8),
		"a scalar":   raw(`{"x":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}`, 8),
		"three bits": raw(`{"x":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}}`, 3),
	} {
		f, err := openBytes(b)
		require.NoError(t, err, name)
		_, err = f.Tensor("x")
		require.NoError(t, err, name)
	}
}

func TestRefused(t *testing.T) {
	tensor := func(dtype, shape, offsets string) string {
		return `{"x":{"dtype":` + dtype + `,"shape":` + shape + `,"data_offsets":` + offsets + `}}`
	}
	for says, b := range map[string][]byte{
		"7 bytes, expected at least 8":         make([]byte, 7),
		"a header of 100 bytes in a file of 9": append(binary.LittleEndian.AppendUint64(nil, 100), 0),
		"18446744073709551615 bytes":           append(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), 0),
		"does not start with {":                raw(` {}`, 0),
		"not UTF-8":                            raw("{\"\xff\":1}", 0),
		"not JSON":                             raw(`{"x":`, 0),
		"goes on":                              raw(`{}{}`, 0),
		"expected an object":                   raw(`{"x":[]}`, 0),
		`two tensors named "x"`:                raw(x[:len(x)-1]+","+x[1:], 8),
		`two tensors named "X"`:                raw(strings.ReplaceAll(x[:len(x)-1]+","+x[1:], "x", `\u0058`), 8),
		`"shape" is there twice`:               raw(`{"x":{"shape":[1],"shape":[2]}}`, 8),
		"no dtype":                             raw(`{"x":{"DType":"F32","shape":[2],"data_offsets":[0,8]}}`, 8),
		"no shape":                             raw(`{"x":{"dtype":"F32","data_offsets":[0,8]}}`, 8),
		"no data_offsets":                      raw(`{"x":{"dtype":"F32","shape":[2]}}`, 8),
		`dtype "F31"`:                          raw(tensor(`"F31"`, "[2]", "[0,8]"), 8),
		"dtype null":                           raw(tensor(`null`, "[2]", "[0,8]"), 8),
		"-2, expected an integer":              raw(tensor(`"F32"`, "[-2]", "[0,8]"), 8),
		"2.5, expected an integer":             raw(tensor(`"F32"`, "[2.5]", "[0,8]"), 8),
		"2e0, expected an integer":             raw(tensor(`"F32"`, "[2e0]", "[0,8]"), 8),
		"9223372036854775808, expected":        raw(tensor(`"F32"`, "[9223372036854775808]", "[0,8]"), 8),
		`"2", expected an integer`:             raw(tensor(`"F32"`, `["2"]`, "[0,8]"), 8),
		"8, expected a list":                   raw(tensor(`"F32"`, "[2]", "8"), 8),
		"1 data_offsets":                       raw(tensor(`"F32"`, "[2]", "[8]"), 8),
		"more than 2 numbers":                  raw(tensor(`"F32"`, "[2]", "[0,8,9]"), 8),
		"more than 64 numbers":                 raw(tensor(`"F32"`, "["+strings.Repeat("1,", 64)+"1]", "[0,4]"), 4),
		"takes 8 bytes":                        raw(tensor(`"F32"`, "[2]", "[0,9]"), 9),
		"data_offsets [8 0]":                   raw(tensor(`"F32"`, "[2]", "[8,0]"), 8),
		"negative or too large":                raw(tensor(`"F32"`, "[4611686018427387904,4]", "[0,8]"), 8),
		"does not fill whole bytes":            raw(tensor(`"F4"`, "[3]", "[0,2]"), 2),
		"ends at 8, the data at 7":             raw(x, 7),
		"the tensors end at 8, the data at 9":  raw(x, 9),
		"nothing from 0 to 4":                  raw(tensor(`"F32"`, "[1]", "[4,8]"), 8),
		"inside the one before": raw(`{"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},`+
			`"y":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}}`,
			7),
		"metadata \"a\" is 1": raw(`{"__metadata__":{"a":1}}`, 0),
		"is there twice":      raw(`{"__metadata__":{"a":"1","a":"2"}}`, 0),
		"two objects":         raw(`{"__metadata__":{},"__metadata__":{}}`, 0),
	} {
		_, err := openBytes(b)
		require.ErrorIs(t, err, ErrInvalid, says)
		require.ErrorContains(t, err, says)
	}
	require.NotPanics(t, func() {
		_, err := openBytes(raw(strings.Repeat(`{"x":`, 100_000), 0))
		require.ErrorIs(t, err, ErrInvalid)
	})
	// A header longer than the limit in a file that claims to be large enough is refused before it is allocated.
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Open(bytes.NewReader(binary.LittleEndian.AppendUint64(nil, MaxHeader+1)), math.MaxInt64)
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "at most 100000000")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

func TestReadErrors(t *testing.T) {
	b := raw(x, 8)
	f, err := Open(bytes.NewReader(b[:len(b)-1]), int64(len(b))) // the file is shorter than was said
	require.NoError(t, err)
	tensor, err := f.Tensor("x")
	require.NoError(t, err)
	require.ErrorIs(t, tensor.ReadInto(make([]byte, 8)), io.ErrUnexpectedEOF)
	_, err = tensor.Float32s()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, tensor.ReadInto(make([]byte, 7)), "got 7 bytes, expected 8")
	_, err = f.Tensor("y")
	require.ErrorIs(t, err, ErrNotFound)
	f, err = openBytes(raw(strings.Replace(x, "F32", "I32", 1), 8))
	require.NoError(t, err)
	tensor, err = f.Tensor("x")
	require.NoError(t, err)
	_, err = tensor.Float32s()
	require.ErrorContains(t, err, "of I32")
}

func TestWriterErrors(t *testing.T) {
	var w Writer
	data := Bytes(make([]byte, 8))
	require.NoError(t, w.Add("x", F32, []int{2}, data))
	for _, c := range []struct {
		name  string
		dtype DType
		shape []int
		says  string
	}{
		{"x", F32, []int{2}, "already"},
		{"y", "F31", []int{2}, `dtype "F31"`},
		{"y", F32, []int{-2}, "shape [-2]"},
		{"y", F4, []int{3}, "whole bytes"},
		{"y", F32, make([]int, 65), "65 axes"},
		{metadataKey, F32, []int{2}, "metadata"},
		{"\xff", F32, []int{2}, "UTF-8"},
	} {
		require.ErrorContains(t, w.Add(c.name, c.dtype, c.shape, data), c.says)
	}
	require.ErrorContains(t, w.SetMetadata("a", "\xff"), "UTF-8")
	for says, n := range map[string]int{"wrote 7 bytes, expected 8": 7, "more than its shape": 9} {
		var w Writer
		require.NoError(t, w.Add("x", F32, []int{2}, Bytes(make([]byte, n))))
		_, err := w.WriteTo(io.Discard)
		require.ErrorContains(t, err, says)
	}
	broken := errors.New("broken")
	var v Writer
	require.NoError(t, v.Add("x", F32, []int{2}, func(io.Writer) error { return broken }))
	_, err := v.WriteTo(io.Discard)
	require.ErrorIs(t, err, broken)
}

func FuzzOpen(f *testing.F) {
	f.Add(raw(x, 8))
	f.Add(raw(`{"__metadata__":{"a":"b"},"x":{"shape":[0],"dtype":"U8","data_offsets":[0,0],"z":null}}`, 0))
	f.Add(testdata(f, "empty.safetensors"))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := openBytes(b)
		if err != nil {
			return
		}
		var w Writer
		for _, tensor := range file.Tensors() {
			data := make([]byte, tensor.Size())
			require.NoError(t, tensor.ReadInto(data))
			require.NoError(t, w.Add(tensor.Name(), tensor.DType(), tensor.Shape(), Bytes(data)))
		}
		var out bytes.Buffer
		_, err = w.WriteTo(&out)
		require.NoError(t, err)
		again, err := openBytes(out.Bytes())
		require.NoError(t, err)
		require.Len(t, again.Tensors(), len(file.Tensors()))
	})
}
