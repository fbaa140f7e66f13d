package keras_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

var randomConfigs = flag.Int("random-configs", 2, "how many random configurations of each class are saved and read again")

// TestRandomConfigurationsSurvive: a value of every class for which a Keras constructor was recorded, with random
// values in the fields of its configuration, is trained, saved, read again, and trained for one more step on both
// sides, with the same numbers, weights and states, bit for bit. What the library rejects it must reject when the model
// is created or first trained, never in Save or LoadModel.
func TestRandomConfigurationsSurvive(t *testing.T) {
	survived, refused := 0, 0
	for _, c := range vectors.Load(t, "defaults").Cases {
		var d defaultCase
		c.DecodeExtra(t, &d)
		if _, left := notHere[c.Class]; left || d.Kind == "callbacks" {
			continue
		}
		if other, ok := otherInputs[c.Class]; ok {
			d.Shapes, d.DType = other.Shapes, other.DType
		}
		if d.Kind == "layers" && d.Shapes == nil {
			continue // it takes no plain arrays
		}
		t.Run(c.Name, func(t *testing.T) {
			for seed := range *randomConfigs {
				config := randomConfig(t, c.Config, rand.New(rand.NewPCG(uint64(seed), uint64(len(c.Name)))))
				text, err := json.Marshal(config)
				require.NoError(t, err)
				if why := survives(t, d, c.Class, config); why != nil {
					t.Logf("refused: %s: %v", text, why)
					refused++
					continue
				}
				survived++
			}
		})
	}
	t.Logf("%d survived, %d were refused", survived, refused)
	require.Greater(t, survived, 4*refused)
}

// randomConfig changes values of a configuration that Keras wrote.
func randomConfig(t *testing.T, text json.RawMessage, rng *rand.Rand) map[string]any {
	var out map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&out))
	for _, key := range slices.Sorted(maps.Keys(out)) {
		if rng.IntN(3) > 0 && key != "stateful" { // files do not store what a layer remembers between batches, as in Keras
			out[key] = randomValue(key, out[key], rng)
		}
	}
	return out
}

func randomValue(key string, v any, rng *rand.Rand) any {
	pick := func(values ...any) any { return values[rng.IntN(len(values))] }
	switch v := v.(type) {
	case bool:
		return rng.IntN(2) == 0
	case json.Number:
		f, _ := v.Float64()
		switch {
		case strings.ContainsAny(v.String(), ".e") && f == 0:
			return 0.25 * rng.Float64()
		case strings.ContainsAny(v.String(), ".e"):
			return f * (0.5 + rng.Float64()/2)
		case slices.Contains([]string{"units", "filters", "depth_multiplier", "output_dim"}, key):
			return f + float64(rng.IntN(3))
		}
	case string:
		switch {
		case strings.HasSuffix(key, "activation"):
			return pick("relu", "tanh", "sigmoid", "elu", "softplus", "gelu", "linear")
		case key == "padding" && v != "causal":
			return pick("valid", "same")
		case key == "reduction":
			return pick("sum", "sum_over_batch_size", "mean", "mean_with_sample_weight", "none")
		}
	case nil:
		switch {
		case strings.HasSuffix(key, "_regularizer"):
			return object("L1L2", map[string]any{"l1": 0.01 * rng.Float64(), "l2": 0.01 * rng.Float64()})
		case strings.HasSuffix(key, "_constraint"):
			return object("MaxNorm", map[string]any{"max_value": 0.5 + rng.Float64(), "axis": 0})
		case key == "weight_decay":
			return 0.01 * rng.Float64()
		case key == "clipnorm" || key == "ema_overwrite_frequency":
			return float64(1 + rng.IntN(2))
		}
	}
	return v
}

// survives trains, saves, reads and continues training. Its error is what was rejected before anything was saved.
func survives(t *testing.T, d defaultCase, class string, config map[string]any) error {
	m, examples, err := randomModel(t, d, class, config)
	if err != nil {
		return err
	}
	predicts := func(m *keras.Model) (out string) {
		y, err := m.PredictAll(t.Context(), examples(-1))
		require.NoError(t, err)
		for _, a := range y {
			out += fmt.Sprint(a.Shape(), a.Elements())
		}
		return out
	}
	if examples(0) != nil {
		for step := range 2 {
			if _, err := m.TrainOnBatch(t.Context(), examples(step)); err != nil {
				return err
			}
		}
	}
	before := predicts(m)
	path := filepath.Join(t.TempDir(), "model.keras")
	require.NoError(t, m.Save(path))
	again, err := keras.LoadModel(path)
	require.NoError(t, err)
	require.Equal(t, before, predicts(again))
	if examples(0) == nil {
		return nil
	}
	ours, err := m.TrainOnBatch(t.Context(), examples(2))
	require.NoError(t, err)
	theirs, err := again.TrainOnBatch(t.Context(), examples(2))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(ours["loss"]), fmt.Sprint(theirs["loss"]))
	require.Equal(t, state(t, m), state(t, again))
	return nil
}

// state returns the weights of a model and of its optimizer.
func state(t *testing.T, m *keras.Model) (out []string) {
	weights, err := m.GetWeights()
	require.NoError(t, err)
	for i, v := range m.Weights() {
		out = append(out, fmt.Sprint(v.Path(), weights[i].Elements()))
	}
	for _, v := range m.Optimizer().Variables() {
		a, err := v.Value()
		require.NoError(t, err)
		out = append(out, fmt.Sprint(v.Name(), a.Float64s()))
	}
	return out
}

// randomModel makes a model that contains the class, and returns its examples: with labels for a step, or, for step -1,
// without labels. For a model that cannot be trained, examples with labels are nil.
func randomModel(t *testing.T, d defaultCase, class string, config map[string]any) (*keras.Model, func(step int) *data.ArraySource, error) {
	if d.Kind == "layers" {
		return randomLayer(t, d, class, config)
	}
	document := compiledWith(t, d.Kind, class, config)
	m, err := keras.ModelFromJSON(document)
	if err != nil {
		return nil, nil, err
	}
	x := spread([]int{8, 4}, 1, ir.Float32)
	return m, func(step int) *data.ArraySource {
		if step < 0 {
			return data.Arrays(x, nil)
		}
		y := data.Must(data.Zeros[float32](8, 3))
		values := y.Elements().([]float32)
		for i := range values {
			values[i] = float32((i + step) % 3 / 2)
		}
		return data.Arrays(x, labelsFor(class, y))
	}, nil
}

func randomLayer(t *testing.T, d defaultCase, class string, config map[string]any) (*keras.Model, func(step int) *data.ArraySource, error) {
	text, err := json.Marshal(object(class, config))
	require.NoError(t, err)
	l, err := layers.FromObject(text)
	if err != nil {
		return nil, nil, err
	}
	dtype := ir.Float32
	if d.DType == "int32" {
		dtype = ir.Int32
	}
	var inputs []*layers.KerasTensor
	var x data.Tensors
	for i, shape := range d.Shapes {
		inputs = append(inputs, layers.NewInput(fmt.Sprint("x", i), dtype, append([]int{4}, shape...)...))
		x.Arrays = append(x.Arrays, spread(append([]int{4}, shape...), i, dtype))
	}
	out := layers.ApplyAll(l, inputs...)[0]
	if out.Err() == nil && out.DType() == ir.Float32 && len(out.Shape()) > 1 { // so that there is something to train, and a step to count
		out = layers.Apply(&layers.Dense{Units: 2}, out)
	}
	m, err := keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(out))
	if err != nil {
		return nil, nil, err
	}
	y, err := m.PredictAll(t.Context(), data.Arrays(x, nil))
	if err != nil {
		return nil, nil, err
	}
	err = m.Compile(keras.CompileConfig{Loss: "mse", Optimizer: "adam"})
	return m, func(step int) *data.ArraySource {
		switch {
		case step < 0:
			return data.Arrays(x, nil)
		case dtype != ir.Float32 || y[0].DType() != ir.Float32:
			return nil
		}
		return data.Arrays(x, spread(y[0].Shape(), 7+step, ir.Float32))
	}, err
}
