package data_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels/ir"
)

// opened reads an archive array by array.
func opened(t *testing.T, file []byte) (out data.Tensors, err error) {
	t.Helper()
	z, err := data.OpenNPZ(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return out, err
	}
	out.Names = z.Names
	for i := range z.Names {
		a, err := z.Read(i)
		require.NoError(t, err)
		kind, err := z.Type(i)
		require.NoError(t, err)
		require.Equal(t, a.Type, kind)
		memory := bytes.Repeat([]byte{0xa5}, kind.Bytes())
		require.NoError(t, z.ReadInto(i, memory))
		require.Equal(t, a.Data, memory)
		out.Arrays = append(out.Arrays, a)
	}
	return out, nil
}

// TestOpenNPZ: array by array one reads what LoadNPZ reads at once: types, byte orders and orders of all kinds.
func TestOpenNPZ(t *testing.T) {
	for _, path := range []string{"testdata/numpy.npz", "testdata/resizing.npz"} {
		want, err := data.LoadNPZ(path)
		require.NoError(t, err)
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		got, err := opened(t, file)
		require.NoError(t, err)
		require.Equal(t, want.Names, got.Names)
		for i, a := range want.Arrays {
			require.True(t, a.Equal(got.Arrays[i]), "%s: %s is %v, not %v", path, want.Names[i], got.Arrays[i], a)
		}
	}
}

// TestOpenNPZRejects: what is damaged is an error before anything is read, also where that would not be kept.
func TestOpenNPZRejects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	require.NoError(t, data.SaveNPZ(path, data.Dict(map[string]data.Array{"x": dense([]uint8{11, 22, 33, 44}, 4)})))
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(file, []byte{11, 22, 33, 44})
	archive := func(shape, values string) []byte {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		member, err := w.Create("x.npy")
		require.NoError(t, err)
		_, err = member.Write(npy(1, "{'descr': '|u1', 'fortran_order': False, 'shape': "+shape+"}", values))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	damaged := bytes.Clone(file)
	damaged[at] = 12
	for want, bad := range map[string][]byte{
		`data: OpenNPZ: member "x.npy": zip: checksum error`:                             damaged,
		`member "x.npy": the header promises 9 bytes of values, but only 4 follow`:       archive("(9,)", "1234"),
		`member "x.npy": more data follows the values that the header promises`:          archive("(3,)", "1234"),
		`member "x.npy": header "{'descr': '|u1', 'fortran_order': False, 'shape': (x,)`: archive("(x,)", "1234"),
		`zip: not a valid zip file`: file[:len(file)-1],
	} {
		_, err := data.OpenNPZ(bytes.NewReader(bad), int64(len(bad)))
		require.ErrorContains(t, err, want)
	}
	_, err = data.OpenNPZ(nil, 0)
	require.EqualError(t, err, "data: OpenNPZ: the reader is nil")

	z, err := data.OpenNPZ(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	for _, i := range []int{-1, 1} {
		_, err = z.Read(i)
		require.EqualError(t, err, fmt.Sprintf("data: NPZ: received the number %d of an array; the file has 1, counted from 0", i))
	}
	require.EqualError(t, z.ReadInto(0, make([]byte, 3)), `data: NPZ: received memory of 3 bytes for array "x", which has 4`)
	file[at] = 12 // after it was opened
	require.ErrorContains(t, z.ReadInto(0, make([]byte, 4)), `data: NPZ: member "x.npy": zip: checksum error`)
}

// TestOpenNPZKeepsNothing: values take the memory that they are read to, and no other.
func TestOpenNPZKeepsNothing(t *testing.T) {
	const n = 1 << 22
	path := filepath.Join(t.TempDir(), "a.npz")
	require.NoError(t, data.SaveNPZ(path, data.List(data.Must(data.Zeros[float32](n)), data.Must(data.Zeros[float32](n)))))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	memory := make([]byte, 4*n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	z, err := data.OpenNPZ(f, info.Size())
	require.NoError(t, err)
	for i := range 2 {
		kind, err := z.Type(i)
		require.NoError(t, err)
		require.Equal(t, ir.Type{DType: ir.Float32, Shape: ir.Shape{n}}, kind)
		require.NoError(t, z.ReadInto(i, memory))
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(n/4))
}

func ExampleOpenNPZ() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "arrays.npz")
	if err := data.SaveNPZ(path, data.List(data.Must(data.ArrayOf([]float32{1, 2, 3, 4}, 2, 2)))); err != nil {
		fmt.Println(err)
	}
	f, err := os.Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	z, err := data.OpenNPZ(f, info.Size())
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := z.Read(0)
	fmt.Println(z.Names[0], a.Elements(), err)
	// Output:
	// arr_0 [1 2 3 4] <nil>
}
