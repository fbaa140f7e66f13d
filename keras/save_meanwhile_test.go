package keras_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestSavedMeanwhile: several goroutines write a model to files, while one trains it and a callback writes it too.
// Training ends normally, by an error or with its context; every file can be read.
func TestSavedMeanwhile(t *testing.T) {
	for _, end := range []string{"itself", "error", "context"} {
		t.Run(end, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 1))
			m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 8, Activation: "relu"}, &layers.Dense{Units: 1}}, keras.InputShape(6))
			require.NoError(t, err)
			require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			training, stop := context.WithCancel(ctx)
			defer stop()
			folder, wrong := t.TempDir(), errors.New("wrong")
			callback := &callbacks.LambdaCallback{TrainBatchEnd: func(batch int, _ *callbacks.Logs) error {
				switch {
				case batch == 7 && end == "error":
					return wrong
				case batch == 7 && end == "context":
					stop()
				case batch%4 == 0:
					return m.Save(filepath.Join(folder, "callback.keras"))
				}
				return nil
			}}
			var people sync.WaitGroup
			for g := range 3 {
				people.Go(func() {
					path := filepath.Join(folder, fmt.Sprint(g, ".keras"))
					for n := range 8 {
						if !assert.NoError(t, m.Save(path)) {
							return
						}
						_, err := keras.LoadModel(path)
						assert.NoError(t, err)
						_, err = m.LearningRate()
						assert.NoError(t, err)
						assert.NoError(t, m.SetLearningRate(0.001*float64(n+1)))
					}
				})
			}
			x, y := keptNumbers(t, r, ir.Float32, []int{40, 6}), keptNumbers(t, r, ir.Float32, []int{40, 1})
			_, err = m.Fit(training, data.Arrays(x, y), keras.Epochs(4), keras.BatchSize(4), keras.Verbose(0), keras.Callbacks(callback))
			switch end {
			case "error":
				require.ErrorIs(t, err, wrong)
			case "context":
				require.ErrorIs(t, err, context.Canceled)
			default:
				require.NoError(t, err)
			}
			people.Wait()
			require.NoError(t, ctx.Err())
		})
	}
}
