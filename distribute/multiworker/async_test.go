package multiworker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/kernelstest/async"
)

// Two workers train on devices that work by themselves, on memory that the host cannot see, as on CPUs. If they meet in
// host memory, by gRPC, they come to the same bits; where their devices connect themselves, after an exchange by gRPC,
// sums of four have an order of their own.
func TestWorkersOnAsynchronousDevices(t *testing.T) {
	b := async.Shared()
	for _, hosted := range []bool{true, false} {
		for _, replicas := range []int{1, 2} {
			for _, tr := range trainings() {
				t.Run(fmt.Sprint(tr.name, " on ", replicas, " hosted ", hosted), func(t *testing.T) {
					train := func(kind string) []*result {
						got, errs := workers(t, 2, func(rank int, o *multiworker.Options) {
							if o.Devices, o.NoSharedMemory = nil, true; hosted {
								o.Communication.Implementation = collective.Ring
							}
							for i := range replicas {
								o.Devices = append(o.Devices, fmt.Sprint(kind, ":", rank*replicas+i))
							}
						}, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (*result, error) {
							return tr.train(ctx, s, variant{dtype: "float32", batch: 9})
						})
						for rank, err := range errs {
							require.NoError(t, err, "worker %d on %s", rank, kind)
						}
						return got
					}
					before := b.Stats()
					want, got := train("cpu"), train("async")
					require.Greater(t, b.Stats().Launches, before.Launches+200, "the steps ran there")
					require.Equal(t, got[0].Weights, got[1].Weights)
					if hosted || replicas == 1 {
						require.Equal(t, want, got)
						return
					}
					for k, w := range want[0].Weights {
						require.InDeltaSlice(t, w, got[0].Weights[k], 1e-4, "weight %d", k)
					}
				})
			}
		}
	}
}

// failure is what a worker is left with.
type failure struct {
	Error   string
	Weights [][]float64
}

// A worker whose step fails on its device ends the step of the other, and both keep the variables of the last whole
// step: those of training on the batch before it alone.
func TestAsynchronousWorkersFailTogether(t *testing.T) {
	async.Shared()
	tr := trainings()[1]
	train := func(hosted bool, examples, wrong int) []failure {
		got, errs := workers(t, 2, func(rank int, o *multiworker.Options) {
			if o.Devices, o.NoSharedMemory = []string{fmt.Sprint("async:", rank)}, true; hosted {
				o.Communication.Implementation = collective.Ring
			}
		}, func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (f failure, err error) {
			m, err := tr.model(s, "float32")
			if err != nil {
				return f, err
			}
			x, y := make([]float32, examples*60), make([]int, examples)
			for i := range x {
				x[i] = float32(i%13)/6 - 1
			}
			for i := range y {
				y[i] = i % tr.classes
			}
			if wrong >= 0 {
				y[wrong] = 9 // none of the classes
			}
			if _, err := m.Fit(ctx, data.Arrays(data.Must(data.ArrayOf(x, examples, 6, 5, 2)), y), keras.BatchSize(8), keras.Shuffle(false)); err != nil {
				f.Error = err.Error()
			}
			weights, err := m.GetWeights()
			for _, w := range weights {
				f.Weights = append(f.Weights, w.Float64s())
			}
			return f, err
		})
		require.NoError(t, errors.Join(errs...))
		return got
	}
	for _, hosted := range []bool{true, false} {
		want := train(hosted, 8, -1)
		require.Empty(t, want[0].Error)
		got := train(hosted, 32, 14) // in the second batch, in the part of the second worker
		require.Contains(t, got[1].Error, "label 9")
		require.NotEmpty(t, got[0].Error)
		for rank := range got {
			require.Equal(t, want[rank].Weights, got[rank].Weights, "worker %d, hosted %v: %s", rank, hosted, got[rank].Error)
		}
	}
}
