package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
)

// TestBadMetrics: settings of metrics that turn out to be wrong when the labels are known, and labels of another form
// than the loss or the metric expects.
func TestBadMetrics(t *testing.T) {
	x, y := grid(10, 4), cycle(10, 3)
	with := func(m metrics.Metric) func(t *testing.T) error {
		return func(t *testing.T) error {
			model := sequential(t, nil, &layers.Dense{Units: 3, Activation: "softmax"})
			compile(t, model, keras.CompileConfig{Loss: "sparse_categorical_crossentropy", Metrics: []any{m}})
			return fit(model, data.Arrays(x, y))
		}
	}
	to := func(loss any, y any) func(t *testing.T) error {
		return func(t *testing.T) error {
			model := sequential(t, nil, &layers.Dense{Units: 3})
			compile(t, model, keras.CompileConfig{Loss: loss})
			return fit(model, data.Arrays(x, y))
		}
	}
	checkMistakes(t, []mistake{
		{"F1 of numbers", with(&metrics.F1Score{}), []string{`Fit: metric "f1_score": labels have shape [10] and predictions [None 3]; both must be (batch, classes)`}},
		{"F1 of another name", with(&metrics.F1Score{Name: "f"}), []string{`Fit: metric "f": labels have`}},
		{"no number of classes", with(&metrics.MeanIoU{}), []string{`Fit: metric "mean_io_u": NumClasses must be positive`}},
		{"beta", with(&metrics.FBetaScore{Beta: -1}), []string{`Fit: metric "fbeta_score": Beta must be positive`}},
		{"curve", with(&metrics.AUC{Curve: "DET"}), []string{`unknown curve "DET"`}},
		{"dtype", with(&metrics.Mean{DType: "half"}), []string{`unknown dtype policy "half"`}},
		{"precision of numbers", with(&metrics.Precision{}), []string{"precision: labels have shape [10] and predictions [10 3]"}},
		{"numbers for one-hot", to("categorical_crossentropy", y), []string{"for integer class numbers use the sparse variant"}},
		{"numbers for focal", to(&losses.CategoricalFocalCrossentropy{}, y), []string{"for integer class numbers use the sparse variant"}},
		{"numbers for a binary loss", to("binary_crossentropy", y), []string{"for integer class numbers use SparseCategoricalCrossentropy or"}},
		{"one value for three", to("mse", ones(10)), []string{"check the last layer's units and the labels' encoding"}},
	})
	err := to("mse", ones(10))(t)
	require.NotContains(t, err.Error(), "integer", "a loss of values has no variant for classes")
}

// TestTextAndNumbersSwapped: errors of layers for words say what they were applied to.
func TestTextAndNumbersSwapped(t *testing.T) {
	numbers, words := keras.Input(keras.Shape(2)), keras.Input(keras.Shape(2), keras.DType("string"))
	applying := func(l layers.Layer, to ...*layers.KerasTensor) func(t *testing.T) error {
		return func(t *testing.T) error {
			out := layers.Apply(l, to...)
			_, err := keras.NewFunctional(keras.Inputs(to...), keras.Outputs(out))
			return err
		}
	}
	floats := `received (None, 2) float32; give the input the DType "string"`
	checkMistakes(t, []mistake{
		{"lookup", applying(&layers.StringLookup{Vocabulary: []string{"a"}}, numbers), []string{"string_lookup: takes one input of strings, " + floats}},
		{"lookup of two", applying(&layers.StringLookup{Vocabulary: []string{"a"}}, words, words), []string{"takes one input of strings, received 2 inputs"}},
		{"inverse lookup", applying(&layers.StringLookup{Vocabulary: []string{"a"}, Invert: true}, words),
			[]string{`takes one input of numbers, received (None, 2) string; give the input the DType "int64"`}},
		{"numbers", applying(&layers.IntegerLookup{Vocabulary: []int{1}}, words), []string{"IntegerLookup takes numbers and received text"}},
		{"vectorization", applying(&layers.TextVectorization{Vocabulary: []string{"a"}}, numbers), []string{"takes one input of strings, " + floats}},
		{"embedding", applying(&layers.Embedding{InputDim: 3, OutputDim: 2}, words), []string{"takes numbers and received text"}},
		{"length of an input", applying(&layers.Flatten{}, keras.Input(keras.Shape(-4))), []string{"axis 1 of shape (None, -4) is -4"}},
	})
}
