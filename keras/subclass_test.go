package keras_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// branches holds layers in every way in which they are found.
type branches struct {
	Stem    *layers.Dense
	Blocks  []*layers.Dense
	Heads   map[string]layers.Layer
	Levels  map[int]*layers.Dense
	Pair    [2]layers.Layer
	Nested  struct{ Inner *layers.Dense }
	Again   *layers.Dense // the same as Stem
	Missing *layers.Dense // nil
	Table   [][]float64   // ignored
	Up      *branches     // itself
	Any     any
}

func (b *branches) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	x = layers.Invoke(b.Stem, c, x)
	for _, l := range b.Blocks {
		x = layers.Invoke(l, c, x)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Heads)) {
		x = layers.Invoke(b.Heads[name], c, x)
	}
	for _, level := range slices.Sorted(maps.Keys(b.Levels)) {
		x = layers.Invoke(b.Levels[level], c, x)
	}
	x = layers.Invoke(b.Pair[1], c, layers.Invoke(b.Pair[0], c, x))
	x = layers.Invoke(b.Nested.Inner, c, x)
	return layers.Invoke(b.Any.(layers.Layer), c, layers.Invoke(b.Again, c, x))
}

// Layers are found in fields, slices, arrays, maps (in the order of their keys) and structs; each counts once.
func TestLayersOfSubclass(t *testing.T) {
	dense := func(units int) *layers.Dense { return &layers.Dense{Units: units, NoBias: true} }
	b := &branches{
		Stem: dense(2), Blocks: []*layers.Dense{dense(3), dense(4)},
		Heads:  map[string]layers.Layer{"z": dense(6), "a": dense(5)},
		Levels: map[int]*layers.Dense{10: dense(8), 2: dense(7)},
		Pair:   [2]layers.Layer{dense(9), dense(10)}, Any: dense(11),
		Table: make([][]float64, 3),
	}
	b.Nested.Inner, b.Again, b.Up = dense(2), b.Stem, b
	m, err := keras.NewModel(b)
	require.NoError(t, err)
	compile(t, m, keras.CompileConfig{Loss: "mse"})
	require.NoError(t, fit(m, data.Arrays(grid(4, 2), grid(4, 11))))
	var shapes []string
	for _, v := range m.Weights() {
		shapes = append(shapes, v.Type().Shape.String())
	}
	require.Equal(t, []string{"[2 2]", "[2 3]", "[3 4]", "[4 5]", "[5 6]", "[6 7]", "[7 8]", "[8 9]", "[9 10]", "[10 2]", "[2 11]"}, shapes)
	require.Equal(t, "branches", m.Name())
	require.Equal(t, "branches", m.ClassName())
	l, err := m.GetLayer("dense_1")
	require.NoError(t, err)
	require.Same(t, b.Blocks[0], l)
}

// residual is a subclassed model with the allowed forms of Call: several tensors in and out.
type (
	manyIn   struct{}
	manyOut  struct{ A, B *layers.Dense }
	variadic struct{}
	byValue  struct{ Head *layers.Dense }
)

func (manyIn) Call(_ *layers.Context, x, y *ops.Tensor) *ops.Tensor { return ops.Subtract(x, y) }
func (m *manyOut) Call(c *layers.Context, x *ops.Tensor) (*ops.Tensor, *ops.Tensor) {
	return layers.Invoke(m.A, c, x), layers.Invoke(m.B, c, x)
}
func (variadic) Call(_ *layers.Context, xs ...*ops.Tensor) []*ops.Tensor { return xs }
func (b byValue) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return layers.Invoke(b.Head, c, x)
}

func TestFormsOfCall(t *testing.T) {
	ctx := context.Background()
	model := func(v any) *keras.Model {
		t.Helper()
		m, err := keras.NewModel(v, keras.DTypePolicy("float64"))
		require.NoError(t, err)
		return m
	}
	three, one := [][]float64{{3}}, [][]float64{{1}}
	y, err := model(manyIn{}).Predict(ctx, data.Arrays([]any{three, one}, nil))
	require.NoError(t, err)
	require.Equal(t, []float64{2}, y.Elements())
	require.ErrorContains(t, predict(model(manyIn{}), data.Arrays(three, nil)), "many_in: Call takes 2 tensors, received 1")
	out, err := model(variadic{}).PredictAll(ctx, data.Arrays([]any{three, one, three}, nil))
	require.NoError(t, err)
	require.Len(t, out, 3)
	require.Equal(t, []float64{1}, out[1].Elements())
	m := model(byValue{&layers.Dense{Units: 1, NoBias: true, KernelInitializer: "ones"}})
	y, err = m.Predict(ctx, data.Arrays([][]float64{{3, 4}}, nil))
	require.NoError(t, err)
	require.Equal(t, []float64{7}, y.Elements())
	require.Len(t, m.Weights(), 1)
}

// Outputs of a subclassed model have no names: losses have their own names, and metrics no prefix, as in Keras.
func TestOutputsWithoutNames(t *testing.T) {
	run := func(c keras.CompileConfig) *keras.History {
		t.Helper()
		m, err := keras.NewModel(&manyOut{&layers.Dense{Units: 1}, &layers.Dense{Units: 2}})
		require.NoError(t, err)
		require.NoError(t, m.Compile(c))
		h, err := m.Fit(context.Background(), data.Arrays(grid(4, 3), []any{grid(4, 1), grid(4, 2)}))
		require.NoError(t, err)
		return h
	}
	h := run(keras.CompileConfig{Optimizer: "sgd", Loss: []string{"mse", "mae"}, Metrics: []any{[]string{"mae"}, []string{"mse"}}})
	require.Equal(t, []string{"loss", "mae", "mae_loss", "mse", "mse_loss"}, h.Names())
	require.InDelta(t, h.Logs["loss"][0], h.Logs["mse_loss"][0]+h.Logs["mae_loss"][0], 1e-6)
	h = run(keras.CompileConfig{Optimizer: "sgd", Loss: []string{"mse", "mse"}, Metrics: []any{[]string{"mae"}, []string{"mae"}}})
	require.Equal(t, []string{"loss", "mae", "mae_1", "mse_loss", "mse_loss_1"}, h.Names())
}

// sampler is a model that adds a loss, draws random numbers, and behaves differently in training.
type sampler struct {
	Head *layers.Dense
	Drop *layers.Dropout
}

func (s *sampler) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	y := layers.Invoke(s.Drop, c, layers.Invoke(s.Head, c, x))
	if c.Training {
		c.AddLoss(ops.MultiplyScalar(ops.Mean(ops.Square(y)), 0.5))
	}
	return y
}

func TestSubclassTraining(t *testing.T) {
	build := func() *keras.Model {
		m, err := keras.NewModel(&sampler{&layers.Dense{Units: 3}, &layers.Dropout{Rate: 0.5}}, keras.Seed(4))
		require.NoError(t, err)
		compile(t, m, keras.CompileConfig{Optimizer: "sgd", Loss: &losses.MeanSquaredError{}})
		return m
	}
	x := data.Arrays(grid(12, 4), grid(12, 3))
	a, b := build(), build()
	first, err := a.Fit(context.Background(), x, keras.Epochs(3))
	require.NoError(t, err)
	second, err := b.Fit(context.Background(), x, keras.Epochs(3))
	require.NoError(t, err)
	require.Equal(t, first.Logs, second.Logs, "equal seeds give equal runs")
	require.Equal(t, weightsOf(t, a), weightsOf(t, b))
	p, err := a.Predict(context.Background(), x)
	require.NoError(t, err)
	again, err := a.Predict(context.Background(), x)
	require.NoError(t, err)
	require.Equal(t, p.Elements(), again.Elements(), "no dropout in inference")
	one, err := a.TestOnBatch(context.Background(), x)
	require.NoError(t, err)
	mse := 0.0
	for i, v := range p.Elements().([]float32) {
		d := float64(v - grid(12, 3)[i/3][i%3])
		mse += d * d / 36
	}
	require.InDelta(t, mse, one["loss"], 1e-5, "the added loss belongs to training")
}
