package keras_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// What is trained is fixed from the first step until the model is compiled again, even for batch sizes that come later:
// batch normalization and regularization of a layer that was frozen in between continue.
func TestFrozenUntilCompiledAgain(t *testing.T) {
	x, y := [][]float32{{1, 2}, {3, -1}, {0, 4}, {2, 2}, {-3, 1}}, [][]float32{{1}, {0}, {2}, {1}, {-1}}
	for _, replicas := range [][]string{{"cpu:0"}, {"cpu:0", "cpu:1"}} {
		train := func(freeze bool) (weights [][]float64, score float64) {
			m := sequential(t, []keras.Option{keras.InputShape(2), distribute.Scope(mirrored(t, replicas...))},
				&layers.Dense{Units: 3, Name: "d", KernelRegularizer: "l2"}, &layers.BatchNormalization{Name: "n", Momentum: new(0.5)}, &layers.Dense{Units: 1})
			require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
			fit := func(size int) {
				_, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(size), keras.Shuffle(false))
				require.NoError(t, err)
			}
			fit(4)
			if freeze {
				m.SetTrainable(false)
			}
			fit(3)
			_, err := m.TrainOnBatch(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			scores, err := m.Evaluate(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			arrays, err := m.GetWeights()
			require.NoError(t, err)
			for _, a := range arrays {
				weights = append(weights, a.Float64s())
			}
			return weights, scores["loss"]
		}
		want, loss := train(false)
		got, score := train(true)
		require.Equal(t, want, got)
		require.Equal(t, loss, score)
	}
}

// Before the first training step, freezing takes effect at once, even if an evaluation was compiled already.
func TestFrozenBeforeTraining(t *testing.T) {
	x, y := [][]float32{{1, 2}, {3, -1}, {0, 4}}, [][]float32{{1}, {0}, {2}}
	run := func(evaluate, first bool) (map[string]float64, map[string]float64) {
		m := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 3, Name: "d", KernelRegularizer: "l2"}, &layers.Dense{Units: 1})
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
		l, err := m.GetLayer("d")
		require.NoError(t, err)
		if first {
			layers.SetTrainable(l, false)
		}
		if evaluate {
			_, err := m.Evaluate(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			_, err = m.TestOnBatch(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
		}
		layers.SetTrainable(l, false)
		before, err := m.TestOnBatch(t.Context(), data.Arrays(x, y))
		require.NoError(t, err)
		_, err = m.Fit(t.Context(), data.Arrays(x, y))
		require.NoError(t, err)
		after, err := m.Evaluate(t.Context(), data.Arrays(x, y))
		require.NoError(t, err)
		return before, after
	}
	want, wantAfter := run(false, true)
	got, after := run(true, false)
	require.Equal(t, want, got)
	require.Equal(t, wantAfter, after)
}

// A model that was read from a file has its optimizer's variables; what is frozen before the first step is not trained.
func TestFrozenAfterLoading(t *testing.T) {
	x, y := [][]float32{{1, 2}, {3, -1}, {0, 4}}, [][]float32{{1}, {0}, {2}}
	for _, trained := range []bool{false, true} {
		m := sequential(t, []keras.Option{keras.InputShape(2)}, &layers.Dense{Units: 3, Name: "d"}, &layers.Dense{Units: 1, Name: "e"})
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
		if trained {
			_, err := m.Fit(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
		}
		path := filepath.Join(t.TempDir(), "m.keras")
		require.NoError(t, m.Save(path))
		m, err := keras.LoadModel(path)
		require.NoError(t, err)
		l, err := m.GetLayer("d")
		require.NoError(t, err)
		layers.SetTrainable(l, false)
		before, err := m.GetWeights()
		require.NoError(t, err)
		_, err = m.Fit(t.Context(), data.Arrays(x, y))
		require.NoError(t, err)
		after, err := m.GetWeights()
		require.NoError(t, err)
		require.Equal(t, before[:2], after[:2])
		require.NotEqual(t, before[2:], after[2:])
		require.NoError(t, m.Save(path))
		m, err = keras.LoadModel(path)
		require.NoError(t, err)
		l, err = m.GetLayer("d")
		require.NoError(t, err)
		layers.SetTrainable(l, true)
		_, err = m.Fit(t.Context(), data.Arrays(x, y))
		require.ErrorContains(t, err, "call Compile again")
	}
}

// A dynamic embedding that is frozen or unfrozen after steps were made stays in them as it was.
func TestFrozenDynamicEmbedding(t *testing.T) {
	for _, freeze := range []bool{true, false} {
		x, y := rowData(16)
		e := &layers.Embedding{Name: "e", OutputDim: 4, Dynamic: true}
		m := rowModel(t, e, keras.Input(keras.Shape(3), keras.DType("int64")))
		layers.SetTrainable(e, freeze)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"}))
		for range 2 {
			before, err := e.Table().Lookup([]int64{0, 1, 2})
			require.NoError(t, err)
			before = append([]float32{}, before...)
			for _, size := range []int{8, 5} {
				_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(size))
				require.NoError(t, err)
			}
			after, err := e.Table().Lookup([]int64{0, 1, 2})
			require.NoError(t, err)
			if freeze {
				require.NotEqual(t, before, after)
			} else {
				require.Equal(t, before, after)
			}
			layers.SetTrainable(e, !freeze)
		}
	}
}

// A backup made with other frozen layers holds other variables of the optimizer: more, fewer, or of other shapes.
func TestBackupWithOtherFrozenLayers(t *testing.T) {
	compiled := func(frozen int) *keras.Model {
		m := sequential(t, []keras.Option{keras.InputShape(3)}, &layers.Dense{Name: "a", Units: 2}, &layers.Dense{Name: "b", Units: 1})
		if frozen >= 0 {
			layers.SetTrainable(m.Layers()[frozen], false)
		}
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
		return m
	}
	for _, c := range []struct {
		saved, restored int
		want            string
	}{{-1, 1, "variables, the model and its optimizer"}, {1, -1, `the file has no "optimizer/`}, {0, 1, "has shape"}} {
		path := filepath.Join(t.TempDir(), "backup.npz")
		require.NoError(t, compiled(c.saved).SaveBackup(path, callbacks.Progress{}))
		_, err := compiled(c.restored).LoadBackup(path)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "expected a backup of the same model and optimizer, made with the same layers frozen (SetTrainable before Compile)")
		_, err = compiled(c.saved).LoadBackup(path)
		require.NoError(t, err)
	}
}

// The field Frozen of a built layer is Keras's layer.trainable: it also applies to the layers inside, from the next
// Compile on.
func TestFrozenFieldOfABuiltLayer(t *testing.T) {
	x, y := [][]float32{{1, 2}, {3, -1}}, [][]float32{{1, 0}, {0, 1}}
	for _, l := range []layers.Layer{&layers.Dense{Units: 2}, &layers.TimeDistributed{Layer: &layers.Dense{Units: 2}}} {
		var stack []layers.Layer
		var field, inner *bool
		switch l := l.(type) {
		case *layers.Dense:
			stack, field, inner = []layers.Layer{l}, &l.Frozen, &l.Frozen
		case *layers.TimeDistributed:
			stack = []layers.Layer{&layers.Reshape{TargetShape: []int{1, 2}}, l, &layers.Flatten{}}
			field, inner = &l.Frozen, &l.Layer.(*layers.Dense).Frozen
		}
		m, err := keras.NewSequential(append(stack, &layers.Dense{Units: 2}), keras.InputShape(2))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse"}))
		trained := func() (ours, theirs bool) {
			before, err := m.GetWeights()
			require.NoError(t, err)
			_, err = m.Fit(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			after, err := m.GetWeights()
			require.NoError(t, err)
			return !before[0].Equal(after[0]), !before[2].Equal(after[2])
		}
		check := func(want bool) {
			t.Helper()
			ours, theirs := trained()
			require.Equal(t, want, ours)
			require.True(t, theirs)
		}
		check(true)
		for _, frozen := range []bool{true, false} {
			*field = frozen
			require.Len(t, m.TrainableVariables(), map[bool]int{true: 2, false: 4}[frozen])
			require.Equal(t, frozen, *inner)
			check(frozen) // as it was when Compile was called
			require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse"}))
			check(!frozen)
		}
		layers.SetTrainable(l, false)
		require.True(t, *field)
	}
}

// TestFrozenAndSavedAtOnce: a layer that is frozen after it was built, and saved before anything reads the field, is
// frozen in the file, including the layers inside.
func TestFrozenAndSavedAtOnce(t *testing.T) {
	bidirectional := &layers.Bidirectional{Layer: &layers.LSTM{Units: 2}}
	distributed := &layers.TimeDistributed{Layer: &layers.Dense{Units: 2}}
	recurrent := &layers.RNN{Cell: &layers.LSTMCell{Units: 2}}
	for l, frozen := range map[layers.Layer]*bool{bidirectional: &bidirectional.Frozen, distributed: &distributed.Frozen, recurrent: &recurrent.Frozen} {
		m := sequential(t, []keras.Option{keras.InputShape(3, 2)}, l, &layers.Flatten{}, &layers.Dense{Units: 1})
		*frozen = true
		path := filepath.Join(t.TempDir(), "m.keras")
		require.NoError(t, m.Save(path))
		loaded, err := keras.LoadModel(path)
		require.NoError(t, err)
		require.Len(t, loaded.TrainableVariables(), 2, "%T", l)
		require.Len(t, m.TrainableVariables(), 2, "%T", l)
	}
}
