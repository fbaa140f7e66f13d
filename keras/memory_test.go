package keras

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// steadyCase is a way to train whose steady step must not allocate on the heap.
type steadyCase struct {
	name     string
	replicas int
	source   func(n int) data.Dataset
	options  []FitOption
	config   func(*CompileConfig)
}

func features(n, d int) [][]float32 {
	x := make([][]float32, n)
	for i := range x {
		x[i] = make([]float32, d)
		for j := range x[i] {
			x[i][j] = float32((i+j)%7) / 7
		}
	}
	return x
}

func labels(n int) []int {
	y := make([]int, n)
	for i := range y {
		y[i] = i % 3
	}
	return y
}

func inMemory(n int) data.Dataset { return data.Arrays(features(n, 6), labels(n)) }

// recycling yields the same memory again and again, like a dataset that reuses its batches.
type recycling struct {
	batch data.Batch
	n     int
}

func (r recycling) Batches(context.Context, int) iter.Seq2[data.Batch, error] {
	return func(yield func(data.Batch, error) bool) {
		for range r.n {
			if !yield(r.batch, nil) {
				return
			}
		}
	}
}

const steadyBatch = 8

func steadyCases() []steadyCase {
	all := []steadyCase{
		{name: "shuffled", source: inMemory},
		{name: "in order", source: inMemory, options: []FitOption{Shuffle(false)}},
		{name: "class weights", source: inMemory, options: []FitOption{ClassWeight(map[int]float64{1: 2})}},
		{name: "float64 data and weights", source: func(n int) data.Dataset {
			x := make([][]float64, n)
			for i := range x {
				x[i] = []float64{1, 2, 3, 4, 5, float64(i)}
			}
			return data.Arrays(x, labels(n), data.SampleWeight(make([]float64, n)))
		}},
		{name: "names", source: func(n int) data.Dataset {
			return data.Arrays(map[string]any{"input_layer": features(n, 6)}, map[string]any{"dense_1": labels(n)})
		}},
		{name: "dataset", source: func(n int) data.Dataset {
			return recycling{data.Arrays(features(steadyBatch, 6), labels(steadyBatch)).All(), n / steadyBatch}
		}},
		{name: "metrics, dropout, momentum", source: inMemory, config: func(c *CompileConfig) {
			c.Metrics, c.WeightedMetrics = []string{"accuracy"}, []string{"accuracy"}
			c.Optimizer = &optimizers.SGD{LearningRate: 0.01, Momentum: 0.9, Options: optimizers.Options{GlobalClipNorm: new(1.0), UseEMA: true}}
		}},
		{name: "steps of one's own", source: inMemory, config: func(c *CompileConfig) {
			c.Metrics = []string{"accuracy"}
			c.TrainStep, c.TestStep = ownTrainStep(&optimizers.SGD{Momentum: 0.9}), ownTestStep
		}},
	}
	for _, c := range all {
		for _, n := range []int{2, 3} {
			c.replicas = n
			c.name = fmt.Sprintf("%s, %d replicas", c.name, n)
			all = append(all, c)
			c.name = c.name[:len(c.name)-len(fmt.Sprintf(", %d replicas", n))]
		}
	}
	return all
}

// ownTrainStep has two optimizers, random numbers and a hand-written loss.
func ownTrainStep(second optimizers.Optimizer) StepFunc {
	return func(s *Step) StepLogs {
		x := ops.Add(s.X[0], ops.RandomNormal(s, ir.Float32, 0, 0.01, 1, s.X[0].Shape()...))
		yPred := s.Model().Call(s.Training(), x)
		loss, all := s.ComputeLoss(yPred), s.Model().TrainableVariables()
		first := ops.NewTape(s).Gradients(loss, all[:2])
		s.Minimize(second, ops.Add(loss, s.Mean(ops.Square(yPred))), all[2:])
		s.Apply(s.Optimizer(), first)
		logs := s.ComputeMetrics(yPred)
		logs["own"] = loss
		return logs
	}
}

func ownTestStep(s *Step) StepLogs {
	yPred := s.Model().Call(s.Inference(), s.X...)
	return StepLogs{"loss": s.ComputeLoss(yPred)}
}

// start returns a run of Fit that has trained on a few batches.
func (c steadyCase) start(t testing.TB, steps int) *trainer {
	t.Helper()
	devices := []string{"cpu:0", "cpu:1", "cpu:2"}[:max(c.replicas, 1)]
	strategy, err := distribute.NewMirroredStrategy(devices...)
	require.NoError(t, err)
	in := Input(Shape(6), InputName("input_layer"))
	h := layers.Apply(&layers.Dense{Units: 5, Activation: "relu", KernelRegularizer: "l2"}, in)
	h = layers.Apply(&layers.Dropout{Rate: 0.3}, layers.Apply(&layers.BatchNormalization{}, h))
	m, err := NewFunctional(Inputs(in), Outputs(layers.Apply(&layers.Dense{Units: 3}, h)), distribute.Scope(strategy))
	require.NoError(t, err)
	config := CompileConfig{Optimizer: &optimizers.Adam{}, Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}
	if c.config != nil {
		c.config(&config)
	}
	require.NoError(t, m.Compile(config))
	options := append([]FitOption{}, c.options...)
	ds := c.source((steps + 20) * steadyBatch)
	if _, ok := ds.(*data.ArraySource); ok {
		options = append(options, BatchSize(steadyBatch))
	}
	f, err := newFitConfig("Fit", options, FitOption.applyFit)
	require.NoError(t, err)
	tr, err := m.newTrainer(ds, f)
	require.NoError(t, err)
	t.Cleanup(tr.close)
	require.NoError(t, tr.peek(context.Background()))
	for range 10 {
		tr.oneStep(t)
	}
	return tr
}

func (t *trainer) oneStep(tb testing.TB) {
	b, err := t.nextBatch()
	if err == nil {
		err = t.step(context.Background(), b)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// checkNoAllocations counts the allocations of the whole process during n calls. testing.AllocsPerRun would run them on
// one processor and round down. The runtime makes a few allocations of its own when several goroutines wait for each
// other on a busy machine (it caches goroutines and waiters for each processor), so the best of four runs must stay
// below one in four steps; an allocation by the step itself would be one in each.
func checkNoAllocations(t *testing.T, n int, f func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection discards finished goroutines
	var counts []uint64
	for range 4 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range n / 4 {
			f()
		}
		runtime.ReadMemStats(&after)
		counts = append(counts, after.Mallocs-before.Mallocs)
	}
	if slices.Min(counts) > uint64(n/4/4) {
		t.Errorf("%d allocations in runs of %d steps", counts, n/4)
	}
}

// TestStepAllocatesNothing: the steady training step, from the data to the updated weights, does not allocate.
func TestStepAllocatesNothing(t *testing.T) {
	for _, c := range steadyCases() {
		t.Run(c.name, func(t *testing.T) {
			const runs = 800
			tr := c.start(t, runs+10)
			checkNoAllocations(t, runs, func() { tr.oneStep(t) })
		})
	}
}

// TestEvaluationStepAllocatesNothing: the step of Evaluate does not allocate either.
func TestEvaluationStepAllocatesNothing(t *testing.T) {
	for _, c := range steadyCases() {
		t.Run(c.name, func(t *testing.T) {
			const runs = 800
			tr := c.start(t, runs+10)
			e := &evaluator{m: tr.m, source: tr.source, list: callbacks.NewList(nil, tr.m, callbacks.Params{})}
			step := 0
			one := func() {
				b, err := tr.source.next()
				if err == nil {
					err = e.batch(context.Background(), b, step)
				}
				step++
				if err != nil {
					t.Fatal(err)
				}
			}
			one()
			defer e.binder.release()
			checkNoAllocations(t, runs, one)
		})
	}
}

func BenchmarkStep(b *testing.B) {
	for _, replicas := range []int{1, 2} {
		b.Run(fmt.Sprint(replicas, " replicas"), func(b *testing.B) {
			c := steadyCase{replicas: replicas, source: func(n int) data.Dataset {
				return recycling{data.Arrays(features(steadyBatch, 6), labels(steadyBatch)).All(), n}
			}}
			tr := c.start(b, b.N+10)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				tr.oneStep(b)
			}
		})
	}
}

// heapInUse returns the size of what survives a collection.
func heapInUse() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC() // a second collection for what finalizers kept
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// goroutines waits for goroutines that are about to end.
func goroutines(most int) int {
	n := runtime.NumGoroutine()
	for i := 0; n > most && i < 100; i++ {
		time.Sleep(10 * time.Millisecond)
		n = runtime.NumGoroutine()
	}
	return n
}

// checkFlat runs f n times and compares heap and goroutines after a tenth of it with those at the end.
func checkFlat(t *testing.T, n int, f func()) {
	t.Helper()
	for range n / 10 {
		f()
	}
	heap, routines := heapInUse(), runtime.NumGoroutine()
	for range n - n/10 {
		f()
	}
	if after := goroutines(routines); after > routines {
		t.Errorf("%d goroutines after %d calls, %d after %d", after, n, routines, n/10)
	}
	const slack = 256 << 10 // less than one byte per step of the longest run
	if after := heapInUse(); after > heap+slack {
		t.Errorf("%d bytes of heap after %d calls, %d after %d", after, n, heap, n/10)
	}
}

func many(n int) int {
	if testing.Short() {
		return n / 20
	}
	return n
}

// TestMemoryOfFits: a thousand calls of Fit, Evaluate and Predict leave nothing behind.
func TestMemoryOfFits(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprint(replicas, " replicas"), func(t *testing.T) {
			m := steadyCase{replicas: replicas, source: inMemory}.start(t, 1).m
			ctx := context.Background()
			train, test := data.Arrays(features(21, 6), labels(21)), data.Arrays(features(5, 6), nil)
			checkFlat(t, many(1000), func() {
				_, err := m.Fit(ctx, train, BatchSize(steadyBatch), ValidationSplit(0.2))
				require.NoError(t, err)
				_, err = m.Predict(ctx, test)
				require.NoError(t, err)
				_, err = m.TrainOnBatch(ctx, train)
				require.NoError(t, err)
			})
		})
	}
}

// TestMemoryOfCompiles: models that are compiled again and again, and discarded models, leave nothing behind either.
func TestMemoryOfCompiles(t *testing.T) {
	ctx := context.Background()
	train := data.Arrays(features(21, 6), labels(21))
	m := steadyCase{source: inMemory}.start(t, 1).m
	checkFlat(t, many(200), func() {
		require.NoError(t, m.Compile(CompileConfig{Optimizer: "adam", Loss: "mse"}))
		_, err := m.Fit(ctx, data.Arrays(features(21, 6), features(21, 3)), BatchSize(steadyBatch))
		require.NoError(t, err)
	})
	checkFlat(t, many(200), func() {
		m, err := NewSequential([]layers.Layer{&layers.Dense{Units: 3}})
		require.NoError(t, err)
		require.NoError(t, m.Compile(CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}))
		_, err = m.Fit(ctx, train, BatchSize(steadyBatch))
		require.NoError(t, err)
	})
}

// TestMemoryOfSteps: a hundred thousand steps leave nothing behind.
func TestMemoryOfSteps(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprint(replicas, " replicas"), func(t *testing.T) {
			n := many(100_000)
			c := steadyCase{replicas: replicas, source: func(n int) data.Dataset {
				return recycling{data.Arrays(features(steadyBatch, 6), labels(steadyBatch)).All(), n}
			}}
			tr := c.start(t, n)
			checkFlat(t, n, func() { tr.oneStep(t) })
		})
	}
}
