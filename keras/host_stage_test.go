package keras_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

var (
	reviews = []string{"good film", "a very good story", "bad film", "a bad, bad story", "good good", "so bad"}
	praise  = []float32{1, 1, 0, 0, 1, 0}
)

// vectorizer is a layer that knows the words of the reviews.
func vectorizer(t testing.TB, mode layers.OutputMode) *layers.TextVectorization {
	l := &layers.TextVectorization{OutputMode: mode}
	if mode == "" {
		l.OutputSequenceLength = 4
	}
	require.NoError(t, l.Adapt(layers.HostStrings(reviews)))
	return l
}

// textModel classifies texts.
func textModel(t testing.TB) *keras.Model {
	m, err := keras.NewSequential([]layers.Layer{
		vectorizer(t, ""),
		&layers.Embedding{InputDim: 12, OutputDim: 4},
		&layers.GlobalAveragePooling1D{},
		&layers.Dense{Units: 1, Activation: "sigmoid"},
	}, keras.InputShape(1), keras.InputDType("string"), keras.Seed(3))
	require.NoError(t, err)
	return m
}

// TestTextModelTrains: a Sequential model takes strings in Fit, Evaluate and Predict, as lists and as columns.
func TestTextModelTrains(t *testing.T) {
	m := textModel(t)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.1}, Loss: &losses.BinaryCrossentropy{}}))
	h, err := m.Fit(t.Context(), data.Arrays(reviews, praise), keras.Epochs(30), keras.BatchSize(4), keras.ValidationSplit(0.2))
	require.NoError(t, err)
	history := h.Logs["loss"]
	require.Len(t, history, 30)
	assert.Less(t, history[29], 0.2*history[0])
	columns := make([][]string, len(reviews))
	for i, r := range reviews {
		columns[i] = []string{r}
	}
	y, err := m.Predict(t.Context(), data.Arrays(reviews, nil))
	require.NoError(t, err)
	again, err := m.Predict(t.Context(), data.Arrays(columns, nil))
	require.NoError(t, err)
	assert.Equal(t, y.Elements(), again.Elements())
	for i, p := range y.Elements().([]float32) {
		assert.Equal(t, praise[i] == 1, p > 0.5, "%s: %v", reviews[i], p)
	}
	scores, err := m.Evaluate(t.Context(), data.Arrays(reviews, praise))
	require.NoError(t, err)
	assert.Less(t, scores["loss"], 0.3)
}

// TestHostStageEqualsItsParts: a model with text gives what its program gives for the numbers that its host layers
// make.
func TestHostStageEqualsItsParts(t *testing.T) {
	words, title := vectorizer(t, ""), &layers.StringLookup{Vocabulary: []string{"x", "y"}, OutputMode: layers.OneHotMode}
	hash := &layers.Hashing{NumBins: 5}
	text := keras.Input(keras.Shape(1), keras.DType("string"), keras.InputName("text"))
	kind := keras.Input(keras.Shape(), keras.DType("string"), keras.InputName("kind"))
	number := keras.Input(keras.Shape(1), keras.DType("int64"), keras.InputName("number"))
	size := keras.Input(keras.Shape(2), keras.InputName("size"))
	numbers := []*layers.KerasTensor{layers.Apply(words, text), layers.Apply(title, kind), layers.Apply(hash, number), size}
	build := func(in []*layers.KerasTensor) *layers.KerasTensor {
		embed := &layers.Embedding{Name: "words", InputDim: 12, OutputDim: 3}
		bins := &layers.Embedding{Name: "bins", InputDim: 5, OutputDim: 2}
		h := layers.Apply(&layers.Concatenate{}, layers.Apply(&layers.GlobalMaxPooling1D{}, layers.Apply(embed, in[0])), in[1],
			layers.Apply(&layers.Flatten{}, layers.Apply(bins, in[2])), in[3])
		return layers.Apply(&layers.Dense{Name: "out", Units: 2}, h)
	}
	whole, err := keras.NewFunctional(keras.Inputs(text, kind, number, size), keras.Outputs(build(numbers)), keras.Seed(5))
	require.NoError(t, err)
	var inner []*layers.KerasTensor
	for i, n := range numbers {
		inner = append(inner, layers.NewInput(fmt.Sprint("in", i), n.DType(), n.Shape()...))
	}
	program, err := keras.NewFunctional(keras.Inputs(inner...), keras.Outputs(build(inner)), keras.Seed(5))
	require.NoError(t, err)

	kinds, ids, sizes := []string{"x", "z", "y"}, []int64{7, 8, 1 << 40}, [][]float32{{1, 2}, {3, 4}, {5, 6}}
	got, err := whole.Predict(t.Context(), data.Arrays(map[string]any{"kind": kinds, "number": ids, "size": sizes, "text": reviews[:3]}, nil))
	require.NoError(t, err)
	a, err := words.Transform(layers.HostStrings(reviews[:3]))
	require.NoError(t, err)
	b, err := title.Transform(layers.HostStrings(kinds))
	require.NoError(t, err)
	c, err := hash.Transform(layers.HostInts(ids, 3, 1))
	require.NoError(t, err)
	rows := func(v []int64, n int) (out [][]int64) {
		for i := 0; i < len(v); i += n {
			out = append(out, v[i:i+n])
		}
		return out
	}
	want, err := program.Predict(t.Context(), data.Arrays([]any{rows(a.Ints, 4), rows(b.Ints, 3), rows(c.Ints, 1), sizes}, nil))
	require.NoError(t, err)
	assert.Equal(t, want.Elements(), got.Elements())
}

// TestTextModelFiles: a model with text is written and read with its vocabulary.
func TestTextModelFiles(t *testing.T) {
	m := textModel(t)
	want, err := m.Predict(t.Context(), data.Arrays(reviews, nil))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "text.keras")
	require.NoError(t, m.Save(path))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	got, err := again.Predict(t.Context(), data.Arrays(reviews, nil))
	require.NoError(t, err)
	assert.Equal(t, want.Elements(), got.Elements())
	weighted, err := keras.NewSequential([]layers.Layer{vectorizer(t, layers.TFIDFMode), &layers.Dense{Units: 2}}, keras.InputShape(1), keras.InputDType("string"))
	require.NoError(t, err)
	want, err = weighted.Predict(t.Context(), data.Arrays(reviews, nil))
	require.NoError(t, err)
	require.NoError(t, weighted.Save(path))
	copied, err := keras.LoadModel(path)
	require.NoError(t, err)
	got, err = copied.Predict(t.Context(), data.Arrays(reviews, nil))
	require.NoError(t, err)
	assert.Equal(t, want.Elements(), got.Elements())
	l, err := again.GetLayer("text_vectorization")
	require.NoError(t, err)
	assert.Equal(t, m.Layers()[0].(*layers.TextVectorization).GetVocabulary(true), l.(*layers.TextVectorization).GetVocabulary(true))
}

// TestHostStageErrors: host layers at places where they cannot be, and data that do not fit.
func TestHostStageErrors(t *testing.T) {
	text := func() *layers.KerasTensor { return keras.Input(keras.Shape(1), keras.DType("string")) }
	in := text()
	_, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, in)))
	assert.ErrorContains(t, err, "Dense takes numbers and received text")
	in = text()
	_, err = keras.NewFunctional(keras.Inputs(in), keras.Outputs(in))
	assert.ErrorContains(t, err, "hands text (None, 1) on unchanged")
	places := keras.Input(keras.Shape(2), keras.DType("int64"))
	words := layers.Apply(&layers.StringLookup{Vocabulary: []string{"a"}, Invert: true}, places)
	_, err = keras.NewFunctional(keras.Inputs(places), keras.Outputs(words))
	assert.ErrorContains(t, err, `layer "string_lookup" makes text of shape (None, 2), which a model cannot return; end the model before it, and give what the model predicts to the layer's Transform`)
	x := keras.Input(keras.Shape(1))
	y := layers.Apply(&layers.Hashing{NumBins: 3}, layers.Apply(&layers.Dense{Units: 1}, x))
	_, err = keras.NewFunctional(keras.Inputs(x), keras.Outputs(y))
	assert.ErrorContains(t, err, `layer "hashing" works on the host, before the model's program; its input must be an input of the model or made by another such layer`)
	_, err = keras.NewSequential([]layers.Layer{&layers.TextVectorization{}, &layers.Dense{Units: 1}})
	assert.ErrorContains(t, err, "give it in InputShape and InputDType")
	_, err = keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}, &layers.Hashing{NumBins: 2}}, keras.InputShape(2))
	assert.ErrorContains(t, err, "works on the host and cannot be part of a program")
	m := textModel(t)
	_, err = m.Predict(t.Context(), data.Arrays([]float32{1, 2}, nil))
	assert.ErrorContains(t, err, `input "input_layer" takes text, received an array of float32 of shape (2,); give it a []string`)
	_, err = m.Predict(t.Context(), data.Arrays([][]string{{"a", "b"}}, nil))
	assert.ErrorContains(t, err, "expects shape (None, 1), received shape (1, 2)")
}

func ExampleInput_text() {
	words := &layers.TextVectorization{OutputSequenceLength: 3, Vocabulary: []string{"cat", "dog"}}
	text := keras.Input(keras.Shape(1), keras.DType("string"))
	m, err := keras.NewFunctional(keras.Inputs(text), keras.Outputs(layers.Apply(words, text)))
	if err != nil {
		panic(err)
	}
	y, err := m.Predict(context.Background(), data.Arrays([]string{"A cat!", "dog dog cat"}, nil))
	fmt.Println(y.Elements(), err)
	// Output: [1 2 0 3 3 2] <nil>
}

// TestKerasTextModels: models on text that Keras wrote predict what they predict there (testdata/text_models.py).
func TestKerasTextModels(t *testing.T) {
	var want struct {
		Texts    []string
		Expected map[string][][]float64
	}
	content, err := os.ReadFile("testdata/text_models.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &want))
	for name, rows := range want.Expected {
		t.Run(name, func(t *testing.T) {
			m, err := keras.LoadModel("testdata/text_models/" + name + ".keras")
			require.NoError(t, err)
			y, err := m.Predict(t.Context(), data.Arrays(want.Texts, nil))
			require.NoError(t, err)
			got := y.Elements().([]float32)
			require.Len(t, got, 2*len(rows))
			for i, row := range rows {
				for j, v := range row {
					assert.InDelta(t, v, got[2*i+j], 1e-6, "%q", want.Texts[i])
				}
			}
		})
	}
}
