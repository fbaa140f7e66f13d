package keras_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/kernelstest/async"
	"github.com/gokeras/gokeras/layers"
)

// asyncStrategies create equal strategies on devices of a kind.
var asyncStrategies = map[string]func(kind string) (distribute.Strategy, error){
	"one device": func(kind string) (distribute.Strategy, error) { return distribute.NewOneDeviceStrategy(kind + ":0") },
	"mirrored": func(kind string) (distribute.Strategy, error) {
		return distribute.NewMirroredStrategy(kind+":0", kind+":1")
	},
	"reduction to one device": func(kind string) (distribute.Strategy, error) {
		return distribute.NewMirroredStrategyWith(distribute.MirroredOptions{
			Devices: []string{kind + ":0", kind + ":1", kind + ":2"}, CrossDeviceOps: distribute.ReductionToOneDevice{},
		})
	},
	"central storage": func(kind string) (distribute.Strategy, error) {
		return distribute.NewCentralStorageStrategyWith(distribute.CentralStorageOptions{ComputeDevices: []string{kind + ":0", kind + ":1"}, ParameterDevice: kind + ":5"})
	},
}

// asyncModel has what makes a step hard to repeat: random numbers, moving averages, a metric and an optimizer with
// state. Its classes are 0 to 4.
func asyncModel(t testing.TB, s distribute.Strategy, c keras.CompileConfig) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 12, Activation: "relu"}, &layers.BatchNormalization{}, &layers.Dropout{Rate: 0.3}, &layers.Dense{Units: 5, Activation: "softmax"},
	}, distribute.Scope(s), keras.Seed(7))
	require.NoError(t, err)
	c.Optimizer, c.Metrics = "adam", []any{"accuracy"}
	if c.Loss == nil {
		c.Loss = "sparse_categorical_crossentropy"
	}
	require.NoError(t, m.Compile(c))
	return m
}

func asyncData(n int, label func(i int) int32) ([][]float32, []int32) {
	x, y := make([][]float32, n), make([]int32, n)
	for i := range x {
		x[i], y[i] = make([]float32, 6), label(i)
		for k := range x[i] {
			x[i][k] = float32((i*7+k*3)%11)/5 - 1
		}
	}
	return x, y
}

func class(i int) int32 { return int32(i * i % 5) }

// outcome is everything that a run leaves behind.
type outcome struct {
	History map[string][]float64
	Scores  map[string]float64
	Classes any
	Weights []kernels.Array
	Middle  [][]kernels.Array
	Failure string
}

func copiesOf(t testing.TB, m *keras.Model) []kernels.Array {
	var out []kernels.Array
	for _, v := range m.Weights() {
		a, err := v.Value()
		require.NoError(t, err)
		out = append(out, a)
	}
	return out
}

// asyncRun trains, evaluates, predicts, reads the weights in the middle, fails in a step, and continues.
func asyncRun(t *testing.T, make func(kind string) (distribute.Strategy, error), kind string, c keras.CompileConfig) (o outcome) {
	s, err := make(kind)
	require.NoError(t, err)
	m := asyncModel(t, s, c)
	x, y := asyncData(44, class)
	file := filepath.Join(t.TempDir(), "middle.weights.h5")
	middle := &callbacks.LambdaCallback{TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
		if batch != 2 {
			return nil
		}
		o.Middle = append(o.Middle, copiesOf(t, m))
		return m.SaveWeights(file)
	}}
	h, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8), keras.Epochs(2), keras.ValidationSplit(0.2), keras.Callbacks(middle))
	require.NoError(t, err)
	o.History = h.Logs
	scores, err := m.Evaluate(t.Context(), data.Arrays(x, y), keras.BatchSize(8))
	require.NoError(t, err)
	o.Scores = scores
	classes, err := m.Predict(t.Context(), data.Arrays(x, nil), keras.BatchSize(16))
	require.NoError(t, err)
	o.Classes = fmt.Sprint(classes)

	// The label 9 in the fourth of six batches is not one of the five classes. Later steps must have no effect.
	_, wrong := asyncData(48, func(i int) int32 {
		if i == 27 {
			return 9
		}
		return class(i)
	})
	bad, _ := asyncData(48, class)
	_, err = m.Fit(t.Context(), data.Arrays(bad, wrong), keras.BatchSize(8), keras.Epochs(2), keras.Shuffle(false))
	var index *cpu.IndexError
	require.ErrorAs(t, err, &index)
	o.Failure = index.Error()
	o.Middle = append(o.Middle, copiesOf(t, m))

	_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8))
	require.NoError(t, err)
	o.Weights = copiesOf(t, m)
	require.NoError(t, m.LoadWeights(file))
	o.Middle = append(o.Middle, copiesOf(t, m))
	return o
}

// Asynchronous devices give the results of the CPU bit for bit, even the state after a failed step, although the host
// is ahead.
func TestAsynchronousDevicesTrainAsTheCPU(t *testing.T) {
	b := async.Shared()
	for name, make := range asyncStrategies {
		t.Run(name, func(t *testing.T) {
			want, got := asyncRun(t, make, cpu.Kind, keras.CompileConfig{}), asyncRun(t, make, b.Kind(), keras.CompileConfig{})
			require.Equal(t, want, got)
		})
	}
	t.Run("a step of the user's own", func(t *testing.T) {
		c := keras.CompileConfig{TrainStep: func(s *keras.Step) keras.StepLogs {
			yPred := s.Model().Call(s.Training(), s.X...)
			loss := ops.MultiplyScalar(s.ComputeLoss(yPred), 2)
			s.Minimize(s.Optimizer(), loss, s.Model().TrainableVariables())
			return s.ComputeMetrics(yPred)
		}}
		make := asyncStrategies["mirrored"]
		require.Equal(t, asyncRun(t, make, cpu.Kind, c), asyncRun(t, make, b.Kind(), c))
	})
}

// The host waits for a device when logs are read, and in no step. Steps replay a captured one.
func TestSteadyTrainingDoesNotSynchronize(t *testing.T) {
	b := async.Shared()
	for name, make := range asyncStrategies {
		if name == "reduction to one device" {
			continue // it goes through host memory
		}
		t.Run(name, func(t *testing.T) {
			s, err := make(b.Kind())
			require.NoError(t, err)
			m := asyncModel(t, s, keras.CompileConfig{})
			fit := func(steps int, options ...keras.FitOption) async.Stats {
				x, y := asyncData(8*steps, class)
				before := b.Stats()
				_, err := m.Fit(t.Context(), data.Arrays(x, y), append(options, keras.BatchSize(8))...)
				require.NoError(t, err)
				after := b.Stats()
				return async.Stats{
					Compiled: after.Compiled - before.Compiled, Synchronizations: after.Synchronizations - before.Synchronizations,
					Replays: after.Replays - before.Replays, Captures: after.Captures - before.Captures, Downloads: after.Downloads - before.Downloads,
				}
			}
			fit(3)
			short, long := fit(10), fit(60)
			require.Equal(t, short.Synchronizations, long.Synchronizations, "10 steps and 60")
			require.Equal(t, short.Downloads, long.Downloads)
			require.Zero(t, long.Compiled)
			n := int64(len(s.Devices()))
			require.Equal(t, 50*n, long.Replays-short.Replays, "further steps are replays")
			require.LessOrEqual(t, long.Captures, n)
			asked := fit(10, keras.Callbacks(&callbacks.LambdaCallback{TrainBatchEnd: func(_ int, logs *callbacks.Logs) error { return logs.Err() }}))
			require.GreaterOrEqual(t, asked.Synchronizations-short.Synchronizations, int64(10), "logs of every batch need waits")
		})
	}
}

// A failed step is reported when the failure is found, with the number of steps after it.
func TestLateErrorTellsOfStepsThatChangedNothing(t *testing.T) {
	s, err := distribute.NewOneDeviceStrategy(async.Shared().Kind() + ":0")
	require.NoError(t, err)
	m := asyncModel(t, s, keras.CompileConfig{})
	x, y := asyncData(48, func(i int) int32 {
		if i == 3 {
			return 9
		}
		return class(i)
	})
	_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8), keras.Shuffle(false))
	var late *distribute.LateError
	require.True(t, errors.As(err, &late), "%v", err)
	require.Positive(t, late.Undone)
}
