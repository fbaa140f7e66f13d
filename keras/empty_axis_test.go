package keras_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// Axes of length 0 within an example, as in Keras with torch and JAX: sums are 0, means are NaN, and results that keep
// the axis have no elements.
func TestEmptyAxes(t *testing.T) {
	lambda := func(f func(x *ops.Tensor) *ops.Tensor) func(x *layers.KerasTensor) *layers.KerasTensor {
		return func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Apply(&layers.Lambda{Function: f}, x) }
	}
	layer := func(l layers.Layer) func(x *layers.KerasTensor) *layers.KerasTensor {
		return func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Apply(l, x) }
	}
	nan := float32(math.NaN())
	cases := map[string]struct {
		in, out []int
		call    func(x *layers.KerasTensor) *layers.KerasTensor
		value   float32 // of each element
	}{
		"identity":             {[]int{0}, []int{0}, layer(&layers.Identity{}), 0},
		"activation":           {[]int{3, 0}, []int{3, 0}, layer(&layers.ReLU{}), 0},
		"dense":                {[]int{0}, []int{2}, layer(&layers.Dense{Units: 2, BiasInitializer: "ones"}), 1},
		"dense of steps":       {[]int{0, 3}, []int{0, 2}, layer(&layers.Dense{Units: 2}), 0},
		"flatten":              {[]int{3, 0}, []int{0}, layer(&layers.Flatten{}), 0},
		"reshape":              {[]int{3, 0}, []int{0, 5}, layer(&layers.Reshape{TargetShape: []int{0, 5}}), 0},
		"permute":              {[]int{3, 0}, []int{0, 3}, layer(&layers.Permute{Dims: []int{2, 1}}), 0},
		"batch normalization":  {[]int{0, 3}, []int{0, 3}, layer(&layers.BatchNormalization{}), 0},
		"no features":          {[]int{0}, []int{0}, layer(&layers.BatchNormalization{}), 0},
		"layer normalization":  {[]int{3, 0}, []int{3, 0}, layer(&layers.LayerNormalization{}), 0},
		"softmax":              {[]int{3, 0}, []int{3, 0}, layer(&layers.Softmax{}), 0},
		"dropout":              {[]int{3, 0}, []int{3, 0}, layer(&layers.Dropout{Rate: 0.5}), 0},
		"average of steps":     {[]int{0, 3}, []int{3}, layer(&layers.GlobalAveragePooling1D{}), nan},
		"repeat":               {[]int{0}, []int{4, 0}, layer(&layers.RepeatVector{N: 4}), 0},
		"zero padding":         {[]int{0, 3}, []int{2, 3}, layer(&layers.ZeroPadding1D{Padding: []int{1}}), 0},
		"sum":                  {[]int{3, 0}, []int{3}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.Sum(x, -1) }), 0},
		"product":              {[]int{3, 0}, []int{3}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.Prod(x, -1) }), 1},
		"mean":                 {[]int{3, 0}, []int{3}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.Mean(x, -1) }), nan},
		"slice of nothing":     {[]int{3}, []int{0}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.SliceAxis(x, 1, 3, 3) }), 0},
		"concatenated with it": {[]int{0}, []int{0}, func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Apply(&layers.Concatenate{}, x, x) }, 0},
		"sum with itself":      {[]int{2, 0}, []int{2, 0}, func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Apply(&layers.Add{}, x, x) }, 0},
		"attention":            {[]int{3, 0}, []int{3, 0}, func(x *layers.KerasTensor) *layers.KerasTensor { return layers.Apply(&layers.Attention{}, x, x) }, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := keras.Input(keras.Shape(c.in...))
			m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(c.call(in)))
			require.NoError(t, err)
			check := func(m *keras.Model) {
				for _, n := range []int{1, 2, 33, 0} {
					var x data.Array
					if shape := append([]int{n}, c.in...); product(shape) == 0 {
						x = emptyArray(t, ir.Float32, shape...)
					} else {
						x = data.Must(data.Zeros[float32](shape...))
					}
					y, err := m.Predict(context.Background(), data.Arrays(x, nil))
					require.NoError(t, err)
					require.Equal(t, append([]int{n}, c.out...), []int(y.Shape()))
					want := []float32{}
					for range n * product(c.out) {
						want = append(want, c.value)
					}
					got := y.Elements()
					if v, ok := got.(float32); ok {
						got = []float32{v}
					}
					assert.InDeltaSlice(t, want, got, 0)
				}
			}
			check(m)
			if name == "sum" || name == "product" || name == "mean" || name == "slice of nothing" {
				return // a Go function is not in a file
			}
			path := filepath.Join(t.TempDir(), "m.keras")
			require.NoError(t, m.Save(path))
			again, err := keras.LoadModel(path)
			require.NoError(t, err)
			check(again)
			for _, file := range []string{".weights.h5", ".npz", ".safetensors"} {
				path := filepath.Join(t.TempDir(), "m"+file)
				require.NoError(t, m.SaveWeights(path))
				require.NoError(t, again.LoadWeights(path))
				check(again)
			}
		})
	}
}

// Windows that do not fit into an axis without elements are refused, as in Keras; recurrent layers return their initial
// state.
func TestWindowsOverEmptyAxes(t *testing.T) {
	for name, c := range map[string]struct {
		in    []int
		layer layers.Layer
		want  string // in the error
		out   []int
	}{
		"pooling":                {[]int{4, 0, 3}, &layers.MaxPooling2D{}, "is longer than the input [None 4 0 3]", nil},
		"convolution":            {[]int{0, 3}, &layers.Conv1D{Filters: 2, KernelSize: []int{1}}, "is longer than the input [None 0 3]", nil},
		"same convolution":       {[]int{0, 3}, &layers.Conv1D{Filters: 2, KernelSize: []int{3}, Padding: "same"}, "is longer than the input [None 0 3]", nil},
		"transposed convolution": {[]int{0, 3}, &layers.Conv1DTranspose{Filters: 2, KernelSize: []int{1}}, "length 0 on spatial axis 0", nil},
		"cropping":               {[]int{0, 3}, &layers.Cropping1D{}, "leaves nothing of axis 1", nil},
		"resizing":               {[]int{0, 3, 3}, &layers.Resizing{Height: 4, Width: 4}, "have no cells", nil},
		"no channels":            {[]int{4, 0}, &layers.Conv1D{Filters: 2, KernelSize: []int{1}}, "", []int{2, 4, 2}},
		"no steps":               {[]int{0, 3}, &layers.LSTM{Units: 2}, "", []int{2, 2}},
		"sequence of no steps":   {[]int{0, 3}, &layers.LSTM{Units: 2, ReturnSequences: true}, "", []int{2, 0, 2}},
		"no features":            {[]int{3, 0}, &layers.GRU{Units: 2}, "", []int{2, 2}},
		"embedding":              {[]int{0}, &layers.Embedding{InputDim: 4, OutputDim: 2}, "", []int{2, 0, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			in := keras.Input(keras.Shape(c.in...))
			m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(c.layer, in)))
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			y, err := m.Predict(context.Background(), data.Arrays(emptyArray(t, ir.Float32, append([]int{2}, c.in...)...), nil))
			require.NoError(t, err)
			require.Equal(t, c.out, []int(y.Shape()))
			require.Equal(t, make([]float32, product(c.out)), y.Elements())
		})
	}
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// As Keras does it: a kernel without elements, and a bias that learns. The loss of ones is 1, and 0.64 after a step of
// 0.2.
func TestTrainingWithAnEmptyAxis(t *testing.T) {
	in := keras.Input(keras.Shape(3, 0))
	y := layers.Apply(&layers.Dense{Units: 2}, layers.Apply(&layers.Flatten{}, in))
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(y))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: &losses.MeanSquaredError{}, Optimizer: &optimizers.SGD{LearningRate: 0.2}}))
	x := emptyArray(t, ir.Float32, 4, 3, 0)
	ones := data.Must(data.ArrayOf([]float32{1, 1, 1, 1, 1, 1, 1, 1}, 4, 2))
	h, err := m.Fit(context.Background(), data.Arrays(x, ones), keras.Epochs(2))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{1, 0.64}, h.Logs["loss"], 1e-6)
}
