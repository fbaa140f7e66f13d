//go:build unix

package distribute_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// processorTime is the time that all threads of the process have computed. On a machine that is shared it says more
// than the clock.
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
	h := layers.Invoke(b.Norm1, c, x)
	x = ops.Add(x, layers.Invoke(b.Attention, c, h, h))
	return ops.Add(x, layers.Invoke(b.Narrow, c, layers.Invoke(b.Wide, c, layers.Invoke(b.Norm2, c, x))))
}

// gpt is a small language model: 400,000 weights, 64 tokens of context.
type gpt struct {
	Tokens *layers.Embedding
	Blocks []*block
	Out    *layers.Dense
}

func (m *gpt) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	x = layers.Invoke(m.Tokens, c, x)
	for _, b := range m.Blocks {
		x = b.call(c, x)
	}
	return layers.Invoke(m.Out, c, x)
}

// BenchmarkReplicaOverheadOfModels compares the processor time of steps on two replicas with that of twice as many on
// one, in turn, with the same number of examples for each replica and one processor for each. Two trainings that know
// nothing of each other take longer than two in turn when they run side by side, since they share memory and caches and
// since the second processor may be slower: a second process that trains one replica reports how much. The metrics are
// medians: the time of a step of one replica alone; in percent, what a neighbour adds to it, what the second replica
// adds to it, and what two replicas take more than two neighbours, which is what the strategy itself costs.
func BenchmarkReplicaOverheadOfModels(b *testing.B) {
	for _, name := range []string{"mlp", "cnn", "gpt"} {
		b.Run(name, func(b *testing.B) {
			n := examplesPerReplica[name]
			one, two := trainer(b, name, distribute.Default(), n), trainer(b, name, mirrored(b, 2), 2*n)
			timeOf(b, one, 4, 1)
			timeOf(b, two, 4, 2)
			neighbour := startNeighbour(b, name)
			var alone, beside, added, strategy []float64
			for b.Loop() {
				before := timeOf(b, one, neighbourSteps, 1)
				double := timeOf(b, two, neighbourSteps, 2)
				collect := neighbour()
				crowded := timeOf(b, one, neighbourSteps, 1) + collect()
				after := timeOf(b, one, neighbourSteps, 1)
				single := before + after
				alone = append(alone, single/2/neighbourSteps)
				beside = append(beside, 100*(crowded/single-1))
				added = append(added, 100*(double/single-1))
				strategy = append(strategy, 100*(double/crowded-1))
			}
			b.ReportMetric(median(alone)/1e6, "ms/step")
			b.ReportMetric(median(beside), "%neighbour")
			b.ReportMetric(median(added), "%second-replica")
			b.ReportMetric(median(strategy), "%strategy")
		})
	}
}

// examplesPerReplica is the number of examples that a replica has of each batch.
var examplesPerReplica = map[string]int{"mlp": 128, "cnn": 32, "gpt": 8}

// trainer returns a function that trains one step.
func trainer(t testing.TB, name string, s distribute.Strategy, batch int) func() {
	m, source := benchmarkModel(t, name, s, batch)
	return func() {
		_, err := m.TrainOnBatch(t.Context(), source)
		require.NoError(t, err)
	}
}

// timeOf returns the processor time, in nanoseconds, of some steps on a number of processors.
func timeOf(t testing.TB, step func(), times, processors int) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	begin := processorTime(t)
	for range times {
		step()
	}
	return float64(processorTime(t) - begin)
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

const (
	neighbourModel = "GOKERAS_TEST_NEIGHBOUR" // names, in the environment, the model that a process trains as another's neighbour
	neighbourSteps = 4                        // that it makes when it is told to
)

// startNeighbour starts a process that trains the model on one processor. The result tells it to make its steps, and
// returns what waits for them and returns their processor time in nanoseconds.
func startNeighbour(t testing.TB, name string) func() func() float64 {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^TestNeighbour$")
	c.Env = append(os.Environ(), neighbourModel+"="+name, "GOMAXPROCS=1")
	orders, err := c.StdinPipe()
	require.NoError(t, err)
	answers, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = orders.Close()
		_ = c.Wait()
	})
	collect := func() (took float64) {
		_, err := fmt.Fscanln(answers, &took)
		require.NoError(t, err, "the neighbour answers")
		return took
	}
	order := func() func() float64 {
		_, err := fmt.Fprintln(orders, "train")
		require.NoError(t, err)
		return collect
	}
	order()()
	return order
}

// TestNeighbour is the process that startNeighbour starts: it trains whenever it is told to.
func TestNeighbour(t *testing.T) {
	name := os.Getenv(neighbourModel)
	if name == "" {
		t.Skip("runs as the neighbour of a benchmark")
	}
	step := trainer(t, name, distribute.Default(), examplesPerReplica[name])
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		fmt.Println(timeOf(t, step, neighbourSteps, 1))
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
		return m, data.Arrays(data.Must(data.ArrayOf(tokens, batch, size)), data.Must(data.ArrayOf(slices.Clone(tokens), batch, size)))
	}
	for i := range y {
		y[i] = int32(i % classes)
	}
	return m, data.Arrays(data.Must(data.ArrayOf(x, append([]int{batch}, shape...)...)), data.Must(data.ArrayOf(y, labels...)))
}
