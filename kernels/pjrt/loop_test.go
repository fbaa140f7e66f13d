//go:build linux

package pjrt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// executed trains a network with dropout, statistics and slots, with some steps per execution.
func executed(t testing.TB, s distribute.Strategy, steps int) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Flatten{}, &layers.Dense{Units: 16, Activation: "gelu"}, &layers.BatchNormalization{Synchronized: true}, &layers.Dropout{Rate: 0.25}, &layers.Dense{Units: 3},
	}, keras.InputShape(8, 8, 1), distribute.Scope(s), keras.Seed(3))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{
		Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, StepsPerExecution: steps,
	}))
	return m
}

// Steps that the device repeats come to what single ones come to, on one device and on the cores of a TPU strategy; a
// label that does not exist is an error that names the layer, and undoes the whole execution.
func TestStepsPerExecution(t *testing.T) {
	t.Setenv("GOKERAS_PJRT_PLUGIN", plugin(t))
	one, err := distribute.NewOneDeviceStrategy("xla:0")
	require.NoError(t, err)
	x, y := digits()
	for name, s := range map[string]distribute.Strategy{"one": one, "two": cores(t, 2)} {
		t.Run(name, func(t *testing.T) {
			want, got := executed(t, s, 1), executed(t, s, 4)
			for _, m := range []*keras.Model{want, got} { // 6 steps an epoch: one execution of 4, and two steps
				_, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(4), keras.Epochs(3))
				require.NoError(t, err)
			}
			sameWeights(t, want, got, 2e-4)
			y[13] = 7
			_, err := got.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(4), keras.Shuffle(false))
			require.ErrorContains(t, err, "7")
			require.True(t, strings.Contains(err.Error(), "valid indices are 0 to 2"), err)
			sameWeights(t, want, got, 2e-4) // the wrong label is in the fourth step
			y[13] = 1
			for _, m := range []*keras.Model{want, got} {
				_, err := m.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(4), keras.Shuffle(false))
				require.NoError(t, err)
			}
			sameWeights(t, want, got, 2e-3)
		})
	}
}

// BenchmarkStepsPerExecution is the time of a step of a small network through Fit.
func BenchmarkStepsPerExecution(b *testing.B) {
	b.Setenv("GOKERAS_PJRT_PLUGIN", plugin(b))
	s, err := distribute.NewOneDeviceStrategy("xla:0")
	require.NoError(b, err)
	images, labels := digits()
	x, y := images, labels
	for range 99 {
		x, y = append(x, images...), append(y, labels...)
	}
	for _, steps := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			m := executed(b, s, steps)
			_, err := m.Fit(b.Context(), data.Arrays(x, y), keras.BatchSize(4)) // compiles
			require.NoError(b, err)
			least := time.Hour
			for b.Loop() {
				begin := time.Now()
				_, err := m.Fit(b.Context(), data.Arrays(x, y), keras.BatchSize(4))
				require.NoError(b, err)
				least = min(least, time.Since(begin)/600)
			}
			b.ReportMetric(float64(least.Nanoseconds()), "least-ns/step")
		})
	}
}
