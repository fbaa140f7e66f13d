package optimizers_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// sharded returns a strategy of n logical CPU replicas that shards the state of optimizers.
func sharded(t testing.TB, n int, ops distribute.CrossDeviceOps) distribute.Strategy {
	t.Helper()
	o := distribute.MirroredOptions{ShardOptimizerState: true, CrossDeviceOps: ops}
	for i := range n {
		o.Devices = append(o.Devices, fmt.Sprintf("cpu:%d", i))
	}
	s, err := distribute.NewMirroredStrategyWith(o)
	require.NoError(t, err)
	return s
}

// TestShardedStateEqualsWhole: for every case of real Keras, replicas that hold pieces of the optimizer's state come to
// the bits of replicas that hold all of it, and to Keras's numbers.
func TestShardedStateEqualsWhole(t *testing.T) {
	for i, c := range kerasCases(t) {
		n := []int{2, 3, 8}[i%3]
		t.Run(fmt.Sprint(c.Name, n), func(t *testing.T) {
			if c.DType == "float64" {
				c.RTol, c.ATol = max(c.RTol, 1e-9), max(c.ATol, 1e-10)
			}
			e := extraOf(t, c)
			run := func(s distribute.Strategy) (distribute.Variables, optimizers.Optimizer) {
				o := decode(t, c)
				if e.Exclude != nil {
					require.NoError(t, o.(*optimizers.AdamW).ExcludeFromWeightDecay(nil, e.Exclude...))
				}
				weights := weightsOf(t, c, e)
				tr := newTrainer(t, s, o, weights)
				for step := range 12 {
					tr.step(share(t, gradientsOf(t, c, e, step), n)...)
				}
				return weights, o
			}
			weights, whole := run(mirrored(t, n))
			same, pieces := run(sharded(t, n, nil))
			for i, w := range weights {
				require.Equal(t, valueOf(t, w), valueOf(t, same[i]), w.Path())
				sameCopies(t, same[i], n)
			}
			cut := 0
			for i, v := range whole.Variables() {
				p := pieces.Variables()[i]
				require.Equal(t, valueOf(t, v), valueOf(t, p), v.Path())
				if p.Sharded() {
					cut++
					b, err := p.Buffer(0)
					require.NoError(t, err)
					require.Equal(t, ir.Shape{(p.Size() + n - 1) / n}, b.Type().Shape, "each replica holds one piece")
				}
			}
			if slots := len(whole.Variables()) > 4; slots && n < 8 {
				require.NotZero(t, cut, "nothing is sharded")
			}
			if c.DType == "float64" && c.Class != "LossScaleOptimizer" {
				for i, w := range same {
					want := c.Output(t, c.Inputs[i].Name)
					size := len(c.Inputs[i].Data)
					last := vectors.Array{Shape: w.Type().Shape, Data: want.Data[11*size:]}
					c.Close(t, want.Name, valueOf(t, w), last.Shape, last)
				}
				compareState(t, c, pieces)
			}
		})
	}
}

// TestShardedStateCombined: options that look at all of a gradient, or at the state of the step before, with every way
// of combining.
func TestShardedStateCombined(t *testing.T) {
	adam := func(o optimizers.Options) func() optimizers.Optimizer {
		return func() optimizers.Optimizer { return &optimizers.Adam{Options: o} }
	}
	cases := map[string]func() optimizers.Optimizer{
		"global clip, accumulation, EMA": adam(optimizers.Options{GlobalClipNorm: new(0.5), GradientAccumulationSteps: 3, UseEMA: true, EMAOverwriteFrequency: 2, WeightDecay: new(0.01)}),
		"clip norm, accumulation":        adam(optimizers.Options{ClipNorm: new(0.2), GradientAccumulationSteps: 2}),
		"clip value, EMA":                adam(optimizers.Options{ClipValue: new(0.1), UseEMA: true}),
		"loss scale":                     func() optimizers.Optimizer { return &optimizers.LossScaleOptimizer{Inner: &optimizers.Lion{}} },
		"loss scale, accumulation": func() optimizers.Optimizer {
			return &optimizers.LossScaleOptimizer{Inner: &optimizers.Adam{Options: optimizers.Options{GradientAccumulationSteps: 2, UseEMA: true}}}
		},
		"lamb, accumulation, EMA": func() optimizers.Optimizer {
			return &optimizers.Lamb{Options: optimizers.Options{GradientAccumulationSteps: 2, UseEMA: true, EMAOverwriteFrequency: 3, GlobalClipNorm: new(1.0)}}
		},
		"adafactor": func() optimizers.Optimizer { return &optimizers.Adafactor{} },
		"muon":      func() optimizers.Optimizer { return &optimizers.Muon{} },
		"sgd":       func() optimizers.Optimizer { return &optimizers.SGD{} },
	}
	for name, optimizer := range cases {
		for how, cross := range map[string]distribute.CrossDeviceOps{"own": nil, "ring": distribute.RingAllReduce{}, "one": distribute.ReductionToOneDevice{}} {
			t.Run(name+"/"+how, func(t *testing.T) {
				const n = 4
				run := func(s distribute.Strategy) []float64 {
					weights := distribute.Variables{}
					for i, shape := range []ir.Shape{{5, 7}, {7}, {3, 2, 3}, {2}} {
						values := numbers(i, shape.Size(), 0)
						weights = append(weights, variable(t, fmt.Sprint("w", i), array(t, ir.Float32, shape, values...)))
					}
					weights[0] = constrained(t, weights[0])
					o := optimizer()
					tr := newTrainer(t, s, o, weights)
					for step := range 7 {
						grads := gradientsFor(t, weights, n, step)
						tr.step(grads...)
					}
					require.NoError(t, o.FinalizeVariables())
					var all []float64
					for _, v := range append(append(distribute.Variables{}, weights...), o.Variables()...) {
						if v.Path() != "loss_scale_optimizer/learning_rate" {
							all = append(all, valueOf(t, v)...)
						}
					}
					return all
				}
				o := distribute.MirroredOptions{CrossDeviceOps: cross}
				for i := range n {
					o.Devices = append(o.Devices, fmt.Sprintf("cpu:%d", i))
				}
				plain, err := distribute.NewMirroredStrategyWith(o)
				require.NoError(t, err)
				require.Equal(t, run(plain), run(sharded(t, n, cross)))
			})
		}
	}
}

// TestShardedStateRefusals: replicas that do not sum their gradients cannot share the work of one update.
func TestShardedStateRefusals(t *testing.T) {
	s := sharded(t, 2, nil)
	w := variable(t, "w", array(t, ir.Float32, ir.Shape{8}, numbers(0, 8, 0)...))
	f := distribute.NewFunction(s, "step", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		r.WithoutAggregation(func() {
			(&optimizers.Adam{}).Apply(r, ops.Gradients{Of: distribute.Variables{w}, Values: in})
		})
		return nil
	})
	_, err := f.Acquire([][]ir.Type{{w.Type()}, {w.Type()}}, []int{0, 0})
	require.ErrorContains(t, err, "ShardOptimizerState")
}

// numbers returns n numbers that look random and repeat with (seed, step).
func numbers(seed, n, step int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Sin(float64(1+seed)*12.9898 + float64(i)*78.233 + float64(step)*3.7)
	}
	return out
}

// gradientsFor makes gradients for each of n replicas.
func gradientsFor(t testing.TB, weights distribute.Variables, n, step int) [][]kernels.Array {
	t.Helper()
	out := make([][]kernels.Array, n)
	for r := range out {
		for i, w := range weights {
			out[r] = append(out[r], array(t, w.Type().DType, w.Type().Shape, numbers(10*i+r, w.Size(), 1+step)...))
		}
	}
	return out
}

// constrained is the same weight with a constraint on its norm.
func constrained(t testing.TB, w *distribute.Variable) *distribute.Variable {
	t.Helper()
	value, err := w.Value()
	require.NoError(t, err)
	spec := w.Spec()
	spec.Constraint = func(w *ops.Tensor) *ops.Tensor { return ops.Divide(w, ops.AddScalar(ops.Norm(w), 1)) }
	v := distribute.NewVariable(spec)
	require.NoError(t, v.SetValue(value))
	return v
}
