package schedules_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	_ "github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

func decode(t testing.TB, c vectors.Case) schedules.Schedule {
	t.Helper()
	s, err := schedules.FromObject(config.Object{ClassName: c.Class, Config: c.Config})
	require.NoError(t, err)
	return s
}

// rates traces a schedule for many steps at once, in the given type.
func rates(t testing.TB, s schedules.Schedule, d ir.DType, steps []float64) []float64 {
	t.Helper()
	f := func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		step := in[0]
		if d == ir.Float64 {
			step = ops.Cast(step, d)
		}
		return []*ops.Tensor{s.Rate(step)}
	}
	out := opstest.EvalOn(t, "cpu", f, opstest.Ints([]int{len(steps)}, steps...).As(ir.Int64))
	require.Equal(t, d, out[0].DType)
	return out[0].F
}

func TestAgainstKeras(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range vectors.Load(t, "schedules").Cases {
		seen[c.Class] = true
		t.Run(c.Name, func(t *testing.T) {
			if c.DType == "float64" {
				// Keras's JAX backend takes cosines in float32 here.
				c.RTol, c.ATol = 1e-6, 1e-8
			}
			s := decode(t, c)
			steps, want := c.Input(t, "step").Data, c.Output(t, "learning_rate")
			d, err := ir.ParseDType(c.DType)
			require.NoError(t, err)
			got := rates(t, s, d, steps)
			c.Close(t, "learning rate", got, []int{len(steps)}, want)
			at := make([]float64, len(steps))
			for i, step := range steps {
				at[i] = s.At(int64(step))
			}
			c.Close(t, "At", at, []int{len(steps)}, want)
		})
	}
	for _, class := range schedules.ClassNames() {
		require.True(t, seen[class], "there is no case of %s", class)
	}
}

func TestConfigRoundTrip(t *testing.T) {
	for _, c := range vectors.Load(t, "schedules").Cases {
		got, err := config.Encode(decode(t, c))
		require.NoError(t, err)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(c.Config), string(text), c.Name)
	}
}

// TestGolden holds numbers that Keras printed for the steps below.
func TestGolden(t *testing.T) {
	steps := []float64{0, 1, 3, 4, 5, 8, 9, 12, 20}
	for _, c := range []struct {
		name string
		s    schedules.Schedule
		want []float64
	}{
		{"cosine", &schedules.CosineDecay{InitialLearningRate: 0.1, DecaySteps: 10, Alpha: 0.1},
			[]float64{.1, .097798, .08145, .068906, .055, .018594, .012202, .01, .01}},
		{"warm-up", &schedules.CosineDecay{DecaySteps: 10, WarmupTarget: new(0.1), WarmupSteps: 4},
			[]float64{0, .025, .075, .1, .097553, .065451, .05, .009549, 0}},
		{"restarts", &schedules.CosineDecayRestarts{InitialLearningRate: 0.1, FirstDecaySteps: 4, MMul: new(0.5)},
			[]float64{.1, .085355, .014645, .05, .048097, .025, .015433, .025, .0125}},
		{"polynomial", &schedules.PolynomialDecay{InitialLearningRate: 0.1, DecaySteps: 4, Cycle: true},
			[]float64{.1, .075025, .025075, .0001, .037563, .0001, .025075, .0001, .0001}},
		{"piecewise", &schedules.PiecewiseConstantDecay{Boundaries: []int{4, 8}, Values: []float64{.1, .05, .01}},
			[]float64{.1, .1, .1, .1, .05, .05, .01, .01, .01}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := vectors.Array{Shape: []int{len(steps)}, Data: c.want}
			for _, d := range []ir.DType{ir.Float32, ir.Float64} {
				vectors.AllClose(t, d.String(), rates(t, c.s, d, steps), want, 0, 6e-7)
			}
			for i, step := range steps {
				require.InDelta(t, c.want[i], c.s.At(int64(step)), 6e-7)
			}
		})
	}
}

// TestRestartsAreExact: at a restart the rate is the initial one again, and in the step before it has come down, also
// where the rounding of Keras's logarithm finds the decay before: a multiplier of 1.2 and 5 steps do in step 11.
func TestRestartsAreExact(t *testing.T) {
	for _, c := range []struct{ mul, first float64 }{{1, 1000}, {1.5, 1000}, {2, 1000}, {3, 1000}, {1.2, 5}, {1.2, 10}, {1.2, 25}, {1.25, 16}, {1.5, 16}, {10, 1}, {1.3, 318}, {1.1, 369}} {
		s := &schedules.CosineDecayRestarts{InitialLearningRate: 1, FirstDecaySteps: c.first, TMul: c.mul}
		at, length := 0.0, c.first
		for i := range 9 {
			if step := math.Round(at); math.Abs(at-step) < 1e-9*at || at == 0 {
				got := rates(t, s, ir.Float32, []float64{step, max(step-1, 0)})
				require.InDelta(t, 1, got[0], 1e-4, "%v: step %v", c, step)
				require.InDelta(t, 1, s.At(int64(step)), 1e-4, "%v: step %v", c, step)
				if i > 0 {
					left := math.Pow(math.Pi*c.mul/length, 2) // the cosine one step before its end, about
					require.Less(t, got[1], left, "%v: before step %v", c, step)
					require.Less(t, s.At(int64(step)-1), left, "%v: before step %v", c, step)
				}
			}
			at, length = at+length, length*c.mul
			if at > 1e6 { // where a step is about the rounding of float32
				break
			}
		}
	}
}

// TestManyRestarts: decays of equal lengths go on restarting where a step is about the rounding of float32.
func TestManyRestarts(t *testing.T) {
	for _, first := range []float64{2, 3, 7, 1000, 12345} {
		s := &schedules.CosineDecayRestarts{InitialLearningRate: 1, FirstDecaySteps: first, TMul: 1}
		for _, i := range []float64{1, 99, 333, 1e6, 4e6} {
			step := i * first
			if step > 1<<24 {
				break
			}
			got := rates(t, s, ir.Float32, []float64{step, step - 1})
			left := (1 + math.Cos(math.Pi*(first-1)/first)) / 2
			require.InDeltaSlice(t, []float64{1, left}, got, 1e-5, "step %v", step)
			require.InDeltaSlice(t, []float64{1, left}, []float64{s.At(int64(step)), s.At(int64(step) - 1)}, 1e-9, "step %v", step)
		}
	}
}

// A warm-up of no steps is none: the rate falls from the target at once, as Keras 3.15 has it.
func TestCosineDecayWithoutWarmupSteps(t *testing.T) {
	s := &schedules.CosineDecay{InitialLearningRate: 0.1, DecaySteps: 10, Alpha: 0.25, WarmupTarget: new(0.5)}
	steps, want := []float64{0, 3, 10, 11}, []float64{0.5, 0.42270973324775696, 0.125, 0.125}
	require.InDeltaSlice(t, want, rates(t, s, ir.Float32, steps), 1e-7)
	for i, step := range steps {
		require.InDelta(t, want[i], s.At(int64(step)), 1e-7)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		s    schedules.Schedule
		want string
	}{
		{&schedules.ExponentialDecay{InitialLearningRate: 1}, "ExponentialDecay: DecaySteps must be positive, received 0"},
		{&schedules.InverseTimeDecay{DecaySteps: -1}, "InverseTimeDecay: DecaySteps must be positive, received -1"},
		{&schedules.PolynomialDecay{}, "DecaySteps must be positive"},
		{&schedules.CosineDecay{DecaySteps: 1, WarmupSteps: -2}, "WarmupSteps must not be negative, received -2"},
		{&schedules.CosineDecayRestarts{}, "FirstDecaySteps must be positive"},
		{&schedules.CosineDecayRestarts{FirstDecaySteps: 1, TMul: 0.5}, "TMul must be at least 1, received 0.5"},
		{&schedules.PiecewiseConstantDecay{Boundaries: []int{1, 2}, Values: []float64{1, 2}}, "needs one value more than boundaries, received 2 values for 2 boundaries"},
		{&schedules.PiecewiseConstantDecay{Boundaries: []int{2, 2}, Values: []float64{1, 2, 3}}, "boundaries must increase, received [2 2]"},
	} {
		require.ErrorContains(t, schedules.Check(c.s), c.want)
		err := opstest.EvalError(func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{c.s.Rate(in[0])} }, opstest.Ints(nil, 0))
		require.ErrorContains(t, err, c.want)
	}
	_, err := schedules.New("Nothing")
	require.ErrorContains(t, err, `unknown class "Nothing"; known: CosineDecay, CosineDecayRestarts, ExponentialDecay`)
	_, err = schedules.FromObject(config.Object{ClassName: "CosineDecay", Config: json.RawMessage(`{"initial_learning_rate":1,"decay_steps":0}`)})
	require.ErrorContains(t, err, "DecaySteps must be positive")
}
