package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// Inputs may be called like the parts of an archive that serves several roles.
func TestPickByNamesOfTheModel(t *testing.T) {
	array := func(v float32) data.Array {
		return data.Must(data.ArrayOf([]float32{v}, 1))
	}
	archive := func(names ...string) (out data.Tensors) {
		for i, name := range names {
			out.Names, out.Arrays = append(out.Names, name), append(out.Arrays, array(float32(i)))
		}
		return out
	}
	for _, row := range []struct {
		archive data.Tensors
		names   []string
		want    []float32
	}{
		{archive("x", "z"), []string{"x", "z"}, []float32{0, 1}},
		{archive("z", "x"), []string{"x", "z"}, []float32{1, 0}},
		{archive("x.0", "other"), []string{"x.0", "other"}, []float32{0, 1}},
		{archive("x.a", "x.b", "y"), []string{"b", "a"}, []float32{1, 0}},
		{archive("x", "y"), []string{"y"}, []float32{0}}, // the target of the model is its input's namesake
		{archive("x", "y"), []string{"input_layer"}, []float32{0}},
	} {
		got, err := pick(row.archive, "x", "x", "in.npz", row.names)
		require.NoError(t, err)
		var values []float32
		for _, a := range got.Arrays {
			values = append(values, a.Elements().([]float32)[0])
		}
		require.Equal(t, row.want, values, "%v for %v", row.archive.Names, row.names)
	}
}
