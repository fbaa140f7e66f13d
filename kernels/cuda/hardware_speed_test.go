//go:build linux

package cuda

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
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

// stepTime trains on random examples and returns the time of a step, in the fastest of a few epochs. Where profile is a
// name, it profiles a few steps more.
func stepTime(t testing.TB, device, profile string, steps, batch int, shape []int, network []layers.Layer, optimizer any) time.Duration {
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
	examples := data.Arrays(x, y)
	best := time.Hour
	for range 4 {
		begin := time.Now()
		_, err := model.Fit(t.Context(), examples, keras.BatchSize(batch))
		require.NoError(t, err)
		best = min(best, time.Since(begin)/time.Duration(steps))
	}
	if profile != "" {
		p := &callbacks.Profile{Steps: 3, Output: io.Discard}
		_, err := model.Fit(t.Context(), examples, keras.BatchSize(batch), keras.Callbacks(p))
		require.NoError(t, err)
		keepProfile(t, profile, p.Table)
	}
	return best
}

// keepProfile writes the profile of a workload beside the times, where these are written.
func keepProfile(t testing.TB, name string, table callbacks.ProfileTable) {
	folder := os.Getenv("GOKERAS_GPU")
	if folder == "" {
		return
	}
	var text strings.Builder
	require.NoError(t, table[:min(len(table), 150)].Write(&text))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "profile-"+slug(name)+".txt"), []byte(text.String()), 0o644))
}

// slug is a name for files and tests.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	return strings.Join(words[:min(len(words), 4)], "-")
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

// squareProduct is a product of matrices of bfloat16.
func squareProduct(t testing.TB, n int) *ir.Program {
	p := ir.New("product")
	typ := ir.Type{DType: ir.BFloat16, Shape: ir.Shape{n, n}}
	y, err := p.Add("product", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, p.AddInput("x", typ), p.AddInput("w", typ))
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	return p
}

// convolution3x3 is a convolution of bfloat16, of so many images of 28 by 28 with as many channels before as after.
func convolution3x3(t testing.TB, images, channels int) *ir.Program {
	p := ir.New("convolution")
	one := []int{1, 1}
	x, w := ir.Type{DType: ir.BFloat16, Shape: ir.Shape{images, 28, 28, channels}}, ir.Type{DType: ir.BFloat16, Shape: ir.Shape{3, 3, channels, channels}}
	y, err := p.Add("convolution", ir.Conv, ir.ConvAttrs{Strides: one, Dilation: one, PadLow: one, PadHigh: one, Groups: 1}, p.AddInput("x", x), p.AddInput("w", w))
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	return p
}

// programTime returns the time of a product or a convolution, one of several in a row, by our own kernel or by a
// library.
func programTime(t testing.TB, b kernels.Backend, d kernels.Device, p *ir.Program, rounds int, library string) time.Duration {
	own := b.(*backend)
	before := own.pickLibrary
	own.pickLibrary = func(lower.Question) string { return library }
	defer func() { own.pickLibrary = before }()
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
	for i, typ := range []ir.Type{p.Type(p.Inputs[0].Value), p.Type(p.Inputs[1].Value), p.Type(p.Outputs[0].Value)} {
		buffers[i], err = b.NewBuffer(d, typ)
		require.NoError(t, err)
		defer buffers[i].Free()
		fill(t, buffers[i]) // not zeros, which take less power
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

// tableRow is a row of the table, not measured yet.
type tableRow struct {
	name    string // of the test
	measure func(t testing.TB) row
}

// timings are all rows.
func timings(b kernels.Backend, d kernels.Device, steps, size int, models []timedModel) []tableRow {
	const batch = 64
	device := d.String()
	start := func(name string) tableRow {
		return tableRow{name, func(t testing.TB) row {
			begin := time.Now()
			stepTime(t, device, "", 1, batch, []int{784}, workloads()[0].network, &optimizers.Adam{})
			return row{name + " to the end of four steps of the MLP", device, milliseconds(time.Since(begin)), 0, ""}
		}}
	}
	// Whether kernels are kept from before is up to who runs the tests.
	all := []tableRow{start("start, nothing cached,"), start("start, kernels cached,")}
	for _, w := range workloads() {
		all = append(all, tableRow{w.name, func(t testing.TB) row {
			each := stepTime(t, device, w.name, steps, batch, w.shape, w.network, &optimizers.Adam{})
			return row{w.name, device, milliseconds(each), batch / each.Seconds(), "examples"}
		}})
	}
	for i, name := range []string{"predict one example, MLP 784-512-512-10", "predict one example, MNIST CNN"} {
		all = append(all, tableRow{name, func(t testing.TB) row {
			each := predictTime(t, device, workloads()[i].network, steps)
			return row{name, device, milliseconds(each), 1 / each.Seconds(), "examples"}
		}})
	}
	by := func(name, full string, p func(t testing.TB) *ir.Program, operations float64, library string) tableRow {
		return tableRow{name, func(t testing.TB) row {
			opened, err := b.(*backend).device(d)
			require.NoError(t, err)
			each := programTime(t, b, d, p(t), 20, library)
			if own := b.(*backend); own.findBLAS != nil && library == lower.BLAS {
				require.True(t, opened.blas.used(), "%v", opened.blas.err)
			} else if own.findDNN != nil && library == lower.DNN {
				require.True(t, opened.dnn.used(), "%v", opened.dnn.err)
			}
			return row{full, device, milliseconds(each), operations / each.Seconds() / 1e12, "TFLOP"}
		}}
	}
	square := func(t testing.TB) *ir.Program { return squareProduct(t, size) }
	images, channels := max(size/64, 1), max(size/32, 8)
	convolve := func(t testing.TB) *ir.Program { return convolution3x3(t, images, channels) }
	cube, taps := 2*float64(size)*float64(size)*float64(size), 2*float64(images)*28*28*9*float64(channels)*float64(channels)
	full := fmt.Sprintf("convolution 3x3 of %d images of 28x28x%d", images, channels)
	all = append(all, by("square bfloat16 product", fmt.Sprintf("square bfloat16 product of %d", size), square, cube, ""),
		by("square bfloat16 product by cuBLASLt", fmt.Sprintf("square bfloat16 product of %d by cuBLASLt", size), square, cube, lower.BLAS),
		by("own bfloat16 convolution", full, convolve, taps, ""), by("bfloat16 convolution by cuDNN", full+" by cuDNN", convolve, taps, lower.DNN))
	for _, m := range models {
		all = append(all, tableRow{m.name, func(t testing.TB) row { return m.row(t, b, d, max(4, steps/10)) }})
	}
	return all
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// smallModels stand for the large ones where nothing is measured, with their names.
func smallModels() []timedModel {
	return []timedModel{
		{largeModels()[0].name, func(t testing.TB, s distribute.Strategy) *ir.Program {
			return trainingProgram(t, resnet20(t, s, "mixed_bfloat16"), zeros(ir.Float32, 2, 32, 32, 3), zeros(ir.Int32, 2))
		}, 2, 1, "images", 5},
		{largeModels()[1].name, func(t testing.TB, s distribute.Strategy) *ir.Program {
			return trainingProgram(t, gpt2(t, s, "mixed_bfloat16", 1, 2, 16, 32, 16), zeros(ir.Int32, 1, 16), zeros(ir.Int32, 1, 16))
		}, 1, 16, "tokens", 5},
	}
}

// TestHardwareSpeed has a test for each row, which writes row-NAME.json into the folder that GOKERAS_GPU names: each
// is run in a process of its own, so that one that fails costs no other.
func TestHardwareSpeed(t *testing.T) {
	b, d := hardware(t)
	rows := timings(b, d, 200, 8192, largeModels())
	if d.Kind != Kind {
		rows = timings(b, d, 3, 256, smallModels())
	}
	for i, timing := range rows {
		t.Run(slug(timing.name), func(t *testing.T) {
			r := timing.measure(t)
			text, err := json.Marshal(r)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("GOKERAS_GPU"), fmt.Sprintf("row-%02d.json", i)), append(text, '\n'), 0o644))
			t.Logf("%s: %.3f ms", r.Workload, r.Milliseconds)
		})
	}
}

// TestHardwareTable makes gpu.md and gpu.json of the rows that were measured, here and by PyTorch.
func TestHardwareTable(t *testing.T) {
	b, d := hardware(t)
	all, err := b.(*backend).gpus()
	require.NoError(t, err)
	folder := os.Getenv("GOKERAS_GPU")
	rows, err := collectRows(folder)
	require.NoError(t, err)
	var table strings.Builder
	fmt.Fprintf(&table, "%v\n\n| workload | ms | rate | PyTorch, ms | PyTorch's time / ours |\n|---|---|---|---|---|\n", all[d.Index])
	for _, r := range rows {
		rate, torch, times := "", "", ""
		if r.Of != "" {
			rate = fmt.Sprintf("%.0f %ss a second", r.Rate, strings.TrimSuffix(r.Of, "s"))
		}
		if r.Torch > 0 {
			torch, times = fmt.Sprintf("%.3f", r.Torch), fmt.Sprintf("%.2f", r.Torch/r.Milliseconds)
		}
		fmt.Fprintf(&table, "| %s | %.3f | %s | %s | %s |\n", r.Workload, r.Milliseconds, rate, torch, times)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gpu.md"), []byte(table.String()), 0o644))
	text, err := json.MarshalIndent(map[string]any{"gpu": all[d.Index], "rows": rows}, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gpu.json"), append(text, '\n'), 0o644))
}

// compared is a row with PyTorch's time.
type compared struct {
	row
	Torch float64 `json:"torch_milliseconds,omitempty"`
}

// collectRows reads the rows of a folder in order, with those of torch.json, if there is one.
func collectRows(folder string) ([]compared, error) {
	files, err := filepath.Glob(filepath.Join(folder, "row-*.json"))
	if err != nil {
		return nil, err
	}
	var torch struct{ Rows []row }
	if text, err := os.ReadFile(filepath.Join(folder, "torch.json")); err == nil {
		if err := json.Unmarshal(text, &torch); err != nil {
			return nil, err
		}
	}
	var all []compared
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r compared
		if err := json.Unmarshal(text, &r.row); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, other := range torch.Rows {
			if other.Workload == r.Workload {
				r.Torch = other.Milliseconds
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// What times a GPU works; the times are those of a device that does nothing. The rows are those that run.sh asks for,
// and become a table.
func TestSpeedRows(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("GOKERAS_GPU", folder)
	t.Setenv("GOKERAS_GPU_DEVICE", "countcuda:0")
	TestHardwareSpeed(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "torch.json"), []byte(`{"rows": [{"workload": "MNIST CNN, Adam, batch 64", "milliseconds": 1000}]}`), 0o644))
	TestHardwareTable(t)
	rows, err := collectRows(folder)
	require.NoError(t, err)
	assert.Len(t, rows, 13)
	for _, r := range rows {
		assert.Positive(t, r.Milliseconds, r.Workload)
	}
	assert.Equal(t, 1000.0, rows[3].Torch)
	table, err := os.ReadFile(filepath.Join(folder, "gpu.md"))
	require.NoError(t, err)
	assert.Contains(t, string(table), "| 1000.000 |")
	for _, profile := range []string{"mnist-cnn-adam-batch", "resnet-50-mixed-bfloat16"} {
		text, err := os.ReadFile(filepath.Join(folder, "profile-"+profile+".txt"))
		require.NoError(t, err)
		assert.Contains(t, string(text), "conv")
	}
	command, err := os.ReadFile("../../internal/gpu.sh")
	require.NoError(t, err)
	for _, timing := range timings(nil, kernels.Device{Kind: Kind}, 1, 1, largeModels()) {
		assert.Contains(t, strings.Fields(string(command)), slug(timing.name), "run.sh leaves out a row")
	}
}
