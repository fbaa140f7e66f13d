package keras_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/optimizers"
)

const rowKeys = 12

// rowModel is a model with an embedding of keys, dynamic or plain, and other weights.
func rowModel(t testing.TB, e *layers.Embedding, input *layers.KerasTensor, options ...keras.Option) *keras.Model {
	t.Helper()
	h := layers.Apply(&layers.GlobalAveragePooling1D{}, layers.Apply(e, input))
	out := layers.Apply(&layers.Dense{Units: 1, Name: "out"}, h)
	m, err := keras.NewFunctional(keras.Inputs(input), keras.Outputs(out), append([]keras.Option{keras.Seed(5)}, options...)...)
	require.NoError(t, err)
	return m
}

func rowData(n int) ([][]int64, [][]float32) {
	r := rand.New(rand.NewPCG(3, 4))
	x, y := make([][]int64, n), make([][]float32, n)
	for i := range x {
		x[i] = []int64{r.Int64N(rowKeys), r.Int64N(rowKeys), r.Int64N(3)} // some twice
		y[i] = []float32{float32(x[i][0]) / rowKeys}
	}
	return x, y
}

var rowOptimizers = map[string]func() optimizers.Optimizer{
	"sgd":      func() optimizers.Optimizer { return &optimizers.SGD{LearningRate: 0.1} },
	"momentum": func() optimizers.Optimizer { return &optimizers.SGD{LearningRate: 0.1, Momentum: 0.9} },
	"adagrad":  func() optimizers.Optimizer { return &optimizers.Adagrad{LearningRate: 0.1} },
	"adam":     func() optimizers.Optimizer { return &optimizers.Adam{LearningRate: 0.02} },
	"rmsprop": func() optimizers.Optimizer {
		return &optimizers.RMSprop{LearningRate: 0.02, Momentum: 0.5, Centered: true}
	},
	"ftrl": func() optimizers.Optimizer { return &optimizers.Ftrl{LearningRate: 0.1} },
}

// plainRows copies the first rows of a dynamic embedding to a plain one.
func plainRows(t testing.TB, dynamic, plain *layers.Embedding) {
	t.Helper()
	keys := make([]int64, rowKeys)
	for i := range keys {
		keys[i] = int64(i)
	}
	rows, err := dynamic.Table().Lookup(keys)
	require.NoError(t, err)
	values := make([]float64, len(rows))
	for i, v := range rows {
		values[i] = float64(v)
	}
	a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{rowKeys, plain.OutputDim}, values)
	require.NoError(t, err)
	require.NoError(t, layers.Weights(plain)[0].SetValue(a))
}

// TestDynamicEmbeddingIsPlain: keys 0 to n-1 train to the weights of a plain embedding that begins with the same rows.
func TestDynamicEmbeddingIsPlain(t *testing.T) {
	x, y := rowData(64)
	for name, optimizer := range rowOptimizers {
		for _, replicas := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/replicas=%d", name, replicas), func(t *testing.T) {
				dynamic := &layers.Embedding{Name: "e", OutputDim: 4, Dynamic: true, DenseUpdates: true}
				plain := &layers.Embedding{Name: "e", InputDim: rowKeys, OutputDim: 4}
				var out [2][][]float32
				for i, e := range []*layers.Embedding{dynamic, plain} {
					var options []keras.Option
					if replicas > 1 {
						s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
						require.NoError(t, err)
						options = append(options, distribute.Scope(s))
					}
					m := rowModel(t, e, keras.Input(keras.Shape(3), keras.DType("int64")), options...)
					if i == 1 {
						plainRows(t, dynamic0(t), plain)
					}
					require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: optimizer(), Loss: "mse"}))
					_, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8), keras.Epochs(2), keras.Shuffle(false))
					require.NoError(t, err)
					out[i], err = m.PredictRows(t.Context(), data.Arrays(x, nil))
					require.NoError(t, err)
				}
				rows, err := dynamic.Table().Rows()
				require.NoError(t, err)
				require.Len(t, rows, rowKeys)
				want := layers.Weights(plain)[0]
				a, err := want.Value()
				require.NoError(t, err)
				all := a.Float64s()
				for i, row := range rows {
					require.Equal(t, int64(i), row.Key)
					for j, v := range row.Values {
						require.InDelta(t, all[i*4+j], v, 2e-5, "row %d", i)
					}
				}
				for i := range out[0] {
					require.InDelta(t, out[1][i][0], out[0][i][0], 1e-4)
				}
			})
		}
	}
}

// dynamic0 is the embedding of TestDynamicEmbeddingIsPlain before training.
func dynamic0(t testing.TB) *layers.Embedding {
	e := &layers.Embedding{Name: "e", OutputDim: 4, Dynamic: true}
	rowModel(t, e, keras.Input(keras.Shape(3), keras.DType("int64")))
	return e
}

// TestTextKeysAreTrained: strings are keys, padding is masked, one table serves two inputs, and untrained rows keep
// their initial values.
func TestTextKeysAreTrained(t *testing.T) {
	x := [][]string{{"berlin", "paris"}, {"paris", ""}, {"rome", "berlin"}, {"oslo", ""}}
	other := [][]string{{"rome"}, {"berlin"}, {"berlin"}, {"paris"}}
	y := [][]float32{{1}, {0}, {1}, {0}}
	build := func() (*keras.Model, *layers.Embedding) {
		cities := &layers.Embedding{Name: "cities", OutputDim: 3, Dynamic: true, MaskZero: true}
		first, second := keras.Input(keras.Shape(2), keras.DType("string"), keras.InputName("a")), keras.Input(keras.Shape(1), keras.DType("string"), keras.InputName("b"))
		left := layers.Apply(&layers.GlobalAveragePooling1D{}, layers.Apply(cities, first))
		right := layers.Apply(&layers.Flatten{}, layers.Apply(cities, second))
		out := layers.Apply(&layers.Dot{Axes: []int{1, 1}}, left, right)
		m, err := keras.NewFunctional(keras.Inputs(first, second), keras.Outputs(out), keras.Seed(9))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.05}, Loss: "mse"}))
		return m, cities
	}
	m, cities := build()
	in := func() *data.ArraySource { return data.Arrays([]any{x, other}, y) }
	require.Empty(t, m.TrainableVariables(), "all weights are rows")
	before, err := m.PredictRows(t.Context(), in())
	require.NoError(t, err)
	require.Zero(t, cities.Table().Stats().Rows, "predicting makes no rows")
	h, err := m.Fit(t.Context(), in(), keras.BatchSize(2), keras.Epochs(60))
	require.NoError(t, err)
	loss := h.Logs["loss"]
	require.Less(t, loss[len(loss)-1], loss[0]/2)
	rows, err := cities.Table().Rows()
	require.NoError(t, err)
	var names []string
	for _, r := range rows {
		if r.Name != "" {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	require.Equal(t, []string{"berlin", "oslo", "paris", "rome"}, names)
	after, err := m.PredictRows(t.Context(), in())
	require.NoError(t, err)
	require.NotEqual(t, before, after)

	// Files store rows, the optimizer's state and the initial values of keys that come later.
	unknown := data.Arrays([]any{[][]string{{"quito", "lima"}}, [][]string{{"rome"}}}, nil)
	want, err := m.PredictRows(t.Context(), unknown)
	require.NoError(t, err)
	for _, file := range []string{"m.keras", "m.weights.h5"} {
		path := filepath.Join(t.TempDir(), file)
		var back *keras.Model
		if file == "m.keras" {
			require.NoError(t, m.Save(path))
			back, err = keras.LoadModel(path)
			require.NoError(t, err)
		} else {
			require.NoError(t, m.SaveWeights(path))
			back, _ = build()
			require.NoError(t, back.LoadWeights(path))
		}
		got, err := back.PredictRows(t.Context(), in())
		require.NoError(t, err)
		require.Equal(t, after, got)
		got, err = back.PredictRows(t.Context(), unknown)
		require.NoError(t, err)
		require.Equal(t, want, got)
		e, _ := layers.IsDynamic(layerNamed(back, "cities"))
		again, err := e.Table().Rows()
		require.NoError(t, err)
		require.Equal(t, rows, again)
		require.Equal(t, cities.Table().State(), e.Table().State())
	}
	require.ErrorContains(t, m.SaveWeights(filepath.Join(t.TempDir(), "m.npz")), "dynamic embedding")
}

// TestPlainTableIsTheDynamicOne: a dynamic embedding and the plain one that it exports predict alike.
func TestPlainTableIsTheDynamicOne(t *testing.T) {
	x, y := rowData(32)
	for _, mask := range []bool{false, true} {
		dynamic := &layers.Embedding{Name: "e", OutputDim: 4, Dynamic: true, MaskZero: mask}
		m := rowModel(t, dynamic, keras.Input(keras.Shape(3), keras.DType("int64")))
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adagrad", Loss: "mse"}))
		_, err := m.Fit(t.Context(), data.Arrays(x, y), keras.Epochs(3))
		require.NoError(t, err)
		want, err := m.PredictRows(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err)
		p, err := dynamic.Plain()
		require.NoError(t, err)
		require.Len(t, p.Keys, p.Embedding.InputDim-p.First)
		in := keras.Input(keras.Shape(3), keras.DType("int64"))
		rows := layers.Apply(p.Embedding, layers.Apply(p.Lookup, in))
		out := layers.Apply(layerNamed(m, "out"), layers.Apply(&layers.GlobalAveragePooling1D{}, rows))
		plain, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(out))
		require.NoError(t, err)
		got, err := plain.PredictRows(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err)
		for i := range want {
			require.InDelta(t, want[i][0], got[i][0], 1e-6)
		}
	}
}

// TestDynamicRowsInOwnSteps: TrainOnBatch, custom steps and Evaluate with dynamic rows.
func TestDynamicRowsInOwnSteps(t *testing.T) {
	x, y := rowData(16)
	var all [][]parameters.Row
	for _, own := range []bool{false, true} {
		e := &layers.Embedding{Name: "e", OutputDim: 4, Dynamic: true}
		m := rowModel(t, e, keras.Input(keras.Shape(3), keras.DType("int64")))
		config := keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "mse"}
		if own {
			config.TrainStep = func(s *keras.Step) keras.StepLogs {
				out := s.Model().CallAll(s.Training(), s.X...)
				s.Minimize(s.Optimizer(), s.ComputeLoss(out...), s.Model().TrainableVariables())
				return s.ComputeMetrics(out...)
			}
		}
		require.NoError(t, m.Compile(config))
		for range 3 {
			_, err := m.TrainOnBatch(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
		}
		_, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(5), keras.Epochs(2), keras.ValidationData(data.Arrays(x, y)))
		require.NoError(t, err)
		_, err = m.Evaluate(t.Context(), data.Arrays(x, y))
		require.NoError(t, err)
		rows, err := e.Table().Rows()
		require.NoError(t, err)
		all = append(all, rows)
	}
	require.Equal(t, all[0], all[1])
}

func TestDynamicRefusals(t *testing.T) {
	input := func() *layers.KerasTensor { return keras.Input(keras.Shape(3), keras.DType("int64")) }
	fails := func(text string, e *layers.Embedding, in *layers.KerasTensor) {
		t.Helper()
		_, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(e, in)))
		require.ErrorContains(t, err, text)
	}
	fails("[InputDim]", &layers.Embedding{Dynamic: true, InputDim: 4, OutputDim: 2}, input())
	fails("OutputDim must be positive", &layers.Embedding{Dynamic: true}, input())
	fails("must not be negative", &layers.Embedding{Dynamic: true, OutputDim: 2, MaxRows: -1}, input())
	fails(`"least_recent"`, &layers.Embedding{Dynamic: true, OutputDim: 2, Eviction: "random"}, input())
	fails("needs to know how many rows", &layers.Embedding{Dynamic: true, OutputDim: 2, EmbeddingsInitializer: "glorot_uniform"}, input())
	fails("whole numbers or strings", &layers.Embedding{Dynamic: true, OutputDim: 2}, keras.Input(keras.Shape(3)))
	fails("tables/disk", &layers.Embedding{Dynamic: true, OutputDim: 2, MemoryBytes: 1 << 20}, input())
	in := keras.Input(keras.Shape(3))
	doubled := layers.Apply(&layers.Activation{Activation: "relu"}, in)
	_, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Embedding{Dynamic: true, OutputDim: 2}, doubled)))
	require.Error(t, err)
	x, y := rowData(4)
	for text, o := range map[string]optimizers.Optimizer{
		"not clipped":           &optimizers.SGD{Options: optimizers.Options{ClipNorm: pointer(1)}},
		"cannot update weights": &optimizers.Lion{},
	} {
		m := rowModel(t, &layers.Embedding{Dynamic: true, OutputDim: 2}, input())
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: o, Loss: "mse"}))
		_, err := m.Fit(t.Context(), data.Arrays(x, y))
		require.ErrorContains(t, err, text)
	}
}

func layerNamed(m *keras.Model, name string) layers.Layer {
	for _, l := range m.Layers() {
		if layers.Name(l) == name {
			return l
		}
	}
	return nil
}

// TestEqualKeysMakeEqualRows: rows depend on the seed of the model and the key, whatever came before.
func TestEqualKeysMakeEqualRows(t *testing.T) {
	row := func(seed uint64, initializer any) []float32 {
		e := &layers.Embedding{Name: "e", OutputDim: 4, Dynamic: true, EmbeddingsInitializer: initializer}
		rowModel(t, e, keras.Input(keras.Shape(3), keras.DType("int64")), keras.Seed(seed))
		rows, err := e.Table().Lookup([]int64{-1 << 62, 8})
		require.NoError(t, err)
		require.NotEqual(t, initializer == nil, slices.Equal(rows[:4], rows[4:]))
		return rows
	}
	require.Equal(t, row(1, nil), row(1, nil))
	require.NotEqual(t, row(1, nil), row(2, nil))
	require.Equal(t, []float32{3, 3, 3, 3, 3, 3, 3, 3}, row(1, initializers.Constant{Value: 3}))
}
