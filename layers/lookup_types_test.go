package layers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// The types of results, from Keras 3.15.1 with TensorFlow: lookups count in int64, whatever their policy; hashing
// layers and those that run in the program follow their policy.
func TestTypesOfRows(t *testing.T) {
	weights := []float64{0.5, 0.25}
	for _, mode := range []layers.OutputMode{"one_hot", "multi_hot", "count", "tf_idf"} {
		var idf []float64
		rows, sample := ir.Int64, 2
		if mode == "tf_idf" {
			idf, rows = weights, ir.Float32
		}
		if mode == "one_hot" {
			sample = 1
		}
		for _, policy := range []string{"", "float32", "float64", "float16"} {
			text, numbers := ir.Type{Shape: ir.Shape{layers.Unknown, sample}}, ir.Type{DType: ir.Int64, Shape: ir.Shape{layers.Unknown, sample}}
			requireRows(t, rows, &layers.StringLookup{Vocabulary: []string{"a", "b"}, IDFWeights: idf, OutputMode: mode, DType: policy}, text)
			requireRows(t, rows, &layers.IntegerLookup{Vocabulary: []int{1, 2}, IDFWeights: idf, OutputMode: mode, DType: policy}, numbers)
			requireRows(t, rows, &layers.IntegerLookup{Vocabulary: []int{1, 2}, IDFWeights: idf, OutputMode: mode, DType: policy, NumOOVIndices: new(2), OOVMethod: "farmhash"}, numbers)
			if mode == "tf_idf" {
				requireRows(t, rows, &layers.TextVectorization{Vocabulary: []string{"a", "b"}, IDFWeights: idf, OutputMode: mode, DType: policy}, ir.Type{Shape: ir.Shape{layers.Unknown, 1}})
				continue
			}
			of := map[string]ir.DType{"": ir.Float32, "float32": ir.Float32, "float64": ir.Float64, "float16": ir.Float16}[policy]
			requireRows(t, of, &layers.Hashing{NumBins: 5, OutputMode: mode, DType: policy}, text)
			requireRows(t, of, &layers.Discretization{BinBoundaries: []float64{1, 3}, OutputMode: mode, DType: policy}, ir.Type{DType: ir.Float32, Shape: numbers.Shape})
			requireRows(t, of, &layers.CategoryEncoding{NumTokens: 5, OutputMode: mode, DType: policy}, numbers)
			if mode != "one_hot" {
				requireRows(t, rows, &layers.TextVectorization{Vocabulary: []string{"a", "b"}, OutputMode: mode, DType: policy}, ir.Type{Shape: ir.Shape{layers.Unknown, 1}})
			}
		}
		if mode == "tf_idf" {
			continue
		}
		shape := ir.Shape{layers.Unknown, sample}
		requireRows(t, ir.Int64, &layers.Hashing{NumBins: 5, OutputMode: mode, DType: "int64"}, ir.Type{Shape: shape})
		requireRows(t, ir.Int32, &layers.Discretization{BinBoundaries: []float64{1, 3}, OutputMode: mode, DType: "int32"}, ir.Type{DType: ir.Float32, Shape: shape})
		requireRows(t, ir.Int32, &layers.CategoryEncoding{NumTokens: 5, OutputMode: mode, DType: "int32"}, ir.Type{DType: ir.Int64, Shape: shape})
		if mode == "one_hot" {
			requireRows(t, ir.Float64, &layers.HashedCrossing{NumBins: 5, OutputMode: mode, DType: "float64"}, ir.Type{DType: ir.Int64, Shape: shape}, ir.Type{DType: ir.Int64, Shape: shape})
			requireRows(t, ir.Float32, &layers.HashedCrossing{NumBins: 5, OutputMode: mode}, ir.Type{DType: ir.Int64, Shape: shape}, ir.Type{DType: ir.Int64, Shape: shape})
		}
	}
}

func requireRows(t *testing.T, want ir.DType, l layers.Layer, inputs ...ir.Type) {
	t.Helper()
	got, err := layers.InferTypes(l, inputs)
	require.NoError(t, err, "%+v", l)
	require.Equal(t, want.String(), got[0].DType.String(), "%+v", l)
	host, ok := layers.AsHostLayer(l)
	if !ok {
		return
	}
	var in []layers.HostArray
	for _, x := range inputs {
		if n := x.Shape[1]; x.DType == ir.Invalid {
			in = append(in, layers.HostStrings([]string{"a", "b", "b", "q"}[:2*n], 2, n))
		} else {
			in = append(in, layers.HostInts([]int64{1, 2, 2, 9}[:2*n], 2, n))
		}
	}
	y, err := host.Transform(in...)
	require.NoError(t, err)
	require.Equal(t, want.IsFloat(), y.Floats != nil, "%+v", l)
	require.Equal(t, want.IsInteger(), y.Ints != nil, "%+v", l)
}

// Numbers outside the vocabulary are placed by the hash of their digits, as Keras 3.15.1 places 0 ... 29 with the
// vocabulary 1, 2.
func TestIntegerLookupHashes(t *testing.T) {
	var x []int64
	for i := range int64(30) {
		x = append(x, i)
	}
	for _, row := range []struct {
		salt []int
		want []int64
	}{
		{nil, []int64{3, 4, 5, 1, 3, 3, 3, 0, 3, 1, 2, 3, 0, 3, 1, 0, 1, 2, 0, 0, 0, 3, 0, 1, 3, 0, 1, 3, 2, 1}},
		{[]int{3}, []int64{2, 4, 5, 3, 0, 2, 1, 1, 1, 1, 2, 0, 2, 0, 1, 2, 0, 3, 1, 1, 3, 2, 2, 3, 0, 1, 3, 0, 2, 3}},
	} {
		l := &layers.IntegerLookup{Vocabulary: []int{1, 2}, NumOOVIndices: new(4), OOVMethod: "farmhash", Salt: row.salt}
		host, ok := layers.AsHostLayer(l)
		require.True(t, ok)
		y, err := host.Transform(layers.HostInts(x))
		require.NoError(t, err)
		require.Equal(t, row.want, y.Ints)
		o, err := layers.ToObject(l)
		require.NoError(t, err)
		require.Equal(t, "farmhash", o["config"].(map[string]any)["oov_method"])
	}
	_, ok := layers.AsHostLayer(&layers.IntegerLookup{NumOOVIndices: new(4)})
	require.False(t, ok)
	_, err := layers.InferTypes(&layers.IntegerLookup{Vocabulary: []int{1}, OOVMethod: "md5"}, []ir.Type{{DType: ir.Int64, Shape: ir.Shape{2}}})
	require.ErrorContains(t, err, `unknown OOVMethod "md5"; use "floormod" or "farmhash"`)
	_, err = layers.InferTypes(&layers.IntegerLookup{Vocabulary: []int{1}, Salt: []int{1}}, []ir.Type{{DType: ir.Int64, Shape: ir.Shape{2}}})
	require.ErrorContains(t, err, `Salt is used with OOVMethod "farmhash" only`)
}
