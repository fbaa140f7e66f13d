//go:build linux

package cuda

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// hardware skips a test where nobody asked for it to run on a GPU.
func hardware(t testing.TB) {
	if os.Getenv("GOKERAS_GPU") == "" {
		t.Skip("GOKERAS_GPU is not set: the test is for a machine with a GPU (make gpu)")
	}
	require.NoError(t, own.Open(kernels.Device{Kind: Kind}), "GOKERAS_GPU asks for a GPU")
}

// The suite, on a GPU.
func TestHardwareConformance(t *testing.T) {
	hardware(t)
	kernelstest.Run(t, own, kernels.Device{Kind: Kind})
}

// Training on a GPU comes to the weights of the CPU.
func TestHardwareTraining(t *testing.T) {
	hardware(t)
	for name, network := range networks {
		t.Run(name, func(t *testing.T) {
			want, _ := trained(t, "cpu:0", network())
			got, _ := trained(t, "cuda:0", network())
			sameWeights(t, want, got, 2e-4)
			again, _ := trained(t, "cuda:0", network())
			sameWeights(t, got, again, 0)
		})
	}
}

// row is a line of the report.
type row struct {
	Workload     string  `json:"workload"`
	Device       string  `json:"device"`
	Milliseconds float64 `json:"milliseconds_per_step"`
	Examples     float64 `json:"examples_per_second"`
}

// stepTime trains on random examples and returns the time of a step, in the fastest of a few epochs.
func stepTime(t testing.TB, device string, batch int, shape []int, network []layers.Layer, optimizer any) time.Duration {
	strategy, err := distribute.NewOneDeviceStrategy(device)
	require.NoError(t, err)
	model, err := keras.NewSequential(network, keras.InputShape(shape...), distribute.Scope(strategy), keras.Seed(1))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
	const steps = 200
	n := 1
	for _, d := range shape {
		n *= d
	}
	x, y := make([][]float32, batch*steps), make([]int32, batch*steps)
	state := uint32(1)
	for i := range x {
		x[i] = make([]float32, n)
		for j := range x[i] {
			state = state*1664525 + 1013904223
			x[i][j] = float32(state>>8)/(1<<23) - 1
		}
		y[i] = int32(i % 10)
	}
	best := time.Hour
	for range 4 {
		begin := time.Now()
		_, err := model.Fit(t.Context(), data.Arrays(x, y), keras.BatchSize(batch))
		require.NoError(t, err)
		best = min(best, time.Since(begin)/steps)
	}
	return best
}

// TestHardwareSpeed writes gpu.md and gpu.json into the folder that GOKERAS_GPU names.
func TestHardwareSpeed(t *testing.T) {
	hardware(t)
	all, err := GPUs()
	require.NoError(t, err)
	var rows []row
	for _, w := range []struct {
		name    string
		batch   int
		shape   []int
		network func() []layers.Layer
	}{
		{"MLP 784-512-512-10, Adam, batch 64", 64, []int{784}, func() []layers.Layer {
			return []layers.Layer{&layers.Dense{Units: 512, Activation: "relu"}, &layers.Dense{Units: 512, Activation: "relu"}, &layers.Dense{Units: 10}}
		}},
		{"MNIST CNN, Adam, batch 64", 64, []int{784}, func() []layers.Layer {
			return []layers.Layer{
				&layers.Reshape{TargetShape: []int{28, 28, 1}}, &layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"}, &layers.MaxPooling2D{},
				&layers.Conv2D{Filters: 64, KernelSize: []int{3}, Activation: "relu"}, &layers.MaxPooling2D{}, &layers.Flatten{}, &layers.Dropout{Rate: 0.5}, &layers.Dense{Units: 10},
			}
		}},
	} {
		for _, device := range []string{"cpu:0", "cuda:0"} {
			d := stepTime(t, device, w.batch, w.shape, w.network(), &optimizers.Adam{})
			rows = append(rows, row{w.name, device, float64(d) / 1e6, float64(w.batch) / d.Seconds()})
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%v\n\n| workload | device | ms a step | examples a second |\n|---|---|---|---|\n", all[0])
	for _, r := range rows {
		fmt.Fprintf(&table, "| %s | %s | %.3f | %.0f |\n", r.Workload, r.Device, r.Milliseconds, r.Examples)
	}
	folder := os.Getenv("GOKERAS_GPU")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gpu.md"), []byte(table.String()), 0o644))
	text, err := json.MarshalIndent(map[string]any{"gpu": all[0], "rows": rows}, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gpu.json"), append(text, '\n'), 0o644))
	t.Log("\n" + table.String())
}
