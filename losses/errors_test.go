package losses_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/losses"
)

func exp(x float64) float64 { return math.Exp(x) }

func collapse(path []int) []int {
	var out []int
	for i, k := range path {
		if k != 0 && (i == 0 || path[i-1] != k) {
			out = append(out, k)
		}
	}
	return out
}

func equal(a, b []int) bool { return slices.Equal(a, b) }

// failure returns the error of computing a loss.
func failure(t testing.TB, l losses.Loss, inputs ...kernels.Array) error {
	t.Helper()
	_, err := testdevice.Call(distribute.Default(), func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		var w *ops.Tensor
		if len(in) == 3 {
			w = in[2]
		}
		return []*ops.Tensor{losses.Compute(l, in[0], in[1], w)}
	}, [][]kernels.Array{inputs})
	require.Error(t, err)
	return err
}

func TestErrors(t *testing.T) {
	f := func(shape ...int) kernels.Array { return kernels.NewArray(ir.Type{DType: ir.Float32, Shape: shape}) }
	for _, c := range []struct {
		name   string
		loss   losses.Loss
		inputs []kernels.Array
		want   string
	}{
		{"shapes", &losses.MeanSquaredError{}, []kernels.Array{f(4, 2), f(4, 3)}, "mean_squared_error: labels have shape [4 2] and predictions [4 3]; they must be equal"},
		{"dice without axes", &losses.Dice{Axis: []int{}}, []kernels.Array{f(4, 3), f(4, 3)}, "Axis is empty; expected axes, or nil for all of them"},
		{"tversky without axes", &losses.Tversky{Axis: []int{}}, []kernels.Array{f(4, 3), f(4, 3)}, "Axis is empty"},
		{"no broadcast", &losses.MeanAbsoluteError{Name: "mine"}, []kernels.Array{f(4, 1), f(4, 3)}, "mine: labels have shape [4 1] and predictions [4 3]"},
		{"sparse hint", &losses.CategoricalCrossentropy{}, []kernels.Array{f(4), f(4, 3)}, "for integer class numbers use the sparse variant"},
		{"categorical hint", &losses.SparseCategoricalCrossentropy{}, []kernels.Array{f(4, 3), f(4, 3)}, "labels have shape [4 3] and predictions [4 3]; expected integer class numbers of shape [4] (for one-hot labels use the categorical variant)"},
		{"class axis", &losses.CategoricalCrossentropy{Axis: new(0)}, []kernels.Array{f(4, 3), f(4, 3)}, "the axis of the classes is 0, which is the batch axis"},
		{"axis", &losses.Dice{Axis: []int{5}}, []kernels.Array{f(4, 3), f(4, 3)}, "axis 5 is outside shape [4 3]"},
		{"weights", &losses.MeanSquaredError{}, []kernels.Array{f(4, 3, 2), f(4, 3, 2), f(4)}, "sample weights have shape [4] and the losses of the examples [4 3]; expected one weight for each example ([4 1])"},
		{"square weights", &losses.MeanSquaredError{}, []kernels.Array{f(3, 3, 2), f(3, 3, 2), f(3)}, "expected one weight for each example ([3 1])"},
		{"weights length", &losses.MeanSquaredError{}, []kernels.Array{f(4, 3), f(4, 3), f(3)}, "sample weights have shape [3] and the losses of the examples [4]"},
		{"reduction", &losses.MeanSquaredError{Reduction: "average"}, []kernels.Array{f(4, 3), f(4, 3)}, `unknown reduction "average"; known: sum_over_batch_size, mean, sum, mean_with_sample_weight, none`},
		{"smoothing", &losses.BinaryCrossentropy{LabelSmoothing: 1.5}, []kernels.Array{f(4, 3), f(4, 3)}, "LabelSmoothing must be in [0, 1], received 1.5"},
		{"delta", &losses.Huber{Delta: -1}, []kernels.Array{f(4, 3), f(4, 3)}, "Huber.Delta must not be negative, received -1"},
		{"q", &losses.CategoricalGeneralizedCrossEntropy{Q: 1}, []kernels.Array{f(4), f(4, 3)}, "Q must be between 0 and 1, received 1"},
		{"ctc", &losses.CTC{}, []kernels.Array{f(4), f(4, 3)}, "expected integer labels (batch, length) and logits (batch, time, classes)"},
		{"circle", &losses.Circle{}, []kernels.Array{f(4, 3), f(4, 3)}, "expected class numbers (batch) and embeddings (batch, features)"},
		{"dtype", &losses.MeanSquaredError{DType: "float99"}, []kernels.Array{f(4, 3), f(4, 3)}, `unknown dtype policy "float99"`},
		{"no function", &losses.FuncLoss{Name: "f"}, []kernels.Array{f(4, 3), f(4, 3)}, `FuncLoss "f" has no function`},
		{"nil result", losses.Func("f", func(_, _ *ops.Tensor) *ops.Tensor { return nil }), []kernels.Array{f(4), f(4)}, `the function of loss "f" returned nil`},
	} {
		t.Run(c.name, func(t *testing.T) { require.ErrorContains(t, failure(t, c.loss, c.inputs...), c.want) })
	}
}

// TestMaskOfSteps: labels of all steps that have an axis less than the predictions leave one loss for each example, to
// which a mask of the steps does not belong; nobody gave weights, so the error speaks of the mask.
func TestMaskOfSteps(t *testing.T) {
	f := func(d ir.DType, shape ...int) kernels.Array { return kernels.NewArray(ir.Type{DType: d, Shape: shape}) }
	_, err := testdevice.Call(distribute.Default(), func(_ *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{losses.Compute(&losses.MeanSquaredError{}, in[0], in[1].WithMask(in[2]), nil)}
	}, [][]kernels.Array{{f(ir.Float32, 4, 4), f(ir.Float32, 4, 4, 1), f(ir.Bool, 4, 4)}})
	require.ErrorContains(t, err, "the mask of the predictions has shape [4 4] and the losses of the examples [4]; expected the shape of the losses: give the labels all axes of the predictions")
}

// TestLabelOutOfRange: a class number that is no class fails when the program runs, from logits and from probabilities.
func TestLabelOutOfRange(t *testing.T) {
	p := array(t, ir.Float32, []int{2, 3}, .2, .3, .5, .2, .3, .5)
	for _, logits := range []bool{true, false} {
		for _, label := range []float64{3, -1, -4} {
			err := failure(t, &losses.SparseCategoricalCrossentropy{FromLogits: logits}, array(t, ir.Int32, []int{2}, 0, label), p)
			require.ErrorContains(t, err, "sparse_categorical_crossentropy", "logits %v, label %v", logits, label)
			require.ErrorContains(t, err, fmt.Sprintf("label %v (element 1 of the labels) is none of the model's 3 classes", label), "logits %v, label %v", logits, label)
		}
	}
}

func TestGet(t *testing.T) {
	for name, want := range map[string]losses.Loss{
		"mse": &losses.MeanSquaredError{Name: "mse"}, "MAE": &losses.MeanAbsoluteError{Name: "MAE"}, "huber": &losses.Huber{Name: "huber"},
		"KLDivergence": &losses.KLDivergence{}, "sparse_categorical_crossentropy": &losses.SparseCategoricalCrossentropy{Name: "sparse_categorical_crossentropy"},
	} {
		got, err := losses.Get(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for name := range map[string]bool{"bce": true, "BCE": true, "kld": true, "KLD": true, "mape": true, "MAPE": true, "msle": true, "MSLE": true, "ctc": true,
		"circle": true, "dice": true, "tversky": true, "log_cosh": true, "hinge": true, "squared_hinge": true, "categorical_hinge": true, "poisson": true,
		"cosine_similarity": true, "categorical_focal_crossentropy": true, "binary_focal_crossentropy": true, "categorical_generalized_cross_entropy": true} {
		l, err := losses.Get(name)
		require.NoError(t, err, name)
		require.Equal(t, name, l.LossName())
	}
	l := &losses.Huber{}
	got, err := losses.Get(l)
	require.NoError(t, err)
	require.Same(t, l, got)
	got, err = losses.Get(nil)
	require.NoError(t, err)
	require.Nil(t, got)
	got, err = losses.Get(func(a, b *ops.Tensor) *ops.Tensor { return ops.Subtract(a, b) })
	require.NoError(t, err)
	require.Equal(t, "loss", got.LossName())
	got, err = losses.Get(config.Object{ClassName: "Huber", Config: json.RawMessage(`{"delta":2,"reduction":null}`)})
	require.NoError(t, err)
	require.Equal(t, &losses.Huber{Delta: 2, Reduction: losses.None}, got)
	_, err = losses.Get("mes")
	require.ErrorContains(t, err, `unknown loss "mes"; did you mean "mse"? known: BCE, KLD, MAE, MAPE, MSE, MSLE, bce, `)
	_, err = losses.Get(3)
	require.ErrorContains(t, err, "losses: received the number 3; expected a losses.Loss")
	_, err = losses.New("Mse")
	require.ErrorContains(t, err, `unknown class "Mse"; known: BinaryCrossentropy, `)
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		yTrue, yPred ir.Shape
		want         losses.Loss
	}{
		{ir.Shape{8, 1}, ir.Shape{8, 1}, &losses.BinaryCrossentropy{Name: "ce"}},
		{ir.Shape{8}, ir.Shape{8, 5}, &losses.SparseCategoricalCrossentropy{Name: "ce"}},
		{ir.Shape{8, 1}, ir.Shape{8, 5}, &losses.SparseCategoricalCrossentropy{Name: "ce"}},
		{ir.Shape{8, 5}, ir.Shape{8, 5}, &losses.CategoricalCrossentropy{Name: "ce"}},
	} {
		got, err := losses.Resolve("ce", c.yTrue, c.yPred)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err := losses.Resolve("crossentropy", nil, ir.Shape{8, 5})
	require.ErrorContains(t, err, `"crossentropy" needs labels and predictions (batch, ...), received shapes [] and [8 5]`)
	got, err := losses.Resolve("mse", nil, nil)
	require.NoError(t, err)
	require.Equal(t, "mse", got.LossName())
}

type twice struct{ losses.MeanSquaredError }

func TestRegister(t *testing.T) {
	losses.Register[twice]()
	got, err := losses.New("twice")
	require.NoError(t, err)
	require.IsType(t, &twice{}, got)
	require.PanicsWithValue(t, "losses: Register called twice for Custom>twice", func() { losses.Register[twice]() })
}
