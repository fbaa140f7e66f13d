package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// ruleCases has the update rules on four slices and a gradient, both as the package computes them and as formulas.
var ruleCases = map[string]struct {
	step func(x [4][]float32, g []float32)
	one  func(x *[4]float32, g float32)
}{
	"Adagrad": {func(x [4][]float32, g []float32) { RuleAdagrad(x[0], x[1], g, 0.3, 1e-7) }, func(x *[4]float32, g float32) {
		x[1] += float32(g * g)
		x[0] -= float32(0.3*g) / root(x[1]+1e-7)
	}},
	"Adam": {func(x [4][]float32, g []float32) { RuleAdam(x[0], x[1], x[2], g, 0.3, 0.1, 0.001, 1e-7) }, func(x *[4]float32, g float32) {
		x[1] += float32((g - x[1]) * 0.1)
		x[2] += float32((float32(g*g) - x[2]) * 0.001)
		x[0] -= float32(0.3*x[1]) / (root(x[2]) + 1e-7)
	}},
	"Momentum": {func(x [4][]float32, g []float32) { RuleMomentum(x[0], x[1], g, 0.3, 0.9, false) }, func(x *[4]float32, g float32) {
		x[1] = float32(0.9*x[1]) - float32(0.3*g)
		x[0] += x[1]
	}},
	"Nesterov": {func(x [4][]float32, g []float32) { RuleMomentum(x[0], x[1], g, 0.3, 0.9, true) }, func(x *[4]float32, g float32) {
		x[1] = float32(0.9*x[1]) - float32(0.3*g)
		x[0] += float32(0.9*x[1]) - float32(0.3*g)
	}},
	"RMSprop":                 {rmsprop(false, false), rmspropOne(false, false)},
	"RMSpropMomentum":         {rmsprop(true, false), rmspropOne(true, false)},
	"RMSpropCentered":         {rmsprop(false, true), rmspropOne(false, true)},
	"RMSpropCenteredMomentum": {rmsprop(true, true), rmspropOne(true, true)},
	"FTRL":                    {func(x [4][]float32, g []float32) { RuleFTRL(x[0], x[1], x[2], g, 0.3, 0.2, 0.4, 0.6) }, ftrlOne(0.2)},
	"FTRLWithoutL1":           {func(x [4][]float32, g []float32) { RuleFTRL(x[0], x[1], x[2], g, 0.3, 0, 0.4, 0.6) }, ftrlOne(0)},
}

func rmsprop(momentum, centered bool) func(x [4][]float32, g []float32) {
	return func(x [4][]float32, g []float32) {
		m, average := x[2], x[3]
		if !momentum {
			m = nil
		}
		if !centered {
			average = nil
		}
		RuleRMSprop(x[0], x[1], m, average, g, 0.3, 0.9, 0.1, 1e-3, 0.8)
	}
}

func rmspropOne(momentum, centered bool) func(x *[4]float32, g float32) {
	return func(x *[4]float32, g float32) {
		x[1] = float32(0.9*x[1]) + float32(float32(0.1*g)*g)
		under := x[1]
		if centered {
			x[3] = float32(0.9*x[3]) + float32(0.1*g)
			under -= float32(x[3] * x[3])
		}
		change := float32(0.3*g) / root(under+1e-3)
		if momentum {
			x[2] = float32(0.8*x[2]) + change
			change = x[2]
		}
		x[0] -= change
	}
}

func ftrlOne(l1 float32) func(x *[4]float32, g float32) {
	return func(x *[4]float32, g float32) {
		next := x[1] + float32(g*g)
		sigma := (root(next) - root(x[1])) / 0.3
		x[2] += g + float32(0.6*x[0]) - float32(sigma*x[0])
		x[1] = next
		x[0] = (min(max(x[2], -l1), l1) - x[2]) / (root(next)/0.3 + 0.4)
	}
}

// TestRules: results have the bits of the formulas with every instruction set, at every length, also for zeros of both
// signs, infinities and NaN.
func TestRules(t *testing.T) {
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.NaN()), 1e-42, 3e38}
	for name, c := range ruleCases {
		t.Run(name, func(t *testing.T) {
			forLevels(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(4, 7))
				number := func() float32 {
					if r.IntN(12) == 0 {
						return special[r.IntN(len(special))]
					}
					return float32(r.NormFloat64())
				}
				for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, 24, 31, 33, 40, 100, callLength + 29} {
					var x, want [4][]float32
					g := make([]float32, n)
					for k := range x {
						x[k] = make([]float32, n, n+1)
						for i := range x[k] {
							if x[k][i] = number(); k > 0 && r.IntN(3) > 0 {
								x[k][i] = float32(math.Abs(float64(x[k][i]))) // sums of squares
							}
						}
						want[k] = append([]float32(nil), x[k]...)
					}
					for i := range g {
						g[i] = number()
						e := [4]float32{want[0][i], want[1][i], want[2][i], want[3][i]}
						c.one(&e, g[i])
						for k, v := range e {
							want[k][i] = v
						}
					}
					c.step(x, g)
					for k := range x {
						for i, v := range want[k] {
							same := math.Float32bits(v) == math.Float32bits(x[k][i]) || v != v && x[k][i] != x[k][i]
							require.True(t, same, fmt.Sprintf("%v at %d of %d of slice %d, expected %v", x[k][i], i, n, k, v))
						}
					}
				}
			})
		})
	}
}

const callLength = 1 << 14 // of an assembly call

// TestRulesAllocateNothing: they also do not read outside their operands.
func TestRulesAllocateNothing(t *testing.T) {
	var x [4][]float32
	for k := range x {
		x[k] = make([]float32, 40)
	}
	g := make([]float32, 40)
	for name, c := range ruleCases {
		require.Zero(t, testing.AllocsPerRun(20, func() { c.step(x, g) }), name)
		require.Panics(t, func() { c.step(x, g[:39:39]) }, name)
	}
}
