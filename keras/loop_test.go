package keras_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/kernelstest/async"
)

// looping is a backend of kind "looping", which repeats steps on its devices.
var looping = sync.OnceValue(func() *async.Backend {
	b := async.New(async.Options{Kind: "looping", Loops: true})
	kernels.Register(b)
	return b
})

// Several steps in one program give the results of single ones: random numbers, moving averages, metrics, the state
// after a failure, and what follows. Executions are shorter at the end of an epoch, and when the shape of batches
// changes.
func TestStepsInALoop(t *testing.T) {
	b := looping()
	for _, name := range []string{"one device", "mirrored"} {
		t.Run(name, func(t *testing.T) {
			make, c := asyncStrategies[name], keras.CompileConfig{StepsPerExecution: 3}
			want, got := asyncRun(t, make, cpu.Kind, c), asyncRun(t, make, b.Kind(), c)
			for i := range want.Weights {
				require.InDeltaSlice(t, want.Weights[i].Elements(), got.Weights[i].Elements(), 1e-5)
			}
			for i := range want.Middle {
				for j := range want.Middle[i] {
					require.InDeltaSlice(t, want.Middle[i][j].Elements(), got.Middle[i][j].Elements(), 1e-5)
				}
			}
			require.Equal(t, want.Failure, got.Failure)
			for name, values := range want.History {
				require.InDeltaSlice(t, values, got.History[name], 1e-5, name)
			}
			require.InDeltaMapValues(t, want.Scores, got.Scores, 1e-5)
		})
	}
}

// An execution of several steps is one launch; the remaining steps of an epoch are launched singly.
func TestLoopsAreOneLaunch(t *testing.T) {
	b := looping()
	s, err := asyncStrategies["one device"](b.Kind())
	require.NoError(t, err)
	m := asyncModel(t, s, keras.CompileConfig{StepsPerExecution: 4})
	x, y := asyncData(8*11, class)
	launches := func() int64 {
		before := b.Stats().Launches
		_, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8))
		require.NoError(t, err)
		return b.Stats().Launches - before
	}
	launches()
	with := launches()
	single := asyncModel(t, s, keras.CompileConfig{})
	_, err = single.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8))
	require.NoError(t, err)
	before := b.Stats().Launches
	_, err = single.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(8))
	require.NoError(t, err)
	require.Equal(t, int64(11-5), b.Stats().Launches-before-with, "2 loops of 4 steps and 3 single steps in place of 11")
}
