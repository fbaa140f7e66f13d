package keras_test

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// everyKind has scalars, several types and nested layers.
func everyKind(t *testing.T, seed uint64) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential([]layers.Layer{
		&layers.Normalization{},
		&layers.Bidirectional{Layer: &layers.LSTM{Units: 3, ReturnSequences: true}},
		&layers.TimeDistributed{Layer: &layers.Dense{Units: 2, DType: "float16"}},
		&layers.Flatten{},
		&layers.Dense{Units: 4, DType: "float64"},
		&layers.BatchNormalization{},
		&layers.Dense{Units: 1, DType: "bfloat16"},
	}, keras.InputShape(5, 3), keras.Seed(seed))
	require.NoError(t, err)
	require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse", Metrics: []string{"mae"}}))
	return m
}

func sequences(n int) *data.ArraySource {
	x, y := make([]float32, n*15), make([]float32, n)
	for i := range x {
		x[i] = float32(i*37%19)/9 - 1
	}
	for i := range y {
		y[i] = float32(i % 3)
	}
	return data.Arrays(data.Must(data.ArrayOf(x, n, 5, 3)), data.Must(data.ArrayOf(y, n, 1)))
}

func trainOn(t *testing.T, m *keras.Model) {
	t.Helper()
	_, err := m.Fit(t.Context(), sequences(8), keras.BatchSize(4), keras.Shuffle(false))
	require.NoError(t, err)
}

func allArrays(t *testing.T, m *keras.Model) []kernels.Array {
	t.Helper()
	out, err := m.GetWeights()
	require.NoError(t, err)
	return out
}

// Every format of weights files restores every bit, including scalars and half precision.
func TestWeightsFilesRoundTrip(t *testing.T) {
	m := everyKind(t, 1)
	trainOn(t, m)
	for _, name := range []string{"a.weights.h5", "a.weights.json", "a.npz", "a.safetensors"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, m.SaveWeights(path))
			again := everyKind(t, 2)
			var report keras.LoadReport
			require.NoError(t, again.LoadWeights(path, keras.Report(&report)))
			require.Equal(t, allArrays(t, m), allArrays(t, again))
			require.Len(t, report.Matched, len(m.Weights()), report.String())
			require.Empty(t, report.Skipped)
		})
	}
	require.ErrorContains(t, m.SaveWeights("a.pickle"), "expected .weights.h5")
}

// A .weights.h5 file includes the optimizer if it has been built.
func TestWeightsFileHoldsOptimizer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.weights.h5")
	m, again := everyKind(t, 1), everyKind(t, 2)
	trainOn(t, m)
	require.NoError(t, m.SaveWeights(path))
	trainOn(t, again)
	require.NoError(t, again.LoadWeights(path))
	trainOn(t, m)
	trainOn(t, again)
	require.Equal(t, allArrays(t, m), allArrays(t, again))
	fresh := everyKind(t, 3)
	var report keras.LoadReport
	require.NoError(t, fresh.LoadWeights(path, keras.Report(&report)))
	require.Contains(t, report.Unused, "optimizer/vars/0", "an optimizer that has not been built starts anew")
}

func TestShards(t *testing.T) {
	m := everyKind(t, 1)
	trainOn(t, m)
	path := filepath.Join(t.TempDir(), "m.weights.json")
	require.NoError(t, m.SaveShardedWeights(path, 600))
	shards, err := filepath.Glob(filepath.Join(filepath.Dir(path), "m_*.weights.h5"))
	require.NoError(t, err)
	require.Greater(t, len(shards), 2)
	again := everyKind(t, 2)
	trainOn(t, again)
	require.NoError(t, again.LoadWeights(path))
	trainOn(t, m)
	trainOn(t, again)
	require.Equal(t, allArrays(t, m), allArrays(t, again))
	require.ErrorContains(t, m.SaveShardedWeights(path, 10), "larger shards")
	require.ErrorContains(t, m.SaveShardedWeights("m.weights.h5", 600), ".weights.json")
	require.NoError(t, os.Remove(shards[1]))
	require.ErrorContains(t, again.LoadWeights(path), filepath.Base(shards[1]))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "m_00000", "../m_00000")), 0o666))
	require.ErrorContains(t, again.LoadWeights(path), "unsafe path")
}

func denseStack(units ...int) []layers.Layer {
	var out []layers.Layer
	for _, n := range units {
		out = append(out, &layers.Dense{Units: n})
	}
	return out
}

func stackOf(t *testing.T, seed uint64, units ...int) *keras.Model {
	t.Helper()
	m, err := keras.NewSequential(denseStack(units...), keras.InputShape(3), keras.Seed(seed))
	require.NoError(t, err)
	return m
}

// Weights that do not fit cause an error that lists all of them and changes nothing, or are skipped on request.
func TestSkipMismatch(t *testing.T) {
	for _, name := range []string{"m.weights.h5", "m.npz", "m.safetensors"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			m := stackOf(t, 1, 4, 5, 2)
			require.NoError(t, m.SaveWeights(path))
			other := stackOf(t, 2, 4, 6, 2)
			before := allArrays(t, other)
			err := other.LoadWeights(path)
			require.ErrorContains(t, err, "dense_1/kernel")
			require.ErrorContains(t, err, "(4, 6)")
			require.ErrorContains(t, err, "(4, 5)")
			require.ErrorContains(t, err, "dense_2/kernel")
			require.Equal(t, before, allArrays(t, other))
			var report keras.LoadReport
			require.NoError(t, other.LoadWeights(path, keras.SkipMismatch(), keras.Report(&report)))
			after, want := allArrays(t, other), allArrays(t, m)
			require.Equal(t, want[:2], after[:2])
			require.Equal(t, before[2:5], after[2:5])
			require.NotEmpty(t, report.Skipped)
			require.Contains(t, report.String(), "skipped")
		})
	}
	path := filepath.Join(t.TempDir(), "m.weights.h5")
	require.NoError(t, stackOf(t, 1, 4).SaveWeights(path))
	require.ErrorContains(t, stackOf(t, 1, 4, 2).LoadWeights(path), `layer "dense_1" (Dense) expected 2 variables ["kernel" "bias"], but the file has 0`)
	var report keras.LoadReport
	require.NoError(t, stackOf(t, 1, 4, 2).LoadWeights(path, keras.SkipMismatch(), keras.Report(&report)))
	require.Len(t, report.Skipped, 2)
}

// gain is a custom layer.
type gain struct {
	layers.Base

	Name   string       `keras:"name"`
	DType  string       `keras:"dtype"`
	Frozen bool         `keras:"trainable,not"`
	Start  float64      `keras:"start"`
	Inner  layers.Layer `keras:"inner_layer"`

	scale *distribute.Variable
}

func (l *gain) Build(b *layers.Builder, in []ir.Shape) {
	l.scale = b.AddWeight("scale", ir.Shape{in[0][1]}, layers.WeightOptions{Initializer: "ones"})
	b.BuildMember(l.Inner, in...)
}

func (l *gain) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	scale := distribute.ReplicaOf(in[0].Graph()).Read(l.scale)
	return []*ops.Tensor{ops.Multiply(layers.Invoke(l.Inner, c, in...), ops.AddScalar(scale, l.Start))}
}

func init() { layers.Register[gain]("my_package") }

func TestCustomLayer(t *testing.T) {
	m, err := keras.NewSequential([]layers.Layer{&gain{Start: 0.5, Inner: &layers.Dense{Units: 3}}, &layers.Dense{Units: 1}}, keras.InputShape(3))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "custom.keras")
	require.NoError(t, m.Save(path))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	require.Equal(t, allArrays(t, m), allArrays(t, again))
	require.Contains(t, document(t, m), `"registered_name":"my_package\u003egain"`)
	changed := edit(t, path, "config.json", `my_package\u003egain`, `other\u003egain`)
	_, err = keras.LoadModel(changed)
	require.ErrorContains(t, err, `unknown class "other>gain"`)
	require.ErrorContains(t, err, `layers.Register[gain]("other")`)
}

// edit copies an archive and replaces a text in one member.
func edit(t *testing.T, path, name, from, to string) string {
	t.Helper()
	r, err := zip.OpenReader(path)
	require.NoError(t, err)
	defer r.Close()
	out := filepath.Join(t.TempDir(), "edited.keras")
	f, err := os.Create(out)
	require.NoError(t, err)
	w := zip.NewWriter(f)
	for _, m := range r.File {
		content, err := r.Open(m.Name)
		require.NoError(t, err)
		raw, err := io.ReadAll(content)
		require.NoError(t, err)
		into, err := w.Create(m.Name)
		require.NoError(t, err)
		text := string(raw)
		if m.Name == name {
			require.Contains(t, text, from)
			text = strings.ReplaceAll(text, from, to)
		}
		_, err = into.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	return out
}

// A vocabulary found by Adapt is in the assets, and its weights are in the weights file.
func TestLookupRoundTrip(t *testing.T) {
	l := &layers.IntegerLookup{OutputMode: "tf_idf"}
	seen, err := kernels.FromFloat64s(ir.Int64, ir.Shape{3, 2}, []float64{3, 5, 5, 9, 5, 3})
	require.NoError(t, err)
	require.NoError(t, l.Adapt(seen))
	m, err := keras.NewSequential([]layers.Layer{l, &layers.Dense{Units: 2}}, keras.InputShape(2), keras.InputDType("int64"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "m.keras")
	require.NoError(t, m.Save(path))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	x := data.Arrays([][]int64{{3, 5}, {9, 7}}, nil)
	want, err := m.Predict(t.Context(), x)
	require.NoError(t, err)
	got, err := again.Predict(t.Context(), x)
	require.NoError(t, err)
	require.Equal(t, want.Elements(), got.Elements())
}
