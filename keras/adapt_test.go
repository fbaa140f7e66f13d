package keras_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// In memory or batch by batch: a layer learns the same as with its own Adapt from the same numbers.
func TestAdapt(t *testing.T) {
	rows := [][]float32{{1, 10}, {2, 20}, {4, 0}, {9, 5}, {9, 10}}
	flat := []float64{1, 10, 2, 20, 4, 0, 9, 5, 9, 10}
	array, err := kernels.FromFloat64s(ir.Float32, ir.Shape{5, 2}, flat)
	require.NoError(t, err)
	for name, ds := range map[string]data.Dataset{
		"in memory": data.Arrays(rows, nil),
		"targets":   data.Arrays(rows, []int{1, 2, 3, 4, 5}),
		"batches":   data.FromTensorSlices(rows, nil).Batch(2, false),
	} {
		want, got := &layers.Normalization{}, &layers.Normalization{}
		require.NoError(t, want.Adapt(array))
		require.NoError(t, keras.Adapt(t.Context(), got, ds))
		for i, v := range layers.Weights(want)[:2] {
			a, err := v.Value()
			require.NoError(t, err)
			b, err := layers.Weights(got)[i].Value()
			require.NoError(t, err)
			require.InDeltaSlice(t, a.Float64s(), b.Float64s(), 1e-6, name)
		}
		numbers := &layers.IntegerLookup{}
		require.NoError(t, keras.Adapt(t.Context(), numbers, ds))
		require.Equal(t, []int{10, 9, 20, 5, 4, 2, 1, 0}, numbers.GetVocabulary(false), name)
		bins := &layers.Discretization{NumBins: 2}
		require.NoError(t, keras.Adapt(t.Context(), bins, ds))
		require.Len(t, bins.BinBoundaries, 1, name)
	}
	for name, ds := range map[string]data.Dataset{
		"in memory": data.Arrays([]string{"a b", "b", "b c"}, nil),
		"batches":   data.FromTensorSlices([]string{"a b", "b", "b c"}, nil).Batch(2, false),
	} {
		words, texts := &layers.StringLookup{}, &layers.TextVectorization{}
		require.NoError(t, keras.Adapt(t.Context(), words, ds), name)
		require.NoError(t, keras.Adapt(t.Context(), texts, ds), name)
		assert.Equal(t, []string{"b c", "b", "a b"}, words.GetVocabulary(false), name)
		assert.Equal(t, []string{"b", "c", "a"}, texts.GetVocabulary(false), name)
	}
}

func TestAdaptMistakes(t *testing.T) {
	ctx, cancelled := t.Context(), func() context.Context { ctx, cancel := context.WithCancel(t.Context()); cancel(); return ctx }()
	broken := data.FromGenerator(func(context.Context, int) iter.Seq2[data.Batch, error] {
		return func(yield func(data.Batch, error) bool) { yield(data.Batch{}, errors.New("the disk is gone")) }
	})
	numbers, texts := data.Arrays([][]float32{{1}}, nil), data.Arrays([]string{"a"}, nil)
	for _, c := range []struct {
		ctx   context.Context
		layer layers.Layer
		ds    data.Dataset
		want  string
	}{
		{nil, &layers.Normalization{}, numbers, "the context is nil"}, //nolint:staticcheck // what is tested
		{ctx, nil, numbers, "the layer is nil"},
		{ctx, &layers.Normalization{}, nil, "the data are nil"},
		{ctx, &layers.Normalization{}, (*data.Pipeline)(nil), "the data are nil"},
		{ctx, &layers.Dense{Units: 1}, numbers, `Dense "dense" learns nothing from data`},
		{ctx, &layers.Normalization{}, texts, "takes numbers, the data are a []string"},
		{ctx, &layers.StringLookup{}, numbers, "takes text, received an array of float32 of shape (1, 1)"},
		{ctx, &layers.StringLookup{}, data.Arrays([]any{[]string{"a"}, []string{"b"}}, nil), "the data have 2 inputs, expected one"},
		{ctx, &layers.TextVectorization{}, data.Range(3).Batch(1, false), "takes text"},
		{ctx, &layers.Normalization{}, data.Arrays([][]float32{}, nil), "empty"},
		{ctx, &layers.Normalization{}, data.Range(0).Batch(2, false), "received no data"},
		{ctx, &layers.TextVectorization{}, data.FromTensorSlices([]string{"a"}, nil).Batch(1, false).Repeat(data.Infinite), "never ends; use Take"},
		{ctx, &layers.IntegerLookup{}, broken, "the disk is gone"},
		{ctx, &layers.Discretization{NumBins: 2}, broken, "the disk is gone"},
		{ctx, &layers.Normalization{}, broken, "the disk is gone"},
		{ctx, &layers.StringLookup{}, broken, "the disk is gone"},
		{ctx, &layers.TextVectorization{}, broken, "the disk is gone"},
		{cancelled, &layers.Normalization{}, numbers, "context canceled"},
	} {
		err := keras.Adapt(c.ctx, c.layer, c.ds)
		require.ErrorContains(t, err, "keras: Adapt: ", c.want)
		require.ErrorContains(t, err, c.want)
	}
}

func ExampleAdapt() {
	ctx := context.Background()
	texts := []string{"the film was great", "great fun", "the worst film"}
	words := &layers.TextVectorization{OutputSequenceLength: 4}
	if err := keras.Adapt(ctx, words, data.Arrays(texts, nil)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(words.GetVocabulary(false))
	numbers := &layers.Normalization{}
	if err := keras.Adapt(ctx, numbers, data.Arrays([][]float32{{1}, {3}}, nil)); err != nil {
		fmt.Println(err)
		return
	}
	model, err := keras.NewSequential([]layers.Layer{numbers}, keras.InputShape(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Predict(ctx, data.Arrays([][]float32{{3}}, nil)))
	// Output:
	// [the great film worst was fun]
	// [[1]] <nil>
}

// The number of examples for "tf_idf" follows Keras, which computed these weights: the entries of an array in memory
// or, for a single axis, the batches of a dataset.
func TestAdaptCountsExamples(t *testing.T) {
	words, ints := []string{"a", "b", "a", "c", "a", "d", "b"}, []int{1, 2, 1, 3, 1, 4, 2}
	texts := []string{"a b", "b", "a", "c", "a", "d a", "b"}
	entries := []float64{1.3059320449829102, 1.0116009712219238, 1.2039730548858643, 1.5040769577026367, 1.5040769577026367}
	batches := []float64{0.8047189712524414, 0.6931470036506653, 0.6931470036506653, 0.9162909984588623, 0.9162909984588623}
	lookup := func() *layers.StringLookup { return &layers.StringLookup{OutputMode: layers.TFIDFMode} }
	number := func() *layers.IntegerLookup { return &layers.IntegerLookup{OutputMode: layers.TFIDFMode} }
	column := [][]string{{"a"}, {"b"}, {"a"}, {"c"}, {"a"}, {"d"}, {"b"}}
	for name, c := range map[string]struct {
		layer layers.Layer
		ds    data.Dataset
		want  []float64
	}{
		"words in memory":   {lookup(), data.Arrays(words, nil), entries},
		"words in batches":  {lookup(), data.FromTensorSlices(words, nil).Batch(3, false), batches},
		"columns":           {lookup(), data.FromTensorSlices(column, nil).Batch(3, false), entries},
		"numbers in memory": {number(), data.Arrays(ints, nil), entries},
		"numbers, batches":  {number(), data.FromTensorSlices(ints, nil).Batch(3, false), batches},
		"whole texts": {&layers.TextVectorization{OutputMode: layers.TFIDFMode, Split: "none"}, data.FromTensorSlices(texts, nil).Batch(3, false),
			[]float64{0.8270329833030701, 0.6931470036506653, 0.6931470036506653, 0.9162909984588623, 0.9162909984588623, 0.9162909984588623}},
		"split texts": {&layers.TextVectorization{OutputMode: layers.TFIDFMode}, data.FromTensorSlices(texts, nil).Batch(3, false),
			[]float64{1.2238060235977173, 0.8754690289497375, 1.0116009712219238, 1.5040769577026367, 1.5040769577026367}},
	} {
		require.NoError(t, keras.Adapt(t.Context(), c.layer, c.ds), name)
		l, ok := c.layer.(interface{ GetIDFWeights() []float64 })
		require.True(t, ok)
		assert.InDeltaSlice(t, c.want, l.GetIDFWeights(), 1e-6, name)
	}
	l := lookup()
	require.NoError(t, l.Adapt(layers.HostStrings(words)))
	assert.InDeltaSlice(t, entries, l.GetIDFWeights(), 1e-6)
}
