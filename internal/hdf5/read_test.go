package hdf5

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What h5py says about an object, see testdata/generate.py.
type expectedValue struct {
	Shape  []int `json:"shape"`
	Values any   `json:"values"`
}

type expectedObject struct {
	Attributes map[string]*expectedValue `json:"attributes"`
	Dtype      string                    `json:"dtype"`
	Shape      []int                     `json:"shape"`
	Values     any                       `json:"values"`
	Sum        *float64                  `json:"sum"`
	Weighted   *float64                  `json:"weighted"`
}

func unpack(t testing.TB, name string) []byte { return unpackFrom(t, "testdata", name) }

func unpackFrom(t testing.TB, folder, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join(folder, name+".gz"))
	require.NoError(t, err)
	r, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return b
}

func openBytes(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	return f
}

func openTestdata(t testing.TB, name string) *File { return openBytes(t, unpack(t, name)) }

// asList turns a decoded JSON value, which is a list or one value, into a list.
func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// values reads numbers as float64 and strings as such.
func values(typ Type, floats func() ([]float64, error), texts func() ([]string, error)) ([]any, error) {
	var all []any
	if typ.Class == ClassString {
		list, err := texts()
		for _, v := range list {
			all = append(all, v)
		}
		return all, err
	}
	list, err := floats()
	for _, v := range list {
		all = append(all, v)
	}
	return all, err
}

// dtypes maps NumPy's names to ours where they differ.
var dtypes = map[string]string{"|S4": "string[4]", "|S5": "string[5]", "object": "string",
	">i2": "int16, big-endian", ">i4": "int32, big-endian",
	">i8": "int64, big-endian", ">u2": "uint16, big-endian", ">f2": "float16, big-endian", ">f4": "float32, big-endian",
	">f8": "float64, big-endian"}

func checkObject(t *testing.T, o Object, want expectedObject) {
	attributes, err := o.Attributes()
	require.NoError(t, err)
	assert.Len(t, attributes, len(want.Attributes))
	for _, a := range attributes {
		w, known := want.Attributes[a.Name()]
		if !assert.True(t, known, a.Name()) {
			continue
		}
		if w == nil {
			assert.Nil(t, a.Shape())
			continue
		}
		got, err := values(a.Type(), a.Float64s, a.Strings)
		require.NoError(t, err)
		assert.Equal(t, w.Shape, a.Shape(), a.Name())
		assert.Equal(t, asList(w.Values), got, a.Name())
	}
	d, ok := o.(*Dataset)
	if !ok {
		assert.Empty(t, want.Dtype)
		return
	}
	assert.Equal(t, want.Shape, d.Shape())
	if want.Values == nil && want.Sum == nil { // of a type that is not compared
		return
	}
	name := want.Dtype
	if n, ok := dtypes[name]; ok {
		name = n
	}
	if d.Type().Class == ClassEnum {
		return
	}
	assert.Equal(t, name, d.Type().String())
	got, err := values(d.Type(), d.Float64s, d.Strings)
	require.NoError(t, err)
	if want.Values != nil {
		if len(got) > 0 || len(asList(want.Values)) > 0 {
			assert.Equal(t, asList(want.Values), got)
		}
		return
	}
	var sum, weighted float64
	for i, v := range got {
		sum += v.(float64)
		weighted += v.(float64) * float64(i%17+1)
	}
	assert.LessOrEqual(t, math.Abs(sum-*want.Sum), 1e-9*math.Abs(sum))
	assert.LessOrEqual(t, math.Abs(weighted-*want.Weighted), 1e-9*math.Abs(weighted))
}

// Every file of testdata is read as h5py reads it: the same objects, attributes, shapes, types and values.
func TestReadsAsH5py(t *testing.T) { readAsH5py(t, "testdata") }

// The same with the h5py that is here, which may be a later one.
func TestReadsAsThisH5py(t *testing.T) {
	folder := t.TempDir()
	script, err := filepath.Abs("testdata/generate.py")
	require.NoError(t, err)
	python(t, "import os, runpy, sys; os.chdir(sys.argv[1]); runpy.run_path(sys.argv[2])", folder, script)
	readAsH5py(t, folder)
}

func readAsH5py(t *testing.T, folder string) {
	var expected map[string]map[string]expectedObject
	require.NoError(t, json.Unmarshal(unpackFrom(t, folder, "expected.json"), &expected))
	files, err := filepath.Glob(filepath.Join(folder, "*.h5.gz"))
	require.NoError(t, err)
	require.Len(t, files, len(expected))
	for name, objects := range expected {
		t.Run(strings.TrimSuffix(name, ".h5"), func(t *testing.T) {
			f := openBytes(t, unpackFrom(t, folder, name))
			checkObject(t, f.Root(), objects[""])
			delete(objects, "")
			var paths []string
			err := f.Root().Walk(func(path string, o Object) error {
				paths = append(paths, path)
				assert.Equal(t, "/"+path, o.Path())
				t.Run(path, func(t *testing.T) { checkObject(t, o, objects[path]) })
				return nil
			})
			if name == "cyclic.h5" {
				require.ErrorIs(t, err, ErrCorrupt)
				require.ErrorContains(t, err, "contains itself")
				return
			}
			require.NoError(t, err)
			var want []string
			for path := range objects {
				want = append(want, path)
			}
			sort.Strings(paths)
			sort.Strings(want)
			require.Equal(t, want, paths)
		})
	}
}

// Keras marks the two opaque bytes of a bfloat16 with an attribute.
func TestBfloat16(t *testing.T) {
	for _, name := range []string{"types_earliest.h5", "types_latest.h5"} {
		root := openTestdata(t, name).Root()
		d, err := root.Dataset("bfloat16")
		require.NoError(t, err)
		require.Equal(t, Bfloat16, d.Type())
		values, err := d.Float32s()
		require.NoError(t, err)
		require.Equal(t, []float32{1, -2.5}, values)
		d, err = root.Dataset("opaque")
		require.NoError(t, err)
		require.Equal(t, "opaque[2]", d.Type().String())
		_, err = d.Float32s()
		require.ErrorIs(t, err, ErrUnsupported)
	}
}

// Groups and attributes whose fractal heaps and B-trees have several levels.
func TestReadsDeepTrees(t *testing.T) {
	names, err := openTestdata(t, "links_latest.h5").Root().Names()
	require.NoError(t, err)
	require.Len(t, names, 2500)
	require.Equal(t, "999", names[2499])

	const script = `
import h5py, sys
with h5py.File(sys.argv[1], "w", libver="latest") as f:
    for i in range(30000): f["%d_%s" % (i, "x" * 50)] = h5py.SoftLink("/y")
    g = f.create_group("g")
    for i in range(5000): g.attrs["attribute_%d" % i] = [i] * 20
`
	path := filepath.Join(t.TempDir(), "deep.h5")
	python(t, script, path)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	root := openBytes(t, b).Root()
	names, err = root.Names()
	require.NoError(t, err)
	require.Len(t, names, 30001)
	want := map[string]bool{"g": true}
	for i := range 30000 {
		want[strconv.Itoa(i)+"_"+strings.Repeat("x", 50)] = true
	}
	for _, name := range names {
		require.True(t, want[name], name)
	}
	g, err := root.Group("g")
	require.NoError(t, err)
	attributes, err := g.Attributes()
	require.NoError(t, err)
	require.Len(t, attributes, 5000)
	for i := range 5000 {
		a, err := g.Attribute("attribute_" + strconv.Itoa(i))
		require.NoError(t, err)
		values, err := a.Int64s()
		require.NoError(t, err)
		require.Equal(t, slices.Repeat([]int64{int64(i)}, 20), values)
	}
}

// A file is read from many goroutines.
func TestConcurrentReads(t *testing.T) {
	f := openTestdata(t, "chunked_latest.h5")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			d, err := f.Root().Dataset("all")
			if !assert.NoError(t, err) {
				return
			}
			values, err := d.Int64s()
			assert.NoError(t, err)
			assert.Len(t, values, 37*23)
			assert.NoError(t, f.Root().Walk(func(_ string, o Object) error {
				_, err := o.Attributes()
				return err
			}))
		})
	}
	wait.Wait()
}
