package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/hdf5"
)

// floats returns the elements of an array as float64.
func floats(t *testing.T, a data.Array) []float64 {
	t.Helper()
	switch v := a.Elements().(type) {
	case []float32:
		return widen(v)
	case []float64:
		return v
	case []int64:
		return widen(v)
	case []int32:
		return widen(v)
	case []uint32:
		return widen(v)
	case []uint8:
		return widen(v)
	case []int8:
		return widen(v)
	case []bool:
		out := make([]float64, len(v))
		for i, b := range v {
			if b {
				out[i] = 1
			}
		}
		return out
	case float32:
		return []float64{float64(v)}
	case float64:
		return []float64{v}
	case int64:
		return []float64{float64(v)}
	case int32:
		return []float64{float64(v)}
	case uint32:
		return []float64{float64(v)}
	}
	t.Fatalf("an array of %v", a.DType())
	return nil
}

func widen[T float32 | int64 | int32 | uint32 | uint8 | int8](v []T) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// members returns the members of a JSON object in their order, each a number or a list (of lists) of numbers. NaN and
// Infinity are read as Python writes them.
func members(t *testing.T, text []byte) (names []string, values [][]float64) {
	t.Helper()
	quoted := strings.NewReplacer("-Infinity", `"-Infinity"`, "NaN", `"NaN"`, " Infinity", ` "Infinity"`).Replace(string(text))
	d := json.NewDecoder(strings.NewReader(quoted))
	_, err := d.Token()
	require.NoError(t, err)
	for d.More() {
		name, err := d.Token()
		require.NoError(t, err)
		var value any
		require.NoError(t, d.Decode(&value))
		names, values = append(names, name.(string)), append(values, numbers(t, value))
	}
	return names, values
}

func numbers(t *testing.T, value any) []float64 {
	switch v := value.(type) {
	case float64:
		return []float64{v}
	case string:
		return []float64{map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[v]}
	case []any:
		var all []float64
		for _, item := range v {
			all = append(all, numbers(t, item)...)
		}
		return all
	}
	t.Fatalf("%v is not a number", value)
	return nil
}

// member reads a member of a zip archive.
func member(t *testing.T, path, name string) []byte {
	t.Helper()
	z, err := zip.OpenReader(path)
	require.NoError(t, err)
	defer z.Close()
	f, err := z.Open(name)
	require.NoError(t, err)
	content, err := io.ReadAll(f)
	require.NoError(t, err)
	return content
}

// configOf returns the configuration in a .keras or .json file.
func configOf(t *testing.T, path string) []byte {
	t.Helper()
	if strings.HasSuffix(path, ".keras") {
		return member(t, path, "config.json")
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return bytes.TrimSpace(text)
}

// stored is a dataset of an HDF5 file.
type stored struct {
	shape  []int
	values []float64
}

// storedArrays returns all datasets of a weights file, or of the one in a .keras archive, by path.
func storedArrays(t *testing.T, path string) map[string]stored {
	t.Helper()
	var content []byte
	if strings.HasSuffix(path, ".keras") {
		content = member(t, path, "model.weights.h5")
	} else {
		var err error
		content, err = os.ReadFile(path)
		require.NoError(t, err)
	}
	f, err := hdf5.Open(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	all := map[string]stored{}
	require.NoError(t, f.Root().Walk(func(path string, o hdf5.Object) error {
		d, ok := o.(*hdf5.Dataset)
		if !ok {
			return nil
		}
		values, err := d.Float64s()
		all[strings.TrimPrefix(path, "/")] = stored{d.Shape(), values}
		return err
	}))
	return all
}
