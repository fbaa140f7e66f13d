//go:build unix

package distribute_test

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// processorTime is the time that all threads of the process have computed. On a machine that is shared it says more than the clock.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// block is a transformer's: attention and two dense layers, each with a residual connection.
type block struct {
	Attention    *layers.MultiHeadAttention
	Norm1, Norm2 *layers.LayerNormalization
	Wide, Narrow *layers.Dense
}

func newBlock() *block {
	return &block{&layers.MultiHeadAttention{NumHeads: 4, KeyDim: 32, UseCausalMask: true}, &layers.LayerNormalization{}, &layers.LayerNormalization{},
		&layers.Dense{Units: 512, Activation: "gelu"}, &layers.Dense{Units: 128}}
}

func (b *block) call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	h := b.Norm1.Call(c, x)
	x = ops.Add(x, b.Attention.Call(c, h, h))
	return ops.Add(x, b.Narrow.Call(c, b.Wide.Call(c, b.Norm2.Call(c, x))))
}

// gpt is a small language model: 400,000 weights, 64 tokens of context.
type gpt struct {
	Tokens *layers.Embedding
	Blocks []*block
	Out    *layers.Dense
}

func (m *gpt) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	x = m.Tokens.Call(c, x)
	for _, b := range m.Blocks {
		x = b.call(c, x)
	}
	return m.Out.Call(c, x)
}

// BenchmarkReplicaOverheadOfModels compares the processor time of steps on two replicas with that of twice as many on one, in turn, with the
// same number of examples for each replica and one processor for each. The metrics are the median and the first quarter of the differences, in percent.
func BenchmarkReplicaOverheadOfModels(b *testing.B) {
	perReplica := map[string]int{"mlp": 128, "cnn": 32, "gpt": 8}
	for _, name := range []string{"mlp", "cnn", "gpt"} {
		b.Run(name, func(b *testing.B) {
			step := func(s distribute.Strategy, batch int) func() {
				m, source := benchmarkModel(b, name, s, batch)
				return func() {
					_, err := m.TrainOnBatch(b.Context(), source)
					require.NoError(b, err)
				}
			}
			n := perReplica[name]
			one, two := step(distribute.Default(), n), step(mirrored(b, 2), 2*n)
			measure := func(f func(), times, processors int) float64 {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				begin := processorTime(b)
				for range times {
					f()
				}
				return float64(processorTime(b) - begin)
			}
			measure(one, 4, 1)
			measure(two, 4, 2)
			var single, differences []float64
			for b.Loop() {
				before, double, after := measure(one, 2, 1), measure(two, 2, 2), measure(one, 2, 1)
				single = append(single, before, after)
				differences = append(differences, 100*(double/(before+after)-1))
			}
			slices.Sort(single)
			slices.Sort(differences)
			n = len(differences)
			b.ReportMetric(differences[n/2], "%overhead(median)")
			b.ReportMetric(differences[n/4], "%overhead(quarter)")
			b.ReportMetric(single[n]/2e6, "ms/step")
		})
	}
}

// benchmarkModel returns a compiled model and a batch for it.
func benchmarkModel(t testing.TB, name string, s distribute.Strategy, batch int) (*keras.Model, *data.ArraySource) {
	t.Helper()
	var m *keras.Model
	var err error
	shape, classes := []int{784}, 10
	switch name {
	case "mlp":
		m, err = keras.NewSequential([]layers.Layer{&layers.Dense{Units: 512, Activation: "relu"}, &layers.Dense{Units: 512, Activation: "relu"}, &layers.Dense{Units: 10}},
			distribute.Scope(s), keras.InputShape(784))
	case "cnn":
		shape = []int{28, 28, 1}
		m, err = keras.NewSequential([]layers.Layer{&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"}, &layers.MaxPooling2D{},
			&layers.Conv2D{Filters: 64, KernelSize: []int{3}, Activation: "relu"}, &layers.MaxPooling2D{}, &layers.Flatten{}, &layers.Dense{Units: 64, Activation: "relu"},
			&layers.Dense{Units: 10}}, distribute.Scope(s), keras.InputShape(shape...))
	case "gpt":
		shape, classes = []int{64}, 256
		m, err = keras.NewModel(&gpt{&layers.Embedding{InputDim: 256, OutputDim: 128}, []*block{newBlock(), newBlock()}, &layers.Dense{Units: 256}}, distribute.Scope(s))
	}
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
	size := 1
	for _, d := range shape {
		size *= d
	}
	x, y := make([]float32, batch*size), make([]int32, batch)
	for i := range x {
		x[i] = float32(i*7%256) / 256
	}
	labels := []int{batch}
	if name == "gpt" {
		tokens := make([]int32, batch*size)
		for i := range tokens {
			tokens[i] = int32(i * 31 % 256)
		}
		return m, data.Arrays(tensor.New(tensor.WithShape(batch, size), tensor.WithBacking(tokens)), tensor.New(tensor.WithShape(batch, size), tensor.WithBacking(slices.Clone(tokens))))
	}
	for i := range y {
		y[i] = int32(i % classes)
	}
	return m, data.Arrays(tensor.New(tensor.WithShape(append([]int{batch}, shape...)...), tensor.WithBacking(x)), tensor.New(tensor.WithShape(labels...), tensor.WithBacking(y)))
}
