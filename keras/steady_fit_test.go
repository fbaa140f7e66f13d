package keras_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// watchedSteps yields one batch repeatedly, and counts the allocations of the process between two of them.
type watchedSteps struct {
	batch  data.Batch
	counts []uint64 // of objects, in each window of windowSteps
}

const (
	warmSteps, windowSteps, stepWindows = 8, 8, 4

	allSteps = warmSteps + windowSteps*stepWindows + 1
)

func (w *watchedSteps) Batches(context.Context, int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		var before, now runtime.MemStats
		for i := range allSteps {
			if i >= warmSteps && (i-warmSteps)%windowSteps == 0 {
				runtime.ReadMemStats(&now)
				if i > warmSteps {
					w.counts = append(w.counts, now.Mallocs-before.Mallocs)
				}
				runtime.ReadMemStats(&before)
			}
			if !yield(w.batch, nil) {
				return
			}
		}
	}
}

// quiet reports whether some window had no allocations: the runtime itself makes a few, now and then.
func (w *watchedSteps) quiet() bool {
	for _, n := range w.counts {
		if n == 0 {
			return true
		}
	}
	return false
}

// TestEveryClassTrainsWithoutAllocations: a steady step of Fit, and one of Evaluate, allocate nothing, whichever layer,
// loss, metric, optimizer, schedule, initializer, regularizer or constraint is used. It covers everything that
// TestDefaults covers; TestDefaultsOfAllStructs ensures that this is complete.
func TestEveryClassTrainsWithoutAllocations(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection discards finished goroutines
	trained := 0
	for _, c := range vectors.Load(t, "defaults").Cases {
		var d defaultCase
		c.DecodeExtra(t, &d)
		if _, left := notHere[c.Class]; left || d.Kind == "callbacks" || d.Kind == "quantizers" || d.Kind == "distillation" {
			continue
		}
		if other, ok := otherInputs[c.Class]; ok {
			d.Shapes, d.DType = other.Shapes, other.DType
		}
		if d.Kind == "layers" && d.Shapes == nil {
			continue // it takes no plain arrays
		}
		t.Run(c.Name, func(t *testing.T) {
			var config map[string]any
			require.NoError(t, json.Unmarshal(c.Config, &config))
			m, examples, err := randomModel(t, d, c.Class, config)
			require.NoError(t, err)
			source := examples(0)
			if source == nil { // its results are integers, for which a step with Keras's defaults has no labels
				y, err := m.PredictAll(t.Context(), examples(-1))
				require.NoError(t, err)
				if y[0].DType() != ir.Float32 {
					t.Skipf("its result is of type %v, which no loss of Keras takes: there is no step of training", y[0].DType())
				}
				source = data.Arrays(examples(-1).All().X, spread(y[0].Shape(), 7, ir.Float32))
			}
			steady(t, m, source, nil)
			trained++
		})
		runtime.GC()
	}
	require.Greater(t, trained, 150)
}

// steady counts the allocations of steps of Fit and of Evaluate.
func steady(t *testing.T, m *keras.Model, source *data.ArraySource, options []keras.FitOption) {
	t.Helper()
	fit, test := &watchedSteps{batch: source.All()}, &watchedSteps{batch: source.All()}
	_, err := m.Fit(t.Context(), fit, options...)
	require.NoError(t, err)
	require.True(t, fit.quiet(), "allocations in %d windows of %d steps of Fit: %v", len(fit.counts), windowSteps, fit.counts)
	_, err = m.Evaluate(t.Context(), test)
	require.NoError(t, err)
	require.True(t, test.quiet(), "allocations in %d windows of %d steps of Evaluate: %v", len(test.counts), windowSteps, test.counts)
}

// TestEveryWayToTrainDoesNotAllocate covers the options of optimizers, losses and Fit.
func TestEveryWayToTrainDoesNotAllocate(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	x, y := spread([]int{8, 4}, 1, ir.Float32), spread([]int{8, 3}, 2, ir.Float32)
	labels := data.Must(data.ArrayOf([]int32{0, 1, 2, 0, 1, 2, 0, 1}, 8))
	weights := data.SampleWeight(spread([]int{8}, 3, ir.Float32))
	sgd := func(o optimizers.Options) any { return &optimizers.SGD{LearningRate: 0.01, Momentum: 0.9, Options: o} }
	one := 1.0
	for name, c := range map[string]struct {
		compile keras.CompileConfig
		source  *data.ArraySource
		options []keras.FitOption
		outputs int
		dtype   string
	}{
		"weight decay":          {compile: keras.CompileConfig{Optimizer: sgd(optimizers.Options{WeightDecay: &one})}},
		"clipnorm":              {compile: keras.CompileConfig{Optimizer: sgd(optimizers.Options{ClipNorm: &one})}},
		"clipvalue":             {compile: keras.CompileConfig{Optimizer: sgd(optimizers.Options{ClipValue: &one})}},
		"global clipnorm":       {compile: keras.CompileConfig{Optimizer: sgd(optimizers.Options{GlobalClipNorm: &one})}},
		"averages":              {compile: keras.CompileConfig{Optimizer: sgd(optimizers.Options{UseEMA: true, EMAOverwriteFrequency: 3})}},
		"accumulation":          {compile: keras.CompileConfig{Optimizer: sgd(optimizers.Options{GradientAccumulationSteps: 3})}},
		"loss scale factor":     {compile: keras.CompileConfig{Optimizer: sgd(optimizers.Options{LossScaleFactor: &one})}},
		"dynamic loss scale":    {compile: keras.CompileConfig{Optimizer: &optimizers.LossScaleOptimizer{Inner: &optimizers.Adam{}, DynamicGrowthSteps: 3}}},
		"schedule":              {compile: keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: &schedules.ExponentialDecay{InitialLearningRate: 0.1, DecaySteps: 3, DecayRate: 0.9}}}},
		"mixed_float16":         {dtype: "mixed_float16"},
		"mixed_bfloat16":        {dtype: "mixed_bfloat16"},
		"sample weights":        {source: data.Arrays(x, y, weights)},
		"class weights":         {source: data.Arrays(x, labels), compile: keras.CompileConfig{Loss: "sparse_categorical_crossentropy"}, options: []keras.FitOption{keras.ClassWeight(map[int]float64{1: 2})}},
		"metrics":               {compile: keras.CompileConfig{Metrics: []any{"mae", "cosine_similarity"}, WeightedMetrics: []any{"mse"}}, source: data.Arrays(x, y, weights)},
		"two outputs":           {outputs: 2, source: data.Arrays(x, []any{y, y}), compile: keras.CompileConfig{Loss: []any{"mse", "mae"}, LossWeights: []float64{1, 0.5}, Metrics: [][]any{{"mae"}, {"mse"}}}},
		"steps per execution":   {compile: keras.CompileConfig{StepsPerExecution: 4}},
		"validation":            {options: []keras.FitOption{keras.ValidationData(data.Arrays(x, y))}},
		"callbacks of an epoch": {options: []keras.FitOption{keras.Callbacks(&callbacks.EarlyStopping{Monitor: "loss"}, &callbacks.ReduceLROnPlateau{Monitor: "loss"}, &callbacks.LearningRateScheduler{Schedule: func(int, float64) float64 { return 0.1 }})}},
	} {
		t.Run(name, func(t *testing.T) {
			in := keras.Input(keras.Shape(4))
			var out []*layers.KerasTensor
			for range max(c.outputs, 1) {
				out = append(out, layers.Apply(&layers.Dense{Units: 3, Activation: "sigmoid", DType: c.dtype}, in))
			}
			m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(out...))
			require.NoError(t, err)
			if c.compile.Loss == nil {
				c.compile.Loss = "mse"
			}
			if c.compile.Optimizer == nil {
				c.compile.Optimizer = "adam"
			}
			require.NoError(t, m.Compile(c.compile))
			if c.source == nil {
				c.source = data.Arrays(x, y)
			}
			steady(t, m, c.source, c.options)
		})
	}
}

// TestOnBatchAllocatesItsResultAlone: calls with one batch allocate only the map or array that they return.
func TestOnBatchAllocatesItsResultAlone(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}}, keras.InputShape(4))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse", Optimizer: "adam", Metrics: []any{"mae"}}))
	batch, other := data.Arrays(spread([]int{8, 4}, 1, ir.Float32), spread([]int{8, 3}, 2, ir.Float32)), data.Arrays(spread([]int{5, 4}, 3, ir.Float32), spread([]int{5, 3}, 4, ir.Float32))
	allocations := func(f func() (any, error)) float64 {
		return testing.AllocsPerRun(50, func() {
			if _, err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	scores := allocations(func() (any, error) { s := map[string]float64{"loss": 1, "mae": 2}; return s, nil })
	require.LessOrEqual(t, allocations(func() (any, error) { return m.TrainOnBatch(t.Context(), batch) }), scores, "TrainOnBatch")
	require.LessOrEqual(t, allocations(func() (any, error) { return m.TestOnBatch(t.Context(), batch) }), scores, "TestOnBatch")
	require.LessOrEqual(t, allocations(func() (any, error) { return m.PredictOnBatch(t.Context(), batch) }), 4.0, "PredictOnBatch")
	require.LessOrEqual(t, allocations(func() (any, error) { return m.Predict(t.Context(), batch) }), 4.0, "Predict")

	// What calls keep is reused for batches of the same shapes, and for the same model: with other shapes, class
	// weights, losses and layers, the results are those of a new model.
	fresh := func() *keras.Model {
		again, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}}, keras.InputShape(4))
		require.NoError(t, err)
		require.NoError(t, again.Compile(keras.CompileConfig{Loss: "mse", Optimizer: "adam", Metrics: []any{"mae"}}))
		weights, err := m.GetWeights()
		require.NoError(t, err)
		require.NoError(t, again.SetWeights(weights))
		return again
	}
	same := func(what string, source *data.ArraySource) {
		t.Helper()
		want, err := fresh().TestOnBatch(t.Context(), source)
		require.NoError(t, err)
		got, err := m.TestOnBatch(t.Context(), source)
		require.NoError(t, err)
		require.Equal(t, want, got, what)
	}
	for range 2 {
		same("eight examples", batch)
		same("five", other)
		_, err := m.TrainOnBatch(t.Context(), other)
		require.NoError(t, err)
		_, err = m.Fit(t.Context(), batch, keras.Epochs(1))
		require.NoError(t, err)
		_, err = m.TrainOnBatch(t.Context(), data.Arrays(spread([]int{8, 5}, 1, ir.Float32), spread([]int{8, 3}, 2, ir.Float32)))
		require.Error(t, err, "five features")
		_, err = m.TrainOnBatch(t.Context(), batch)
		require.NoError(t, err)
	}
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mae", Optimizer: "sgd"}))
	got, err := m.TrainOnBatch(t.Context(), batch)
	require.NoError(t, err)
	require.Equal(t, []string{"loss"}, keysOf(got), fmt.Sprint(got))
	require.NoError(t, m.Compile(keras.CompileConfig{Loss: "sparse_categorical_crossentropy", Optimizer: "sgd"}))
	classes := data.Arrays(spread([]int{3, 4}, 1, ir.Float32), data.Must(data.ArrayOf([]int32{0, 1, 2}, 3)))
	for range 2 {
		got, err = m.TrainOnBatch(t.Context(), classes)
		require.NoError(t, err)
		require.NotZero(t, got["loss"])
		got, err = m.TrainOnBatch(t.Context(), classes, keras.ClassWeight(map[int]float64{0: 0, 1: 0, 2: 0}))
		require.NoError(t, err)
		require.Zero(t, got["loss"])
	}
}

func keysOf(m map[string]float64) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	return names
}
