package keras_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
)

// tolerance is the rule of the conformance cases: |got-want| <= rtol·|want| + atol·max|want| + abs.
type tolerance struct {
	RTol float64 `json:"rtol"`
	ATol float64 `json:"atol"`
	Abs  float64 `json:"abs"`
	Skip bool    `json:"skip"`
}

type conformanceCase struct {
	Command string `json:"command"`
	Args    struct {
		Epochs          int                `json:"epochs"`
		BatchSize       int                `json:"batch_size"`
		ValidationSplit float64            `json:"validation_split"`
		ClassWeight     map[string]float64 `json:"class_weight"`
	} `json:"args"`
	Tolerance tolerance            `json:"tolerance"`
	Overrides map[string]tolerance `json:"overrides"`
	Expected  struct {
		History  json.RawMessage `json:"history"`
		Evaluate json.RawMessage `json:"evaluate"`
	} `json:"expected"`
	InputNames  []string `json:"input_names"`
	OutputNames []string `json:"output_names"`
}

func (c conformanceCase) close(t *testing.T, name string, got []float64, want []float64) {
	t.Helper()
	tol, ok := c.Overrides[name]
	if !ok {
		tol = c.Tolerance
	}
	if tol.Skip {
		return
	}
	require.Len(t, got, len(want), name)
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for i, w := range want {
		if got[i] == w || math.IsNaN(got[i]) && math.IsNaN(w) {
			continue
		}
		if allowed := tol.RTol*math.Abs(w) + tol.ATol*largest + tol.Abs; !(math.Abs(got[i]-w) <= allowed) {
			t.Errorf("%s[%d]: %.9g, expected %.9g (difference %.3g, allowed %.3g)", name, i, got[i], w, math.Abs(got[i]-w), allowed)
			return
		}
	}
}

// orderedNumbers reads {"name": number or list, ...} with the order of its keys.
func orderedNumbers(t *testing.T, raw json.RawMessage) (names []string, values map[string][]float64) {
	t.Helper()
	values = map[string][]float64{}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, values
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	_, err := d.Token()
	require.NoError(t, err)
	for d.More() {
		key, err := d.Token()
		require.NoError(t, err)
		var v any
		require.NoError(t, d.Decode(&v))
		names = append(names, key.(string))
		values[key.(string)] = flat(v)
	}
	return names, values
}

func flat(v any) []float64 {
	switch v := v.(type) {
	case float64:
		return []float64{v}
	case []any:
		var out []float64
		for _, e := range v {
			out = append(out, flat(e)...)
		}
		return out
	}
	return []float64{math.NaN()}
}

// TestConformance opens models that Keras saved, with their weights and optimizer state, and compares predictions,
// evaluations, histories and trained weights with what Keras computed from the same inputs.
func TestConformance(t *testing.T) {
	file := vectors.Load(t, "conformance")
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			var extra conformanceCase
			c.DecodeExtra(t, &extra)
			m := conformanceModel(t, &c)
			switch extra.Command {
			case "evaluate":
				logs, err := m.EvaluateLogs(context.Background(), conformanceData(t, &c, extra, ""), batchSize(extra))
				require.NoError(t, err)
				names, want := orderedNumbers(t, extra.Expected.Evaluate)
				require.ElementsMatch(t, names, logs.Names())
				for _, name := range names {
					extra.close(t, name, logs.Vector(name), want[name])
				}
			case "fit":
				conformanceFit(t, m, &c, extra)
			}
			if extra.Command != "evaluate" {
				conformancePredict(t, m, &c, extra)
			}
		})
	}
}

func batchSize(extra conformanceCase) keras.LoopOption {
	return keras.BatchSize(extra.Args.BatchSize) // 0 is the default
}

func conformanceModel(t *testing.T, c *vectors.Case) *keras.Model {
	t.Helper()
	m, err := keras.ModelFromJSON(c.Config, distribute.Scope(testdevice.Strategy()))
	require.NoError(t, err)
	vars := m.Weights()
	var weights, state []kernels.Array
	for _, w := range c.Weights {
		optimizer := strings.HasPrefix(w.Name, "optimizer/")
		if !optimizer {
			require.Less(t, len(weights), len(vars), "the model has fewer weights than the file")
			a, err := kernels.FromFloat64s(vars[len(weights)].Type().DType, w.Shape, w.Data)
			require.NoError(t, err)
			weights = append(weights, a)
			continue
		}
		dtype := vars[0].Type().DType
		a, err := kernels.FromFloat64s(dtype, w.Shape, w.Data)
		require.NoError(t, err)
		state = append(state, a)
	}
	require.NoError(t, m.SetWeights(weights))
	// Keras forgets when loading that a mixed_float16 model scales its loss, and trains without scaling, so there is no
	// state to compare.
	if state != nil && !strings.HasPrefix(c.Name, "dtype_fit/mixed_float16") {
		require.NoError(t, m.SetOptimizerArrays(state))
	}
	return m
}

func conformanceData(t *testing.T, c *vectors.Case, extra conformanceCase, prefix string) *data.ArraySource {
	t.Helper()
	order := func(v any, names []string) any {
		s, ok := v.(data.Tensors)
		if !ok {
			return v
		}
		out := data.Tensors{}
		for _, name := range names {
			if a := s.Get(name); !a.IsZero() {
				out.Names, out.Arrays = append(out.Names, name), append(out.Arrays, a)
			}
		}
		return out
	}
	var options []data.ArrayOption
	if w := source(t, c, prefix+"sample_weight"); w != nil {
		options = append(options, data.SampleWeight(order(w, extra.OutputNames)))
	}
	s := data.Arrays(order(source(t, c, prefix+"x"), extra.InputNames), order(source(t, c, prefix+"y"), extra.OutputNames), options...)
	require.NoError(t, s.Err())
	return s
}

func conformanceFit(t *testing.T, m *keras.Model, c *vectors.Case, extra conformanceCase) {
	t.Helper()
	options := []keras.FitOption{batchSize(extra), keras.Shuffle(false), keras.Epochs(max(extra.Args.Epochs, 1)), keras.ValidationSplit(extra.Args.ValidationSplit)}
	if extra.Args.ClassWeight != nil {
		options = append(options, keras.ClassWeight(intKeys(t, extra.Args.ClassWeight)))
	}
	if source(t, c, "val_x") != nil {
		options = append(options, keras.ValidationData(conformanceData(t, c, extra, "val_")))
	}
	history, err := m.Fit(context.Background(), conformanceData(t, c, extra, ""), options...)
	require.NoError(t, err)
	names, want := orderedNumbers(t, extra.Expected.History)
	require.ElementsMatch(t, names, history.Names())
	for _, name := range names {
		got := history.Logs[name]
		if v := history.Vectors[name]; v != nil {
			got = slices.Concat(v...)
		}
		extra.close(t, name, got, want[name])
	}
	vars, state := m.Weights(), m.Optimizer().Variables()
	for _, w := range c.Outputs {
		var i int
		switch {
		case strings.HasPrefix(w.Name, "final/"):
			_, err := fmt.Sscanf(w.Name, "final/%d", &i)
			require.NoError(t, err)
			value, err := vars[i].Value()
			require.NoError(t, err)
			extra.close(t, w.Name, value.Float64s(), w.Data)
		case strings.HasPrefix(w.Name, "final_optimizer/"):
			_, err := fmt.Sscanf(w.Name, "final_optimizer/%d", &i)
			require.NoError(t, err)
			if strings.HasPrefix(c.Name, "dtype_fit/mixed_float16") {
				continue
			}
			require.Less(t, i, len(state), "optimizer variables")
			value, err := state[i].Value()
			require.NoError(t, err)
			extra.close(t, w.Name, value.Float64s(), w.Data)
		}
	}
}

func conformancePredict(t *testing.T, m *keras.Model, c *vectors.Case, extra conformanceCase) {
	t.Helper()
	x := conformanceData(t, c, extra, "")
	out, err := m.PredictAll(context.Background(), data.Arrays(x.All().X, nil), batchSize(extra))
	require.NoError(t, err)
	checked := 0
	for _, w := range c.Outputs {
		kind, name, _ := strings.Cut(w.Name, "/")
		if kind != "output" {
			continue
		}
		i := max(slices.Index(m.OutputNames(), name), 0)
		require.Equal(t, w.Shape, out[i].Shape(), w.Name)
		extra.close(t, w.Name, floats(out[i]), w.Data)
		checked++
	}
	require.Positive(t, checked, "no expected output")
}
