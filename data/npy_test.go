package data_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels/ir"
)

type number24 interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func make24[T number24](f func(i int) T) []T {
	values := make([]T, 24)
	for i := range values {
		values[i] = f(i)
	}
	return values
}

// wantNumPy gives the values that testdata/generate.py describes.
// pairs24 are the numbers i - i*j.
func pairs24[T float32 | float64]() (out []T) {
	for i := range 24 {
		out = append(out, T(i), -T(i))
	}
	return out
}

func wantNumPy(code string) any {
	signed := func(i int) int64 { return int64(i) - 5 }
	quarter := func(i int) float64 { return float64(i)/4 - 2 }
	switch code {
	case "b1":
		values := make([]bool, 24)
		for i := range values {
			values[i] = i%2 == 1
		}
		return values
	case "i1":
		return make24(func(i int) int8 { return int8(signed(i)) })
	case "i2":
		return make24(func(i int) int16 { return int16(signed(i)) })
	case "i4":
		return make24(func(i int) int32 { return int32(signed(i)) })
	case "i8":
		return make24(signed)
	case "u1":
		return make24(func(i int) uint8 { return uint8(i) })
	case "u2":
		return make24(func(i int) uint16 { return uint16(i) })
	case "u4":
		return make24(func(i int) uint32 { return uint32(i) })
	case "u8":
		return make24(func(i int) uint64 { return uint64(i) })
	case "f2", "f4":
		return make24(func(i int) float32 { return float32(quarter(i)) })
	case "f8":
		return make24(quarter)
	case "c8":
		return pairs24[float32]()
	default:
		return pairs24[float64]()
	}
}

func TestLoadNPZReadsWhatNumPyWrites(t *testing.T) {
	arrays, err := data.LoadNPZ("testdata/numpy.npz")
	require.NoError(t, err)
	require.Equal(t, 14*4+4, arrays.Len())
	for i, name := range arrays.Names {
		d := arrays.Arrays[i]
		code, _, _ := strings.Cut(name, "_")
		switch name {
		case "scalar":
			assert.Zero(t, d.Rank())
			assert.Equal(t, []int32{7}, d.Elements())
		case "vector":
			assert.Equal(t, []float64{1.5, 2.5}, d.Elements())
		case "half_special":
			got := d.Elements().([]float32)
			assert.Equal(t, []float32{0, 0, 0x1p-24, 0x1p-14, 65504, float32(math.Inf(1)), float32(math.Inf(-1))}, got[:7])
			assert.True(t, math.Signbit(float64(got[1])), "-0")
			assert.Equal(t, uint32(0x7fc00000), math.Float32bits(got[7]), "the quiet NaN")
			assert.Equal(t, float32(0.333251953125), got[8], "1/3 in binary16 is 1365/4096")
		default:
			shape := []int{2, 3, 4}
			if strings.HasPrefix(code, "c") {
				shape = append(shape, 2) // real and imaginary part
			}
			assert.Equal(t, shape, shapeOf(d), name)
			assert.Equal(t, wantNumPy(code), d.Elements(), name)
		}
	}
}

func TestWriteNPYWritesWhatNumPyWrites(t *testing.T) {
	for name, d := range map[string]data.Array{
		"f4.npy":        dense(wantNumPy("f4"), 2, 3, 4),
		"u1_vector.npy": dense(wantNumPy("u1"), 24),
		"i8_scalar.npy": dense([]int64{-3}),
	} {
		want, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		var got bytes.Buffer
		require.NoError(t, data.WriteNPY(&got, d))
		assert.Equal(t, want, got.Bytes(), name)

		read, err := data.LoadNPY(filepath.Join("testdata", name))
		require.NoError(t, err)
		assert.Equal(t, d.Elements(), read.Elements(), name)
	}
}

func TestNPYRoundTrip(t *testing.T) {
	dir := t.TempDir()
	matrix := dense([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for i, c := range []struct {
		in   data.Array
		want any
	}{
		{dense([]int{1, -2}, 2), map[int]any{32: []int32{1, -2}, 64: []int64{1, -2}}[strconv.IntSize]},
		{dense([]uint{1, 2}, 2, 1), map[int]any{32: []uint32{1, 2}, 64: []uint64{1, 2}}[strconv.IntSize]},
		{dense([]bool{true, false}, 2), []bool{true, false}},
		{matrix, []float32{1, 2, 3, 4, 5, 6}},
		{dense(make([]float64, 3000), 10, 300), make([]float64, 3000)},
	} {
		path := filepath.Join(dir, fmt.Sprint(i, ".npy"))
		require.NoError(t, data.SaveNPY(path, c.in))
		got, err := data.LoadNPY(path)
		require.NoError(t, err)
		assert.Equal(t, c.want, got.Elements())
		assert.Equal(t, shapeOf(c.in), shapeOf(got))
	}
	require.ErrorContains(t, data.SaveNPY(filepath.Join(dir, "x.npy"), data.Array{}), "zero Array")
	half, err := matrix.Convert(ir.Float16)
	require.NoError(t, err)
	require.NoError(t, data.SaveNPY(filepath.Join(dir, "half.npy"), half))
	wide, err := data.LoadNPY(filepath.Join(dir, "half.npy"))
	require.NoError(t, err)
	require.True(t, matrix.Equal(wide))
	half.Type.DType = ir.BFloat16
	require.ErrorContains(t, data.WriteNPY(&bytes.Buffer{}, half), "type bfloat16")
	_, err = os.Stat(filepath.Join(dir, "x.npy"))
	require.ErrorIs(t, err, os.ErrNotExist, "nothing is left of a file that could not be written")
}

func TestNPZRoundTrip(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "named.npz")
	arrays := data.Tensors{Names: []string{"z", "a/b"}, Arrays: []data.Array{dense([]int8{1, 2}, 2), dense([]float32{3}, 1, 1)}}
	require.NoError(t, data.SaveNPZ(path, arrays))
	got, err := data.LoadNPZ(path)
	require.NoError(t, err)
	assert.Equal(t, "(z int8[2], a/b float32[1 1])", got.String())
	assert.Equal(t, []int8{1, 2}, got.Get("z").Elements())

	half, err := dense([]float32{1}, 1).Convert(ir.BFloat16)
	require.NoError(t, err)
	path = filepath.Join(dir, "positional.npz")
	require.NoError(t, data.SaveNPZ(path, data.List(dense([]int8{1}, 1), dense([]int8{2}, 1))))
	got, err = data.LoadNPZ(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"arr_0", "arr_1"}, got.Names)
	require.ErrorContains(t, data.SaveNPZ(path, data.List(data.Array{})), "is no array")
	require.ErrorContains(t, data.SaveNPZ(path, data.List(half)), `array "arr_0"`)
	got, err = data.LoadNPZ(path)
	require.NoError(t, err, "the old file is still there")
	assert.Equal(t, 2, got.Len())
}

// npy makes a file of the given version with a header text and payload.
func npy(version byte, header, payload string) []byte {
	b := append([]byte("\x93NUMPY"), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return append(append(b, header...), payload...)
}

func TestNPYHeadersByOtherWriters(t *testing.T) {
	for _, header := range []string{
		`{"shape": (2L, 1L), "descr": "<u2", "fortran_order": True}`,
		"{'fortran_order':False,'descr':'u2','shape':(2,1)}\n",
		"  {  'descr' : '=u2' ,\n 'fortran_order' : False , 'shape' : ( 2 , 1 , ) , }  \n",
	} {
		d, err := data.ReadNPY(bytes.NewReader(npy(1, header, "\x01\x00\x02\x01")))
		require.NoError(t, err, header)
		assert.Equal(t, []uint16{1, 258}, d.Elements(), header)
		assert.Equal(t, []int{2, 1}, shapeOf(d))
	}
}

// Every byte but 0 means true to NumPy; to Go only 1 does.
func TestReadNPYCleansBools(t *testing.T) {
	d, err := data.ReadNPY(bytes.NewReader(npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\x02\x00\xff")))
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 0, 1}, d.Data)
}

func TestReadNPYRejects(t *testing.T) {
	head := func(s string) []byte { return npy(1, s, "12345678") }
	for want, file := range map[string][]byte{
		"unexpected EOF":                     {},
		"not a .npy file":                    []byte("PK\x03\x04........"),
		"format version 4.0":                 npy(4, "", ""),
		"header of 65537 bytes":              npy(2, strings.Repeat(" ", 65537), ""),
		"header: unexpected EOF":             npy(2, "{", "")[:11],
		"expected a string at":               head("{descr: 1}"),
		"a string does not end":              head("{'descr"),
		`expected "{"`:                       head("[]"),
		`expected ":"`:                       head("{'descr' '<f4'}"),
		`key "name" is unknown`:              head("{'name': 1}"),
		`key "descr" comes twice`:            head("{'descr': '<f4', 'descr': '<f4'}"),
		"expected the keys":                  head("{'descr': '<f4'}"),
		"follows the dictionary":             head("{} x"),
		"fortran_order is":                   head("{'fortran_order': 1}"),
		"expected a number":                  head("{'shape': (-1,)}"),
		"more than 64 dimensions":            head("{'shape': (" + strings.Repeat("1,", 65) + ")}"),
		`expected ")"`:                       head("{'shape': (1 2)}"),
		"records":                            head("{'descr': [('a', '<f4')]}"),
		`"|O" cannot be read`:                head("{'descr': '|O'}"),
		`"<M8[s]" cannot be read`:            head("{'descr': '<M8[s]'}"),
		`element type "f" is unknown`:        head("{'descr': 'f'}"),
		"holds no values, which arrays of t": head("{'descr': '<U4', 'fortran_order': False, 'shape': (0, 3)}"),
		"[99999999999 99999999999] is too":   head("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}"),
		"promises 12 bytes of values, but o": head("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"),
	} {
		_, err := data.ReadNPY(bytes.NewReader(file))
		require.ErrorContains(t, err, "data: ReadNPY: ", want)
		assert.ErrorContains(t, err, want)
	}
	path := filepath.Join(t.TempDir(), "long.npy")
	require.NoError(t, os.WriteFile(path, npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}", "1234"), 0o600))
	_, err := data.LoadNPY(path)
	require.ErrorContains(t, err, "more data follows")
	assert.ErrorContains(t, err, path)
	_, err = data.LoadNPY(path + ".gone")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestLoadNPZRejects(t *testing.T) {
	dir := t.TempDir()
	good, err := os.ReadFile("testdata/numpy.npz")
	require.NoError(t, err)
	for name, file := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":     {nil, "zip: not a valid zip file"},
		"truncated": {good[:len(good)/2], "zip: not a valid zip file"},
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, file.content, 0o600))
		_, err := data.LoadNPZ(path)
		require.ErrorContains(t, err, file.want)
		assert.ErrorContains(t, err, path)
	}
	_, err = data.ReadNPZ(bytes.NewReader(nil), 0)
	require.ErrorContains(t, err, "data: ReadNPZ: ")
	_, err = data.LoadNPZ(filepath.Join(dir, "gone"))
	require.ErrorIs(t, err, os.ErrNotExist)

	bad := bytes.Clone(good)
	bad[len("PK..")+26+len("b1_little_c.npy")+20] ^= 0x55 // inside the first member's data
	_, err = data.ReadNPZ(bytes.NewReader(bad), int64(len(bad)))
	require.ErrorContains(t, err, `member "b1_little_c.npy"`)
}

// A wrong checksum is noticed though all values can be read.
func TestNPZChecksum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	require.NoError(t, data.SaveNPZ(path, data.List(dense([]uint8{11, 22, 33, 44}, 4))))
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(file, []byte{11, 22, 33, 44})
	require.Positive(t, at)
	file[at] = 12
	_, err = data.ReadNPZ(bytes.NewReader(file), int64(len(file)))
	require.ErrorContains(t, err, "checksum")
}

func ExampleSaveNPZ() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "arrays.npz")
	x := data.Must(data.ArrayOf([]float32{1, 2, 3, 4}, 2, 2))
	if err := data.SaveNPZ(path, data.Dict(map[string]data.Array{"x": x})); err != nil {
		fmt.Println(err)
	}
	arrays, err := data.LoadNPZ(path)
	fmt.Println(arrays, err)
	fmt.Println(data.Arrays(arrays, nil).N(), "examples")
	// Output:
	// (x float32[2 2]) <nil>
	// 2 examples
}
