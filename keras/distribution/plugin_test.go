//go:build linux

package distribution_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// Models whose variables are divided over 4 devices have the losses, scores and weights of Keras's ModelParallel on 8.
// (The keys of the recorded layout maps match no path of Keras's model, whose variables stayed whole; the numbers are
// the same.)
func TestModelParallelIsKeras(t *testing.T) { modelParallelIsKeras(t, pluginDevices(t)) }

// With layouts for the results of layers, XLA computes the losses and weights of Keras.
func TestDistributeTensorIsKeras(t *testing.T) { distributeTensorIsKeras(t, pluginDevices(t)) }

// Random networks with random layouts of their variables train as on one device, on meshes of several shapes.
func TestRandomNetworksOnPlugin(t *testing.T) {
	networks := uint64(12)
	if testing.Short() {
		networks = 3
	}
	randomNetworksInParts(t, pluginDevices(t), networks)
}

// A depthwise convolution after another one, whose gradients XLA divides, trains as on one device, with a stride and
// with padding.
func TestDepthwiseOnPlugin(t *testing.T) {
	mesh, err := distribution.NewDeviceMesh([]int{2, 2}, []string{"batch", "model"}, pluginDevices(t)...)
	require.NoError(t, err)
	d, err := distribution.NewModelParallel(distribution.NewLayoutMap(mesh), "batch")
	require.NoError(t, err)
	cpu, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 5))
	x := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{8, 6, 6, 4}})
	for i := range x.Data {
		if i%4 == 3 {
			binary.LittleEndian.PutUint32(x.Data[i-3:], math.Float32bits(float32(rng.NormFloat64())))
		}
	}
	train := func(s distribute.Strategy) *keras.Model {
		m, err := keras.NewSequential([]layers.Layer{
			&layers.Conv2D{Filters: 4, KernelSize: []int{3}, Padding: "same"}, &layers.DepthwiseConv2D{KernelSize: []int{3}, Padding: "same", DepthMultiplier: 2},
			&layers.Conv2D{Filters: 6, KernelSize: []int{3}, Strides: []int{2}, Groups: 2}, &layers.Flatten{}, &layers.Dense{Units: 4},
		}, keras.InputShape(6, 6, 4), distribute.Scope(s), keras.Seed(1))
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: &optimizers.SGD{LearningRate: 0.1}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
		_, err = m.Fit(t.Context(), data.Arrays(x, make([]int32, 8)), keras.BatchSize(8), keras.Epochs(3))
		require.NoError(t, err)
		return m
	}
	sameWeights(t, train(cpu), train(d), 1e-5)
}

var xla = sync.OnceFunc(func() {
	kernels.Register(pjrt.New("xla4", os.Getenv("GOKERAS_PJRT_CPU"), pjrt.Option{Name: "cpu_device_count", Value: int64(4)}))
})

// pluginDevices returns 4 devices of the plugin for CPUs. Without the plugin the test is skipped.
func pluginDevices(t *testing.T) []string {
	if os.Getenv("GOKERAS_PJRT_CPU") == "" {
		t.Skip("GOKERAS_PJRT_CPU does not name a PJRT plugin for CPUs (the library in the Python package lammps-jax-pjrt-cpu is one)")
	}
	xla()
	return distribution.ListDevices("xla4")
}
