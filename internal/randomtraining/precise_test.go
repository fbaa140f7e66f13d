package randomtraining

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
)

// preciseCase is what precise.py drew: training in float64, with what Keras has after each call to thirteen digits.
type preciseCase struct {
	Number    int
	Tolerance float64
	Seed      uint64 // of the weights
	Batch     int
	Model     json.RawMessage
	X, Y, W   []spec
	Devices   string
	Calls     []struct {
		Epochs int
		Answer preciseAnswer
	}
}

type preciseAnswer struct {
	History        map[string][][]number
	Scores         map[string][]number
	Types          []string
	Predictions    []result
	Weights, Slots []result
}

// TestPrecise trains in float64. RANDOM_PRECISE is another file of cases.
func TestPrecise(t *testing.T) {
	checkAll[*preciseCase](t, "RANDOM_PRECISE", "testdata/precise.json.gz")
}

// TestFreshPrecise has precise.py draw.
func TestFreshPrecise(t *testing.T) {
	checkFresh[*preciseCase](t, "precise.py", "RANDOM_PRECISE", "6")
}

func (c *preciseCase) number() int { return c.Number }

// check makes the first call of fit on the devices that were drawn, and the others with a model that was read from a
// file.
func (c *preciseCase) check(t *testing.T) string {
	m, err := keras.ModelFromJSON(c.Model, scopeOf(t, c.Devices)...)
	require.NoError(t, err)
	require.NoError(t, setPreciseWeights(m, c.Seed))
	for i, call := range c.Calls {
		if i > 0 {
			path := filepath.Join(t.TempDir(), "model.keras")
			require.NoError(t, m.Save(path))
			var options []keras.LoadModelOption
			for _, o := range scopeOf(t, c.Devices) {
				options = append(options, o.(keras.LoadModelOption))
			}
			m, err = keras.LoadModel(path, options...)
			require.NoError(t, err)
		}
		if text := c.call(t, m, call.Epochs, &call.Answer); text != "" {
			return fmt.Sprintf("call %d on %s: %s", i, c.Devices, text)
		}
	}
	return ""
}

// setPreciseWeights sets the weights as set_weights of precise.py does.
func setPreciseWeights(m *keras.Model, seed uint64) error {
	arrays, err := m.GetWeights()
	if err != nil {
		return err
	}
	for k, w := range m.Weights() {
		if !w.Type().DType.IsFloat() {
			continue
		}
		s := spec{Kind: "grid", Seed: seed + uint64(k), Shape: w.Type().Shape}
		if strings.Contains(w.Name(), "variance") || w.Name() == "gamma" {
			s.Kind = "positive"
		}
		values := s.values()
		for i := range values {
			values[i] /= 3
		}
		if arrays[k], err = kernels.FromFloat64s(w.Type().DType, s.Shape, values); err != nil {
			return err
		}
	}
	return m.SetWeights(arrays)
}

func (c *preciseCase) call(t *testing.T, m *keras.Model, epochs int, want *preciseAnswer) string {
	var wrong []string
	ctx, ds := context.Background(), source(t, m, c.X, c.Y, c.W)
	h, err := m.Fit(ctx, ds, keras.Shuffle(false), keras.Epochs(epochs), keras.BatchSize(c.Batch))
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(want.History)) {
		for e, w := range want.History[name] {
			got := []float64{}
			if v := h.Vectors[name]; v != nil {
				got = v[e]
			} else if logged := h.Logs[name]; e < len(logged) {
				got = logged[e : e+1]
			}
			if text := c.near(got, w); text != "" {
				wrong = append(wrong, fmt.Sprintf("%s of epoch %d: %s", name, e, text))
			}
		}
	}
	scores, err := m.EvaluateLogs(ctx, ds, keras.BatchSize(c.Batch))
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(want.Scores)) {
		if text := c.near(scores.Vector(name), want.Scores[name]); text != "" {
			wrong = append(wrong, "score "+name+": "+text)
		}
	}
	out, err := m.PredictAll(ctx, source(t, m, c.X, c.Y, nil), keras.BatchSize(c.Batch))
	require.NoError(t, err)
	wrong = append(wrong, c.same("predictions", out, want.Predictions, nil)...)
	weights, err := m.GetWeights()
	require.NoError(t, err)
	wrong = append(wrong, c.same("weights", weights, want.Weights, want.Types)...)
	if want.Slots != nil {
		slots, err := m.OptimizerArrays()
		require.NoError(t, err)
		wrong = append(wrong, c.same("variables of the optimizer", slots, want.Slots, nil)...)
	}
	return strings.Join(wrong, "\n")
}

// same compares arrays with Keras's.
func (c *preciseCase) same(what string, got []data.Array, want []result, types []string) (wrong []string) {
	if len(got) != len(want) {
		return []string{fmt.Sprintf("%d %s, not %d", len(got), what, len(want))}
	}
	for i, a := range got {
		if types != nil && a.DType().String() != types[i] {
			wrong = append(wrong, fmt.Sprintf("%s, %d: type %v, not %s", what, i, a.DType(), types[i]))
		}
		if text := c.near(a.Float64s(), want[i].Data); text != "" {
			wrong = append(wrong, fmt.Sprintf("%s, %d of shape %v: %s", what, i, a.Shape(), text))
		}
	}
	return wrong
}

// near compares to a part of the largest number: far more than the rounding of a few steps in float64, and far less
// than that of one constant in float32.
func (c *preciseCase) near(got []float64, want []number) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d numbers, not %d", len(got), len(want))
	}
	size := 1e-3
	for _, w := range want {
		if f := math.Abs(float64(w)); f > size && !math.IsInf(f, 0) {
			size = f
		}
	}
	for i, x := range got {
		y := float64(want[i])
		if x != y && !(x != x && y != y) && !(math.Abs(x-y) <= c.Tolerance*size) {
			return fmt.Sprintf("element %d is %.15g, not %.15g: %.2g of the largest", i, x, y, math.Abs(x-y)/size)
		}
	}
	return ""
}
