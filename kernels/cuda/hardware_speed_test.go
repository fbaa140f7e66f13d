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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// row is a line of the report.
type row struct {
	Workload     string  `json:"workload"`
	Device       string  `json:"device"`
	Milliseconds float64 `json:"milliseconds"`
	Rate         float64 `json:"rate,omitempty"`
	Of           string  `json:"rate_of,omitempty"` // what the rate counts in a second
}

// stepTime trains on random examples and returns the time of a step, in the fastest of a few epochs.
func stepTime(t testing.TB, device string, steps, batch int, shape []int, network []layers.Layer, optimizer any) time.Duration {
	strategy, err := distribute.NewOneDeviceStrategy(device)
	require.NoError(t, err)
	model, err := keras.NewSequential(network, keras.InputShape(shape...), distribute.Scope(strategy), keras.Seed(1))
	require.NoError(t, err)
	require.NoError(t, model.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
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
		best = min(best, time.Since(begin)/time.Duration(steps))
	}
	return best
}

// predictTime returns the time from an example in Go's memory to its prediction, the least of many.
func predictTime(t testing.TB, device string, network []layers.Layer, calls int) time.Duration {
	strategy, err := distribute.NewOneDeviceStrategy(device)
	require.NoError(t, err)
	model, err := keras.NewSequential(network, keras.InputShape(784), distribute.Scope(strategy), keras.Seed(1))
	require.NoError(t, err)
	x := data.Arrays([][]float32{make([]float32, 784)}, nil)
	best := time.Hour
	for range calls {
		begin := time.Now()
		_, err := model.Predict(t.Context(), x)
		require.NoError(t, err)
		best = min(best, time.Since(begin))
	}
	return best
}

// productTime returns the time of a square product of bfloat16, one of several in a row.
func productTime(t testing.TB, b kernels.Backend, d kernels.Device, n, rounds int) time.Duration {
	p := ir.New("product")
	typ := ir.Type{DType: ir.BFloat16, Shape: ir.Shape{n, n}}
	y, err := p.Add("product", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, p.AddInput("x", typ), p.AddInput("w", typ))
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	e, err := b.Compile(p, kernels.CompileOptions{Device: d})
	require.NoError(t, err)
	defer e.Close()
	s, err := e.NewSession(kernels.SessionOptions{Device: d})
	require.NoError(t, err)
	defer s.Close()
	q, err := b.NewQueue(d)
	require.NoError(t, err)
	defer q.Close()
	var buffers [3]kernels.Buffer
	for i := range buffers {
		buffers[i], err = b.NewBuffer(d, typ)
		require.NoError(t, err)
		defer buffers[i].Free()
	}
	best := time.Hour
	for range 4 {
		begin := time.Now()
		for range rounds {
			s.Launch(t.Context(), kernels.Launch{Queue: q, Inputs: buffers[:2], Outputs: buffers[2:]})
		}
		require.NoError(t, q.Wait(t.Context()))
		best = min(best, time.Since(begin)/time.Duration(rounds))
	}
	return best
}

// workloads are the networks that are timed; internal/gpu_torch.py has the same.
func workloads() []struct {
	name    string
	shape   []int
	network []layers.Layer
} {
	return []struct {
		name    string
		shape   []int
		network []layers.Layer
	}{
		{"MLP 784-512-512-10, Adam, batch 64", []int{784}, []layers.Layer{&layers.Dense{Units: 512, Activation: "relu"}, &layers.Dense{Units: 512, Activation: "relu"}, &layers.Dense{Units: 10}}},
		{"MNIST CNN, Adam, batch 64", []int{784}, []layers.Layer{
			&layers.Reshape{TargetShape: []int{28, 28, 1}}, &layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"}, &layers.MaxPooling2D{},
			&layers.Conv2D{Filters: 64, KernelSize: []int{3}, Activation: "relu"}, &layers.MaxPooling2D{}, &layers.Flatten{}, &layers.Dropout{Rate: 0.5}, &layers.Dense{Units: 10},
		}},
		{"LSTM 128 over 100 steps of 16, Adam, batch 64", []int{1600}, []layers.Layer{&layers.Reshape{TargetShape: []int{100, 16}}, &layers.LSTM{Units: 128}, &layers.Dense{Units: 10}}},
	}
}

// speeds times everything on a device. The first step is timed first, while nothing is compiled.
func speeds(t testing.TB, b kernels.Backend, device string, steps, size int, models []timedModel) []row {
	const batch = 64
	d, err := kernels.ParseDevice(device)
	require.NoError(t, err)
	begin := time.Now()
	stepTime(t, device, 1, batch, []int{784}, workloads()[0].network, &optimizers.Adam{})
	rows := []row{{"start to the end of four steps of the MLP", device, milliseconds(time.Since(begin)), 0, ""}}
	for _, w := range workloads() {
		each := stepTime(t, device, steps, batch, w.shape, w.network, &optimizers.Adam{})
		rows = append(rows, row{w.name, device, milliseconds(each), batch / each.Seconds(), "examples"})
	}
	for i, name := range []string{"MLP 784-512-512-10", "MNIST CNN"} {
		each := predictTime(t, device, workloads()[i].network, steps)
		rows = append(rows, row{name + ", predict one example", device, milliseconds(each), 1 / each.Seconds(), "examples"})
	}
	for _, m := range models {
		rows = append(rows, m.row(t, b, device, max(4, steps/10)))
	}
	each := productTime(t, b, d, size, 20)
	return append(rows, row{fmt.Sprintf("square bfloat16 product of %d", size), device, milliseconds(each), 2 * float64(size) * float64(size) * float64(size) / each.Seconds() / 1e12, "TFLOP"})
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// TestHardwareSpeed writes gpu.md and gpu.json into the folder that GOKERAS_GPU names.
func TestHardwareSpeed(t *testing.T) {
	hardware(t)
	all, err := GPUs()
	require.NoError(t, err)
	rows := speeds(t, own, "cuda:0", 200, 8192, largeModels())
	var table strings.Builder
	fmt.Fprintf(&table, "%v\n\n| workload | device | ms | rate |\n|---|---|---|---|\n", all[0])
	for _, r := range rows {
		rate := ""
		if r.Of != "" {
			rate = fmt.Sprintf("%.0f %ss a second", r.Rate, strings.TrimSuffix(r.Of, "s"))
		}
		fmt.Fprintf(&table, "| %s | %s | %.3f | %s |\n", r.Workload, r.Device, r.Milliseconds, rate)
	}
	folder := os.Getenv("GOKERAS_GPU")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gpu.md"), []byte(table.String()), 0o644))
	text, err := json.MarshalIndent(map[string]any{"gpu": all[0], "rows": rows}, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gpu.json"), append(text, '\n'), 0o644))
	t.Log("\n" + table.String())
}

// What times a GPU works; the times are those of a device that does nothing.
func TestSpeedRows(t *testing.T) {
	counter()
	b, err := kernels.Lookup("countcuda")
	require.NoError(t, err)
	small := []timedModel{
		{"ResNet-20", func(t testing.TB, s distribute.Strategy) *ir.Program {
			return trainingProgram(t, resnet20(t, s, "mixed_bfloat16"), zeros(ir.Float32, 2, 32, 32, 3), zeros(ir.Int32, 2))
		}, 2, 1, "images"},
		{"GPT-2", func(t testing.TB, s distribute.Strategy) *ir.Program {
			return trainingProgram(t, gpt2(t, s, "mixed_bfloat16", 1, 2, 16, 32, 16), zeros(ir.Int32, 1, 16), zeros(ir.Int32, 1, 16))
		}, 1, 16, "tokens"},
	}
	rows := speeds(t, b, "countcuda:0", 3, 256, small)
	assert.Len(t, rows, 9)
	for _, r := range rows {
		assert.Positive(t, r.Milliseconds, r.Workload)
	}
}
