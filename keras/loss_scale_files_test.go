package keras

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// TestLossScaleFiles: a LossScaleOptimizer reads its state from Keras's files, which lack Nadam's product, which is
// computed, and Adafactor's placeholders, and from files of earlier versions, which have these too.
func TestLossScaleFiles(t *testing.T) {
	for name, c := range map[string]struct {
		inner  func() optimizers.Optimizer
		fewer  int // fewer variables in current files
		warmup int // steps of the model that reads
	}{
		"Adam":      {func() optimizers.Optimizer { return &optimizers.Adam{} }, 0, 1},
		"Nadam":     {func() optimizers.Optimizer { return &optimizers.Nadam{} }, 1, 1},
		"Adafactor": {func() optimizers.Optimizer { return &optimizers.Adafactor{} }, 2, 5}, // r and c of the bias
	} {
		t.Run(name, func(t *testing.T) {
			scaled := func(steps int) (*Model, *optimizers.LossScaleOptimizer) {
				m, err := NewSequential([]layers.Layer{&layers.Dense{Units: 2}}, InputShape(3), Seed(uint64(steps)))
				require.NoError(t, err)
				o := &optimizers.LossScaleOptimizer{Inner: c.inner(), InitialScale: 16, DynamicGrowthSteps: 2}
				require.NoError(t, m.Compile(CompileConfig{Optimizer: o, Loss: "mse"}))
				x, y := data.Must(data.ArrayOf([]float32{1, 2, 3, 4, 5, 7}, 2, 3)), data.Must(data.ArrayOf([]float32{3, 1, 2, 5}, 2, 2))
				for range steps {
					_, err := m.TrainOnBatch(context.Background(), data.Arrays(x, y))
					require.NoError(t, err)
				}
				return m, o
			}
			from, trained := scaled(3)
			folder := t.TempDir()
			now, before := filepath.Join(folder, "now.weights.h5"), filepath.Join(folder, "before.weights.h5")
			require.NoError(t, from.SaveWeights(now))
			objects := from.fileObjects()
			for i, o := range objects {
				if len(o.Older) > 0 {
					require.Len(t, o.Variables, len(o.Older)-c.fewer)
					objects[i].Variables = o.Older
				}
			}
			w, err := saving.Weights(objects)
			require.NoError(t, err)
			f, err := os.Create(before)
			require.NoError(t, err)
			_, err = w.WriteTo(f)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			for _, file := range []string{now, before} {
				into, o := scaled(c.warmup)
				var report LoadReport
				require.NoError(t, into.LoadWeights(file, Report(&report)))
				require.Empty(t, report.Skipped, file)
				require.Empty(t, report.Unused, file)
				want := numbersOf(t, trained.Variables())
				got := numbersOf(t, o.Variables())
				require.Len(t, got, len(want))
				for i := range want {
					require.InDeltaSlice(t, want[i], got[i], 1e-6, "%s: %s", file, o.Variables()[i].Name())
				}
			}
		})
	}
}

func numbersOf(t *testing.T, variables distribute.Variables) (all [][]float64) {
	t.Helper()
	for _, v := range variables {
		a, err := v.Value()
		require.NoError(t, err)
		all = append(all, kernels.Array(a).Float64s())
	}
	return all
}
