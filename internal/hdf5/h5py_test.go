package hdf5

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// python runs a script with the interpreter that the environment variable GOKERAS_PYTHON names.
func python(t *testing.T, script string, arguments ...string) []byte {
	t.Helper()
	interpreter := os.Getenv("GOKERAS_PYTHON")
	if interpreter == "" {
		t.Skip("GOKERAS_PYTHON names no Python with h5py; the comparison with h5py is left out")
	}
	out, err := exec.Command(interpreter, append([]string{"-c", script}, arguments...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return out
}

const readAll = `
import h5py, json, sys
import numpy as np
def plain(v):
    if isinstance(v, np.ndarray): return [plain(x) for x in v.ravel()]
    if isinstance(v, bytes): return v.decode()
    if isinstance(v, str): return v
    return float(v)
def attributes(o): return {k: plain(v) for k, v in o.attrs.items() if k not in ("model_config", "weight_names0", "weight_names1")}
out = {}
with h5py.File(sys.argv[1], "r") as f:
    assert len(f.attrs["model_config"]) == 70000
    names = list(f.attrs["weight_names0"]) + list(f.attrs["weight_names1"])
    assert len(names) == 2001 and names[2000] == b"a_rather_long_name_of_a_weight_2000/kernel:0", names[-1]
    assert len(f.attrs["weight_names0"]) == 1001
    out["/"] = {"attributes": attributes(f)}
    def visit(path, o):
        out[path] = {"attributes": attributes(o)}
        if isinstance(o, h5py.Dataset):
            v = o[()]
            if o.dtype.kind == "V": v = v.view("u2")
            out[path].update(dtype=str(o.dtype), shape=list(o.shape), values=plain(v))
    f.visititems(visit)
with h5py.File(sys.argv[1], "r+") as f: # can be added to
    f.create_dataset("types/later/x", data=[1.0])
    f["empty"].attrs["later"] = "text"
with h5py.File(sys.argv[1], "r") as f:
    assert f["types/later/x"][0] == 1 and f["types/i1"][0] == -1 and f["empty"].attrs["later"] == "text"
print(json.dumps(out, sort_keys=True, indent=1, ensure_ascii=False))
`

// h5py reads what we write, and can add to it.
func TestH5pyReadsOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ours.h5")
	require.NoError(t, os.WriteFile(path, write(t, everything(t)), 0o600))
	out := python(t, readAll, path)
	var got map[string]struct {
		Attributes map[string]any
		Dtype      string
		Shape      []int
		Values     any
	}
	require.NoError(t, json.Unmarshal(out, &got), string(out))
	halfAttributes := got["types/bf16"].Attributes
	long := strings.Repeat("long ", 2000)
	for path, want := range map[string]struct {
		dtype  string
		shape  []int
		values any
	}{
		"types/i1": {"int8", []int{3}, []any{-1., 0., 127.}}, "types/i2": {"int16", []int{3}, []any{-1., 0., 32767.}},
		"types/i4": {"int32", []int{3}, []any{-1., 0., 2147483647.}}, "types/i8": {"int64", []int{3}, []any{-1., 0., 9007199254740992.}},
		"types/u1": {"uint8", []int{3}, []any{1., 0., 255.}}, "types/u2": {"uint16", []int{3}, []any{1., 0., 65535.}},
		"types/u4": {"uint32", []int{3}, []any{1., 0., 4294967295.}}, "types/u8": {"uint64", []int{3}, []any{1., 0., 9007199254740992.}},
		"types/f2":   {"float16", []int{3}, []any{1., -2.5, 1. / (1 << 24)}},
		"types/f4":   {"float32", []int{2, 3}, []any{1., 2., 3., 4., 5., -6.5}},
		"types/f8":   {"float64", []int{3, 1}, []any{0.1, 2., -3.}},
		"types/bf16": {"|V2", []int{2}, []any{float64(0x3f80), float64(0xc020)}},
		"types/bool": {"bool", []int{3}, []any{1., 0., 1.}}, "types/fixed": {"|S4", []int{2}, []any{"abcd", "x"}},
		"scalar": {"float32", []int{}, 2.5}, "none": {"float32", []int{0, 4}, []any{}},
		"texts": {"object", []int{2, 2}, []any{"héllo", "", long, "x"}},
		"text":  {"object", []int{}, "alone"}, "with_attributes": {"int32", []int{1}, []any{1.}},
	} {
		o, ok := got[path]
		if assert.True(t, ok, path) {
			assert.Equal(t, want.dtype, o.Dtype, path)
			assert.Equal(t, want.shape, o.Shape, path)
			assert.Equal(t, want.values, o.Values, path)
		}
		delete(got, path)
	}
	assert.Equal(t, map[string]any{"text": "wörld", "texts": []any{"a", "bc", ""}, "fixed": "raw", "int": 5., "ints": []any{1., -2.},
		"f4": .5, "f8s": []any{.25, -1.}, "u2": 7., "flag": 1., "flags": []any{0., 1.}, "nothing": "",
		"i1s": []any{-3.}}, got["empty"].Attributes)
	assert.Equal(t, map[string]any{"dtype": "bfloat16"}, halfAttributes)
	assert.Equal(t, map[string]any{"layer_names": []any{"dense", "dense_1"}, "no_names": []any{}}, got["/"].Attributes)
	assert.Len(t, got, 3) // "/", "types", "empty"
}

const readMany = `
import h5py, sys
with h5py.File(sys.argv[1], "r") as f:
    assert sorted(f.keys()) == sorted(str(i) for i in range(9000))
    for i in range(9000):
        assert f[str(i)][0] == i
with h5py.File(sys.argv[1], "r+") as f: # nodes that are full can be split
    for i in range(0, 9000, 7): f.create_group("%d_new" % i)
with h5py.File(sys.argv[1], "r") as f:
    assert len(f) == 9000 + 1286 and f["8999"][0] == 8999
print("good")
`

func manyDatasets(t testing.TB, n int) *Writer {
	w := NewWriter()
	for i := range n {
		_, err := w.Root().Dataset(fmt.Sprint(i), Int32, []int{1}, Values([]int32{int32(i)}))
		require.NoError(t, err)
	}
	return w
}

func TestH5pyReadsManyMembers(t *testing.T) {
	w := manyDatasets(t, 9000)
	path := filepath.Join(t.TempDir(), "many.h5")
	require.NoError(t, os.WriteFile(path, write(t, w), 0o600))
	require.Equal(t, "good\n", string(python(t, readMany, path)))
}
