package optimizers_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/testdevice"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers/constraints"
	"github.com/gokeras/gokeras/optimizers"
)

// extra is what a case of the set records besides arrays.
type extra struct {
	LearningRates []float64       `json:"learning_rates"`
	VariableNames []string        `json:"variable_names"`
	Constraint    json.RawMessage `json:"kernel_constraint"`
	Exclude       []string        `json:"exclude_from_weight_decay"`
	OverflowSteps []int           `json:"overflow_steps"`
	DynamicScale  []float64       `json:"dynamic_scale"`
}

// extraOf returns the extras of a case, which one case lacks.
func extraOf(t testing.TB, c vectors.Case) (e extra) {
	t.Helper()
	if c.Extra != nil {
		c.DecodeExtra(t, &e)
	}
	return e
}

func decode(t testing.TB, c vectors.Case) optimizers.Optimizer {
	t.Helper()
	o, err := optimizers.Get(config.Object{ClassName: c.Class, Config: c.Config})
	require.NoError(t, err)
	return o
}

// weightsOf makes the weights of a case.
func weightsOf(t testing.TB, c vectors.Case, e extra) distribute.Variables {
	t.Helper()
	var weights distribute.Variables
	for i, in := range c.Inputs {
		value := fromVector(t, in)
		spec := distribute.VariableSpec{Name: in.Name, Shape: value.Type.Shape, DType: value.Type.DType}
		if len(e.VariableNames) > i {
			spec.Name = e.VariableNames[i]
		}
		if in.Name == "kernel" && e.Constraint != nil {
			o, err := config.ParseObject(e.Constraint)
			require.NoError(t, err)
			limit, err := constraints.Get(o)
			require.NoError(t, err)
			spec.Constraint = limit.Apply
		}
		v := distribute.NewVariable(spec)
		require.NoError(t, v.SetValue(value))
		weights = append(weights, v)
	}
	return weights
}

// kerasCases are the cases of both backends that made them. Keras on TensorFlow rounds constants to float32 in float64
// too.
func kerasCases(t testing.TB) []vectors.Case {
	other := vectors.Load(t, "optimizers_tensorflow").Cases
	for i := range other {
		other[i].RTol, other[i].ATol = max(other[i].RTol, 1e-6), max(other[i].ATol, 1e-7)
	}
	return append(vectors.Load(t, "optimizers").Cases, other...)
}

func TestAgainstKeras(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range kerasCases(t) {
		seen[c.Class] = true
		t.Run(c.Name, func(t *testing.T) {
			e := extraOf(t, c)
			o := decode(t, c)
			if e.Exclude != nil {
				x := o.(interface {
					ExcludeFromWeightDecay(distribute.Variables, ...string) error
				})
				require.NoError(t, x.ExcludeFromWeightDecay(nil, e.Exclude...))
			}
			weights := weightsOf(t, c, e)
			tr := newTrainer(t, testdevice.Strategy(), o, weights)
			got := make([][]float64, len(weights))
			for step := range 12 {
				if e.LearningRates != nil {
					rate, err := o.Rate()
					require.NoError(t, err)
					require.InDelta(t, e.LearningRates[step], rate, 1e-7, "learning rate of step %d", step)
				}
				tr.step(gradientsOf(t, c, e, step))
				for i, w := range weights {
					got[i] = append(got[i], valueOf(t, w)...)
				}
			}
			for i, w := range c.Inputs {
				want := c.Output(t, w.Name)
				c.Close(t, w.Name, got[i], want.Shape, want)
			}
			compareState(t, c, o)
			require.NoError(t, o.FinalizeVariables())
			for i, w := range c.Inputs {
				if want, ok := c.Outputs.Get(w.Name + "/finalized"); ok {
					c.Close(t, want.Name, valueOf(t, weights[i]), want.Shape, want)
				}
			}
		})
	}
	for _, class := range optimizers.ClassNames() {
		require.True(t, seen[class] || class == "Custom>halfway", "there is no case of %s", class)
	}
}

// gradientsOf cuts out the gradients of one step; those of a loss scale case are scaled, with an infinity at the
// overflows.
func gradientsOf(t testing.TB, c vectors.Case, e extra, step int) []kernels.Array {
	var grads []kernels.Array
	for _, in := range c.Inputs {
		g := c.Gradient(t, in.Name)
		n := len(in.Data)
		values := append([]float64{}, g.Data[step*n:(step+1)*n]...)
		if e.DynamicScale != nil {
			scale := 1024.0
			if step > 0 {
				scale = e.DynamicScale[step-1]
			}
			for i := range values {
				values[i] *= scale
			}
			for _, s := range e.OverflowSteps {
				if s == step && in.Name == "bias" {
					values[0] = math.Inf(1)
				}
			}
		}
		in.Data = values
		grads = append(grads, fromVector(t, in))
	}
	return grads
}

// compareState compares the optimizer's variables in file order.
func compareState(t testing.TB, c vectors.Case, o optimizers.Optimizer) {
	vars := o.Variables()
	paths := make([]string, len(vars))
	for i, v := range vars {
		paths[i] = v.Path()
	}
	require.Len(t, vars, len(c.Weights), "%v, Keras has %v", paths, c.Weights.Names())
	for i, want := range c.Weights {
		c.Close(t, want.Name, valueOf(t, vars[i]), vars[i].Type().Shape, want)
	}
}

func TestConfigRoundTrip(t *testing.T) {
	for _, c := range kerasCases(t) {
		got, err := config.Encode(decode(t, c))
		require.NoError(t, err)
		if c.Class == "Muon" && got["weight_decay"] == 0.0 {
			got["weight_decay"] = nil // the same thing
		}
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(c.Config), string(text), c.Name)
	}
}
