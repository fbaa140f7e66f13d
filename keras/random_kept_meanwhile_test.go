package keras_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
)

// TestRandomKeptMeanwhile: goroutines that predict while the weights are replaced see either all of the old ones or all
// of the new ones; and concurrent calls of all kinds end with results or with the error that the model is busy. It is
// also meant for the race detector.
func TestRandomKeptMeanwhile(t *testing.T) {
	for seed := *keptSeed; seed < *keptSeed+uint64(*keptRuns+3)/4; seed++ {
		if testing.Short() && seed%3 > 0 {
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d := newKeptRun(t, 1000+seed)
			for range d.r.IntN(3) {
				change := d.lora
				if d.r.IntN(2) == 0 {
					change = d.quantize
				}
				d.log = append(d.log, "")
				require.NoError(t, change(t.Context(), 0), "%q", d.log)
			}
			d.exchange()
			d.everything()
			d.check()
		})
	}
}

// keptPeople is the number of goroutines that predict.
const keptPeople = 4

// exchange replaces the weights of the first model by others and back while goroutines predict with it.
func (d *keptRun) exchange() {
	m, t := d.models[0], d.t
	first, err := m.GetWeights()
	require.NoError(t, err)
	second := make([]kernels.Array, len(first))
	for i := range first {
		second[i] = shuffled(d.r, first[i])
	}
	sizes := []int{1, 3, d.rows}
	var want [2][][]byte
	for i, weights := range [][]kernels.Array{first, second} {
		require.NoError(t, m.SetWeights(weights))
		for _, rows := range sizes {
			want[i] = append(want[i], d.predict(m, rows))
		}
	}
	paths := [2]string{filepath.Join(t.TempDir(), "first.npz"), filepath.Join(t.TempDir(), "second.npz")}
	require.NoError(t, m.SaveWeights(paths[1]))
	require.NoError(t, m.SetWeights(first))
	require.NoError(t, m.SaveWeights(paths[0]))
	var people sync.WaitGroup
	for g := range keptPeople {
		people.Go(func() {
			for n := range 30 {
				k := (g + n) % len(sizes)
				out, err := m.PredictOnBatch(t.Context(), data.Arrays(d.x.Slice(0, sizes[k]), nil))
				if !assert.NoError(t, err) {
					return
				}
				if !bytes.Equal(out.Data, want[0][k]) && !bytes.Equal(out.Data, want[1][k]) {
					assert.Fail(t, "weights of two sets, or forms of others", "%s, %s, %d replicas, %d rows: %q", d.network, d.policy, d.replicas, sizes[k], d.log)
					return
				}
			}
		})
	}
	for n := range 12 {
		if n%3 == 2 {
			require.NoError(t, m.LoadWeights(paths[n/3%2]))
		} else {
			require.NoError(t, m.SetWeights([][]kernels.Array{first, second}[n%2]))
		}
	}
	people.Wait()
}

// everything makes concurrent calls of all kinds.
func (d *keptRun) everything() {
	m, t, ctx := d.models[0], d.t, d.t.Context()
	require.NoError(t, d.compile(0, keras.CompileConfig{Optimizer: "adam"}))
	source, folder := d.source(0), t.TempDir()
	calls := []func(r *rand.Rand) error{
		func(*rand.Rand) error { _, err := m.Fit(ctx, source, keras.BatchSize(5)); return err },
		func(*rand.Rand) error { _, err := m.TrainOnBatch(ctx, source); return err },
		func(*rand.Rand) error { _, err := m.Evaluate(ctx, source); return err },
		func(*rand.Rand) error { _, err := m.TestOnBatch(ctx, source); return err },
		func(r *rand.Rand) error {
			_, err := m.Predict(ctx, source, keras.BatchSize(1+r.IntN(keptRows)))
			return err
		},
		func(*rand.Rand) error {
			weights, err := m.GetWeights()
			if err != nil {
				return err
			}
			return m.SetWeights(weights)
		},
		func(r *rand.Rand) error { return m.SaveWeights(filepath.Join(folder, fmt.Sprint(r.IntN(9), ".npz"))) },
		func(r *rand.Rand) error { return m.Save(filepath.Join(folder, fmt.Sprint(r.IntN(9), ".keras"))) },
		func(*rand.Rand) error { return m.SetLearningRate(0.001) },
		func(*rand.Rand) error { _, err := m.LearningRate(); return err },
		func(*rand.Rand) error { _, err := m.InferenceProgram(3); return err },
		func(*rand.Rand) error {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := m.Predict(ended, source); err == nil {
				return fmt.Errorf("a context that has ended made no error")
			}
			return nil
		},
	}
	var people sync.WaitGroup
	for g := range keptPeople {
		people.Go(func() {
			r := rand.New(rand.NewPCG(d.seed, uint64(100+g)))
			for range 12 {
				k := r.IntN(len(calls))
				if err := calls[k](r); err != nil && !strings.Contains(err.Error(), "training or evaluating") {
					assert.NoError(t, err, "call %d, %s, %s, %d replicas", k, d.network, d.policy, d.replicas)
				}
			}
		})
	}
	people.Wait()
}
