package initializers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/initializers"
)

func array(t *testing.T, d ir.DType, shape []int, values ...float64) kernels.Array {
	t.Helper()
	a, err := kernels.FromFloat64s(d, shape, values)
	require.NoError(t, err)
	return a
}

// The results are those of NumPy's broadcast_to.
func TestConstantOfValues(t *testing.T) {
	for _, c := range []struct {
		given  []int
		weight []int
		want   []float64
	}{
		{[]int{2, 3}, []int{2, 3}, []float64{1, 2, 3, 4, 5, 6}},
		{[]int{3}, []int{2, 3}, []float64{1, 2, 3, 1, 2, 3}},
		{[]int{2, 1}, []int{2, 3}, []float64{1, 1, 1, 2, 2, 2}},
		{[]int{2, 1, 2}, []int{2, 2, 2}, []float64{1, 2, 1, 2, 3, 4, 3, 4}},
		{[]int{}, []int{2, 2}, []float64{1, 1, 1, 1}},
	} {
		values := []float64{1, 2, 3, 4, 5, 6}[:ir.Shape(c.given).Size()]
		got, err := initial(initializers.Constant{Values: array(t, ir.Float64, c.given, values...)}, c.weight...)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%v in %v", c.given, c.weight)
	}
	_, err := initial(initializers.Constant{Values: array(t, ir.Float32, []int{3, 1}, 1, 2, 3)}, 2, 3)
	require.EqualError(t, err, "initializers.Constant: Values have shape [3 1] and the weight [2 3]; expected the shape of the weight, or one that broadcasts to it")
	_, err = initial(initializers.Constant{Values: array(t, ir.Float32, []int{2, 2}, 1, 2, 3, 4)}, 2)
	require.ErrorContains(t, err, "shape of the weight")
}

// The texts are those of keras.initializers.serialize(Constant(value)) in Keras 3.15.1.
func TestConstantInFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "constants.json"))
	require.NoError(t, err)
	var cases []struct {
		Config json.RawMessage
		Shape  []int
		Want   []float64
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	require.Len(t, cases, 4)
	for _, c := range cases {
		object, err := config.ParseObject(c.Config)
		require.NoError(t, err)
		i, err := initializers.Get(object)
		require.NoError(t, err, "%s", c.Config)
		got, err := initial(i, c.Shape...)
		require.NoError(t, err)
		require.Equal(t, c.Want, got)
		again, err := config.Encode(i)
		require.NoError(t, err)
		written, err := config.Marshal(map[string]any{"config": again})
		require.NoError(t, err)
		var kept struct{ Config json.RawMessage }
		require.NoError(t, json.Unmarshal(c.Config, &kept))
		want, err := json.Marshal(kept)
		require.NoError(t, err)
		require.JSONEq(t, string(want), `{"Config":`+string(written[len(`{"config":`):]))
	}
	for text, message := range map[string]string{
		`[[1,2],[3]]`: "row 1 has shape [1] and the rows before it [2]",
		`["a"]`:       "expected nested lists of numbers, received a in them",
		`{"class_name":"__numpy__","config":{"value":[1],"dtype":"complex64"}}`: "unknown dtype",
	} {
		err := config.Decode(json.RawMessage(`{"value":`+text+`}`), &initializers.Constant{})
		require.ErrorContains(t, err, message)
	}
}
