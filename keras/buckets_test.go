package keras_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// rowNetworks are stacks for examples of a shape. Those in dependent mix the examples of a batch.
func rowNetworks() (independent, dependent map[string]rowNetwork) {
	independent = map[string]rowNetwork{
		"dense": {[]int{37}, func() []layers.Layer {
			return []layers.Layer{&layers.Dense{Units: 64, Activation: "relu"}, &layers.Dropout{Rate: 0.5}, &layers.Dense{Units: 10, Activation: "softmax"}}
		}},
		"wide": {[]int{300}, func() []layers.Layer {
			return []layers.Layer{&layers.Dense{Units: 512, Activation: "gelu"}, &layers.LayerNormalization{}, &layers.Dense{Units: 100}}
		}},
		"conv": {[]int{13, 13, 3}, func() []layers.Layer {
			return []layers.Layer{&layers.Conv2D{Filters: 16, KernelSize: []int{3}, Activation: "relu"}, &layers.BatchNormalization{}, &layers.MaxPooling2D{},
				&layers.DepthwiseConv2D{KernelSize: []int{3}}, &layers.GlobalAveragePooling2D{}, &layers.Dense{Units: 10}}
		}},
		"upward": {[]int{6, 6, 3}, func() []layers.Layer {
			return []layers.Layer{&layers.Conv2DTranspose{Filters: 4, KernelSize: []int{3}, Strides: []int{2}}, &layers.UpSampling2D{}, &layers.AveragePooling2D{PoolSize: []int{2}, Padding: "same"}, &layers.Flatten{}}
		}},
		"recurrent": {[]int{9, 12}, func() []layers.Layer {
			return []layers.Layer{&layers.LSTM{Units: 20, ReturnSequences: true}, &layers.GRU{Units: 16}, &layers.Dense{Units: 3}}
		}},
		"recurrent of few steps": {[]int{6, 48}, func() []layers.Layer { return []layers.Layer{&layers.LSTM{Units: 64}} }},
		"recurrent of wide steps": {[]int{9, 80}, func() []layers.Layer {
			return []layers.Layer{&layers.LSTM{Units: 64}, &layers.Dense{Units: 3}}
		}},
		"sequence": {[]int{9, 16}, func() []layers.Layer {
			return []layers.Layer{&layers.Conv1D{Filters: 16, KernelSize: []int{3}, Padding: "same"}, &layers.GroupNormalization{Groups: 4},
				&layers.TimeDistributed{Layer: &layers.Dense{Units: 5}}, &layers.Reshape{TargetShape: []int{-1}}}
		}},
	}
	lambda := func(f func(x *ops.Tensor) *ops.Tensor) func() []layers.Layer {
		return func() []layers.Layer { return []layers.Layer{&layers.Dense{Units: 4}, &layers.Lambda{Function: f}} }
	}
	dependent = map[string]rowNetwork{
		"mean of the batch": {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.Subtract(x, ops.Mean(x, 0)) })},
		"sort":              {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.Sort(x, 0) })},
		"flip":              {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.Flip(x, 0) })},
		"position":          {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.Add(x, ops.Iota(x, x.DType(), 0, x.Dim(0), 1)) })},
		"size":              {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.DivideByLength(x, x.Dim(0)) })},
		"number":            {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.MultiplyScalar(x, float64(x.Dim(0))) })},
		"roll":              {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.Roll(x, 1, 0) })},
		"running sum":       {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.Cumsum(x, 0) })},
		"pairs": {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor {
			return ops.Matmul(ops.Softmax(ops.Matmul(x, ops.Transpose(x)), -1), x)
		})},
		"moments": {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor {
			y, _, _ := ops.BatchNormalization(x, ops.Ones(x, x.DType(), 4), ops.Zeros(x, x.DType(), 4), 1e-3)
			return y
		})},
		"first": {[]int{5}, lambda(func(x *ops.Tensor) *ops.Tensor { return ops.Multiply(x, ops.Index(x, 0, 0)) })},
		"mixed axes": {[]int{6}, lambda(func(x *ops.Tensor) *ops.Tensor {
			return ops.Reshape(ops.Transpose(ops.Reshape(x, 2, -1, 4), 1, 0, 2), -1, 4)
		})},
	}
	return independent, dependent
}

type rowNetwork struct {
	shape  []int
	layers func() []layers.Layer
}

// model returns a fresh model of the network, equal to all others.
func (n rowNetwork) model(t testing.TB) *keras.Model {
	m, err := keras.NewSequential(n.layers(), keras.InputShape(n.shape...), keras.Seed(3))
	require.NoError(t, err)
	return m
}

func (n rowNetwork) rows(count int) data.Array {
	row := 1
	for _, d := range n.shape {
		row *= d
	}
	r := rand.New(rand.NewPCG(uint64(count), 2))
	x := make([]float32, count*row)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return data.Must(data.ArrayOf(x, append([]int{count}, n.shape...)...))
}

// Padded batches have the bits of a program for their own size, and models that mix examples are not padded.
func TestPredictionsOfManySizes(t *testing.T) {
	independent, dependent := rowNetworks()
	for name, n := range independent {
		t.Run(name, func(t *testing.T) { n.compare(t, true) })
	}
	for name, n := range dependent {
		t.Run(name, func(t *testing.T) { n.compare(t, false) })
	}
}

func (n rowNetwork) compare(t *testing.T, shared bool) {
	sizes := []int{2, 20, 1, 7, 8, 9, 15, 16, 17, 30, 31, 32, 33, 50, 63, 64, 65, 100, 127, 128, 129, 200}
	if !shared {
		sizes = []int{2, 20, 8, 10, 14}
	}
	many := n.model(t)
	require.NoError(t, many.Build(append([]int{layers.Unknown}, n.shape...)))
	require.Equal(t, shared, keras.SharesPrograms(many))
	for _, size := range sizes {
		x := n.rows(size)
		got, err := many.PredictOnBatch(context.Background(), data.Arrays(x, nil))
		require.NoError(t, err)
		alone, err := n.model(t).PredictOnBatch(context.Background(), data.Arrays(x, nil))
		require.NoError(t, err)
		require.Equal(t, alone.Shape(), got.Shape())
		a, b := alone.Elements().([]float32), got.Elements().([]float32)
		for i := range a {
			require.Equal(t, math.Float32bits(a[i]), math.Float32bits(b[i]), "size %d, element %d", size, i)
		}
	}
	if shared {
		require.LessOrEqual(t, keras.PredictPrograms(many), 10, "2, 1 and 7, and 8 to 256")
	}
}

// Every size from 1 to 300 has the bits of its own program, with few programs.
func TestPredictionsOfAllSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles 300 programs to compare with; run without -short")
	}
	n := rowNetwork{[]int{8}, func() []layers.Layer {
		return []layers.Layer{&layers.Dense{Units: 24, Activation: "relu"}, &layers.Dense{Units: 3}}
	}}
	many := n.model(t)
	for size := 1; size <= 300; size++ {
		x := n.rows(size)
		got, err := many.PredictOnBatch(context.Background(), data.Arrays(x, nil))
		require.NoError(t, err)
		alone, err := n.model(t).PredictOnBatch(context.Background(), data.Arrays(x, nil))
		require.NoError(t, err)
		require.Equal(t, alone.Elements(), got.Elements(), "size %d", size)
	}
	require.LessOrEqual(t, keras.PredictPrograms(many), 16)
}

// Two devices split a batch; their programs are exact.
func TestReplicasPredictExactly(t *testing.T) {
	s, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	require.NoError(t, err)
	m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}}, keras.InputShape(4), distribute.Scope(s))
	require.NoError(t, err)
	n := rowNetwork{shape: []int{4}}
	for _, size := range []int{9, 11, 13} {
		y, err := m.PredictOnBatch(context.Background(), data.Arrays(n.rows(size), nil))
		require.NoError(t, err)
		require.Equal(t, size, y.Shape()[0])
	}
}

// BenchmarkPredictOnBatchSizes predicts with one batch size and with 1 to 300, from one goroutine and from 64.
func BenchmarkPredictOnBatchSizes(b *testing.B) {
	n := rowNetwork{[]int{784}, func() []layers.Layer {
		return []layers.Layer{&layers.Dense{Units: 512, Activation: "relu"}, &layers.Dense{Units: 256, Activation: "relu"}, &layers.Dense{Units: 10, Activation: "softmax"}}
	}}
	for _, goroutines := range []int{1, 64} {
		for _, many := range []bool{false, true} {
			b.Run(fmt.Sprintf("goroutines=%d/many=%v", goroutines, many), func(b *testing.B) {
				m := n.model(b)
				sources := make([]*data.ArraySource, 300)
				for i := range sources {
					size := 150
					if many {
						size = (i*7)%300 + 1
					}
					sources[i] = data.Arrays(n.rows(size), nil)
				}
				predict := func(i int) {
					if _, err := m.PredictOnBatch(context.Background(), sources[i%len(sources)]); err != nil {
						b.Error(err)
					}
				}
				for i := range sources {
					predict(i)
				}
				runtime.GC()
				b.ResetTimer()
				before := processorTime()
				var wait sync.WaitGroup
				for g := range goroutines {
					wait.Go(func() {
						for i := g; i < b.N; i += goroutines {
							predict(i)
						}
					})
				}
				wait.Wait()
				b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
				b.ReportMetric(residentMB(), "MB-resident")
			})
		}
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func residentMB() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int
	_, _ = fmt.Sscan(string(text), &size, &resident)
	return float64(resident*os.Getpagesize()) / (1 << 20)
}
