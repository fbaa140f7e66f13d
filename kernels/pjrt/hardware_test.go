//go:build linux

package pjrt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// hardware is the kind of the devices that tests for a TPU run on; it skips them where nobody asked for that. With
// GOKERAS_TPU_KIND=xla they can be tried out on another plugin, which GOKERAS_PJRT_PLUGIN names.
func hardware(t *testing.T) string {
	if os.Getenv("GOKERAS_TPU") == "" {
		t.Skip("GOKERAS_TPU is not set: the test is for a machine with a TPU (make tpu)")
	}
	kind := os.Getenv("GOKERAS_TPU_KIND")
	if kind == "" {
		kind = tpu.Kind
	}
	b, err := kernels.Lookup(kind)
	require.NoError(t, err)
	require.NoError(t, b.Open(kernels.Device{Kind: kind}), "GOKERAS_TPU asks for a TPU")
	return kind
}

// The suite, on a TPU's first core.
func TestHardwareConformance(t *testing.T) {
	kind := hardware(t)
	b, err := kernels.Lookup(kind)
	require.NoError(t, err)
	kernelstest.Run(t, b, kernels.Device{Kind: kind})
}

// Training on one core comes to the weights of the CPU, and again to the same bits.
func TestHardwareTraining(t *testing.T) {
	device := kernels.Device{Kind: hardware(t)}.String()
	want, _ := trained(t, "cpu:0")
	got, _ := trained(t, device)
	sameWeights(t, want, got, 2e-4)
	again, _ := trained(t, device)
	sameWeights(t, got, again, 0)
}

// Replicas on all cores of the TPU come to the weights of one on the CPU, and so does a model that is divided over them
// by layouts.
func TestHardwareStrategies(t *testing.T) {
	kind := hardware(t)
	one, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	run := func(s distribute.Strategy) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Conv2D{Filters: 8, KernelSize: []int{3}, Activation: "relu"}, &layers.BatchNormalization{Synchronized: true}, &layers.Flatten{},
			&layers.Dense{Name: "wide", Units: 64, Activation: "gelu"}, &layers.Dense{Units: 3},
		}, keras.InputShape(8, 8, 1), distribute.Scope(s), keras.Seed(3))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
		x, y := digits()
		_, err = m.Fit(t.Context(), data.Arrays(x, y), keras.Epochs(2), keras.BatchSize(10))
		require.NoError(t, err)
		return m
	}
	want := run(one)
	topology, err := tpu.InitializeSystem(t.Context(), tpu.SystemOptions{DeviceKind: kind})
	require.NoError(t, err)
	t.Logf("the TPU is a %v", topology)
	s, err := tpu.NewStrategy(t.Context(), tpu.Options{Topology: topology})
	require.NoError(t, err)
	sameWeights(t, want, run(s), 2e-3)
	devices := distribution.ListDevices(kind)
	mesh, err := distribution.NewDeviceMesh([]int{1, len(devices)}, []string{"batch", "model"}, devices...)
	require.NoError(t, err)
	layouts := distribution.NewLayoutMap(mesh)
	require.NoError(t, layouts.Set("wide/kernel", "", "model"))
	d, err := distribution.NewModelParallel(layouts, "batch")
	require.NoError(t, err)
	sameWeights(t, want, run(d), 2e-3)
}

// A table of the time of steps, in GOKERAS_TPU.
func TestHardwareSpeed(t *testing.T) {
	kind := hardware(t)
	var table strings.Builder
	fmt.Fprintln(&table, "| network | batch | steps per execution | ms per step |\n|---|---|---|---|")
	for _, each := range []int{1, 10, 100} {
		topology, err := tpu.InitializeSystem(t.Context(), tpu.SystemOptions{DeviceKind: kind})
		require.NoError(t, err)
		s, err := tpu.NewStrategy(t.Context(), tpu.Options{Topology: topology})
		require.NoError(t, err)
		batch := 16 * s.NumReplicasInSync()
		m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1024, Activation: "relu"}, &layers.Dense{Units: 1024, Activation: "relu"}, &layers.Dense{Units: 16}}, keras.InputShape(256), distribute.Scope(s))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, StepsPerExecution: each}))
		x, y := make([][]float32, 100*batch), make([]int32, 100*batch)
		for i := range x {
			x[i] = make([]float32, 256)
			x[i][i%256], y[i] = 1, int32(i%16)
		}
		source := data.Arrays(x, y)
		best := time.Hour
		for range 4 { // the first one compiles
			begin := time.Now()
			_, err := m.Fit(t.Context(), source, keras.BatchSize(batch), keras.Shuffle(false))
			require.NoError(t, err)
			best = min(best, time.Since(begin))
		}
		fmt.Fprintf(&table, "| perceptron 256-1024-1024-16 | %d | %d | %.3f |\n", batch, each, float64(best.Microseconds())/1000/100)
	}
	b, err := kernels.Lookup(kind)
	require.NoError(t, err)
	info, err := b.(*pjrt.Backend).Info()
	require.NoError(t, err)
	text := fmt.Sprintf("%s of %s, interface %s\n\n%s", info.Version, info.Path, info.Interface, &table)
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("GOKERAS_TPU"), "tpu.md"), []byte(text), 0o600))
}
