package keras

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// twoByTwo is a model with two inputs, one of them of integers, and two outputs, over a number of replicas.
func twoByTwo(t testing.TB, replicas int) *Model {
	t.Helper()
	strategy, err := distribute.NewMirroredStrategy([]string{"cpu:0", "cpu:1", "cpu:2"}[:replicas]...)
	require.NoError(t, err)
	a, b := Input(Shape(3), InputName("a")), Input(Shape(), DType("int32"), InputName("b"))
	h := layers.Apply(&layers.Dense{Units: 4, Activation: "tanh"}, a)
	e := layers.Apply(&layers.Embedding{InputDim: 5, OutputDim: 4}, b)
	h = layers.Apply(&layers.Add{}, h, e)
	m, err := NewFunctional(Inputs(a, b), Outputs(layers.Apply(&layers.Dense{Units: 2}, h), h), distribute.Scope(strategy))
	require.NoError(t, err)
	return m
}

func twoInputs(n int, named bool) *data.ArraySource {
	a, b := make([][]float64, n), make([]int32, n)
	for i := range a {
		a[i], b[i] = []float64{float64(i), 1, math.Sin(float64(i))}, int32(i%5)
	}
	if named {
		return data.Arrays(map[string]any{"a": a, "b": b}, nil)
	}
	return data.Arrays([]any{a, b}, nil)
}

// TestPredictAllocatesNothing: after the first call with examples of a shape, a call allocates at most the result.
func TestPredictAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	for replicas := 1; replicas <= 3; replicas++ {
		for _, named := range []bool{false, true} {
			t.Run(fmt.Sprint(replicas, " replicas, names ", named), func(t *testing.T) {
				m := twoByTwo(t, replicas)
				many, few := twoInputs(77, named), twoInputs(4, named)
				results := map[*data.ArraySource][]data.Array{}
				for _, x := range []*data.ArraySource{many, few} {
					var err error
					results[x], err = m.PredictAll(ctx, x, BatchSize(x.N()))
					require.NoError(t, err)
				}
				checkNoAllocations(t, 800, func() {
					for x, into := range results { // alternating shapes
						if err := m.PredictOnBatchInto(ctx, x, into...); err != nil {
							t.Fatal(err)
						}
					}
				})
				ofResults := testing.AllocsPerRun(200, func() { _ = newResults(t, results[many]) })
				// Three batches, the last one shorter.
				got := testing.AllocsPerRun(200, func() {
					if _, err := m.PredictAll(ctx, many); err != nil {
						t.Fatal(err)
					}
				})
				if replicas == 1 { // AllocsPerRun counts on one processor, where goroutines cost
					assert.LessOrEqual(t, got, ofResults)
				}
				assert.LessOrEqual(t, got, ofResults+10)
			})
		}
	}
}

// TestPredictOneOutputAllocatesItsResult: so do Predict and PredictOnBatch of a model with one output.
func TestPredictOneOutputAllocatesItsResult(t *testing.T) {
	ctx := context.Background()
	m, err := NewSequential([]layers.Layer{&layers.Dense{Units: 3}}, InputShape(2))
	require.NoError(t, err)
	x := data.Arrays([][]float32{{1, 2}, {3, 4}, {5, 6}}, nil)
	y, err := m.Predict(ctx, x)
	require.NoError(t, err)
	ofResults := testing.AllocsPerRun(200, func() { _ = newResults(t, []data.Array{y}) })
	assert.LessOrEqual(t, testing.AllocsPerRun(200, func() { _, err = m.Predict(ctx, x) }), ofResults)
	require.NoError(t, err)
	assert.LessOrEqual(t, testing.AllocsPerRun(200, func() { _, err = m.PredictOnBatch(ctx, x) }), ofResults)
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(200, func() { err = m.PredictOnBatchInto(ctx, x, y) }))
	require.NoError(t, err)
}

// newResults returns new arrays like the given ones: what every Predict must allocate.
func newResults(t *testing.T, like []data.Array) []data.Array {
	out := make([]data.Array, len(like))
	for i, a := range like {
		var err error
		if out[i], err = newResult(a.DType(), a.Shape()[1:], a.Shape()[0]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

type countCalls struct {
	callbacks.Base
	n int
}

func (c *countCalls) OnPredictBatchEnd(int) error { c.n++; return nil }

// viaDataset predicts the long way, which shares only the program with the direct one.
func viaDataset(t *testing.T, m *Model, x *data.ArraySource, batch int) []data.Array {
	t.Helper()
	calls := countCalls{}
	out, err := m.PredictAll(t.Context(), x, BatchSize(batch), Callbacks(&calls))
	require.NoError(t, err)
	require.Equal(t, (x.N()+batch-1)/batch, calls.n)
	return out
}

// TestPredictionsAreUsedAgain: what one call leaves behind serves the next one correctly, after changes of shape,
// weights, compiled losses and layers.
func TestPredictionsAreUsedAgain(t *testing.T) {
	for replicas := 1; replicas <= 3; replicas++ {
		m := twoByTwo(t, replicas)
		check := func(n, batch int) {
			x := twoInputs(n, n%2 == 0)
			want := viaDataset(t, m, x, batch)
			got, err := m.PredictAll(t.Context(), x, BatchSize(batch))
			require.NoError(t, err)
			into := newResults(t, want)
			require.NoError(t, m.PredictOnBatchInto(t.Context(), x, into...))
			for i := range want {
				require.Equal(t, want[i].Shape(), got[i].Shape())
				require.Equal(t, want[i].Elements(), got[i].Elements())
				require.InDeltaSlice(t, want[i].Elements(), into[i].Elements(), 1e-6, "output %d of %d", i, n)
			}
		}
		for n := 1; n < 40; n += 3 {
			check(n, 8)
		}
		weights, err := m.GetWeights()
		require.NoError(t, err)
		for _, w := range weights {
			values, err := data.View[float32](w)
			require.NoError(t, err)
			for i := range values {
				values[i] *= -2
			}
		}
		before, err := m.PredictAll(t.Context(), twoInputs(5, false))
		require.NoError(t, err)
		require.NoError(t, m.SetWeights(weights))
		after, err := m.PredictAll(t.Context(), twoInputs(5, false))
		require.NoError(t, err)
		require.NotEqual(t, before[0].Elements(), after[0].Elements())
		check(5, 8)
		require.NoError(t, m.Compile(CompileConfig{Optimizer: "sgd", Loss: "mse"}))
		y := []any{make([][2]float32, 5), make([][4]float32, 5)}
		_, err = m.Fit(t.Context(), data.Arrays([]any{twoInputs(5, false).All().X.Arrays[0], twoInputs(5, false).All().X.Arrays[1]}, y))
		require.NoError(t, err)
		trained, err := m.PredictAll(t.Context(), twoInputs(5, false))
		require.NoError(t, err)
		require.NotEqual(t, after[0].Elements(), trained[0].Elements())
		check(5, 8)
	}
}

func TestPredictAfterLayersChanged(t *testing.T) {
	m, err := NewSequential([]layers.Layer{&layers.Dense{Units: 2, KernelInitializer: "ones"}}, InputShape(2))
	require.NoError(t, err)
	x := data.Arrays([][]float32{{1, 2}}, nil)
	for range 2 {
		y, err := m.PredictOnBatch(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, []float32{3, 3}, y.Elements())
	}
	require.NoError(t, m.Add(&layers.Dense{Units: 1, KernelInitializer: "ones"}))
	for range 2 {
		y, err := m.PredictOnBatch(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, []float32{6}, y.Elements())
	}
	assert.Len(t, m.predictions.binders.held, 1, "what belongs to the old layers is gone")
}

// TestConcurrentPredictions: many goroutines, alternating shapes, and weights that change meanwhile.
func TestConcurrentPredictions(t *testing.T) {
	m := twoByTwo(t, 2)
	_, err := m.PredictAll(t.Context(), twoInputs(3, false))
	require.NoError(t, err)
	weights, err := m.GetWeights()
	require.NoError(t, err)
	var group sync.WaitGroup
	for g := range 24 {
		group.Go(func() {
			x := twoInputs(1+g%5, g%2 == 0)
			want, err := m.PredictAll(t.Context(), x)
			if !assert.NoError(t, err) {
				return
			}
			into := newResults(t, want)
			for range 30 {
				if !assert.NoError(t, m.PredictOnBatchInto(t.Context(), x, into...)) || !assert.Equal(t, want[1].Elements(), into[1].Elements()) {
					return
				}
				got, err := m.PredictAll(t.Context(), x, BatchSize(2))
				if !assert.NoError(t, err) || !assert.InDeltaSlice(t, want[0].Elements(), got[0].Elements(), 1e-6) {
					return
				}
			}
		})
	}
	for range 20 {
		require.NoError(t, m.SetWeights(weights))
	}
	group.Wait()
	assert.LessOrEqual(t, len(m.predictions.binders.held), predictionLimit())
	assert.LessOrEqual(t, len(m.predictions.idle), predictionLimit())
}

func TestPredictOnBatchIntoMistakes(t *testing.T) {
	m, err := NewSequential([]layers.Layer{&layers.Dense{Units: 3}}, InputShape(2))
	require.NoError(t, err)
	x := data.Arrays([][]float32{{1, 2}, {3, 4}}, nil)
	dense := func(dtype ir.DType, shape ...int) data.Array {
		return kernels.NewArray(ir.Type{DType: dtype, Shape: shape})
	}
	short := dense(ir.Float32, 2, 3)
	short.Data = short.Data[:4]
	for what, into := range map[string][]data.Array{
		"no array":                  nil,
		"is the zero Array":         {{}},
		"2 arrays":                  {dense(ir.Float32, 2, 3), dense(ir.Float32, 2, 3)},
		"float32 and shape (":       {dense(ir.Float64, 2, 3)},
		"shape (None, 3)":           {dense(ir.Float32, 2, 4)},
		"more than 1 rows":          {dense(ir.Float32, 1, 3)},
		"(3, 3), the output 2 rows": {dense(ir.Float32, 3, 3)},
		"has 4 bytes":               {short},
	} {
		assert.ErrorContains(t, m.PredictOnBatchInto(t.Context(), x, into...), what)
	}
	y := dense(ir.Float32, 2, 3)
	var none context.Context
	assert.ErrorContains(t, m.PredictOnBatchInto(none, x, y), "context is nil")
	assert.ErrorContains(t, m.PredictOnBatchInto(t.Context(), nil, y), "data are nil")
	assert.ErrorContains(t, m.PredictOnBatchInto(t.Context(), data.Arrays([]string{"a"}, nil), y), "text")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, m.PredictOnBatchInto(ended, x, y), context.Canceled)
	require.NoError(t, m.PredictOnBatchInto(t.Context(), x, y))
}

// fewer is a model whose output has its own number of rows.
type fewer struct{ rows int }

func (f *fewer) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return ops.Reshape(ops.Tile(ops.Sum(x), f.rows), f.rows, 1)
}

// TestOutputsWithRowsOfTheirOwn: results are concatenated even if an output does not have one row per example.
func TestOutputsWithRowsOfTheirOwn(t *testing.T) {
	for _, rows := range []int{1, 2, 3, 5} {
		m, err := NewModel(&fewer{rows})
		require.NoError(t, err)
		y, err := m.Predict(t.Context(), data.Arrays([][]float32{{1}, {2}, {3}, {4}, {5}}, nil), BatchSize(2))
		require.NoError(t, err)
		var want []float32
		for _, sum := range []float32{3, 7, 5} {
			for range rows {
				want = append(want, sum)
			}
		}
		assert.Equal(t, want, y.Elements())
		assert.Equal(t, []int{3 * rows, 1}, y.Shape())
	}
}

type total struct{}

func (total) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor { return ops.Sum(x) }

func TestPredictScalarOutput(t *testing.T) {
	m, err := NewModel(&total{})
	require.NoError(t, err)
	_, err = m.Predict(t.Context(), data.Arrays([][]float32{{1}, {2}}, nil))
	assert.ErrorContains(t, err, "scalar")
}

func BenchmarkPredictOnBatchInto(b *testing.B) {
	for _, replicas := range []int{1, 2} {
		b.Run(fmt.Sprint(replicas, " replicas"), func(b *testing.B) {
			m, x := twoByTwo(b, replicas), twoInputs(8, false)
			y, err := m.PredictAll(b.Context(), x)
			require.NoError(b, err)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if err := m.PredictOnBatchInto(ctx, x, y...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
