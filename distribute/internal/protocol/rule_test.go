package protocol

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// plainStep is what a rule does to one element with its state: the formulas of Keras's optimizers in float64.
func plainStep(r *Rule, rate, step, w, g float64, slots []float64) float64 {
	w *= 1 - rate*r.WeightLoss
	switch r.Kind {
	case SGD:
		if r.Momentum == 0 {
			return w - rate*g
		}
		slots[0] = r.Momentum*slots[0] - rate*g
		if r.Nesterov {
			return w + r.Momentum*slots[0] - rate*g
		}
		return w + slots[0]
	case Adagrad:
		slots[0] += g * g
		return w - rate*g/math.Sqrt(slots[0]+r.Epsilon)
	case Adam:
		slots[0] = r.Beta1*slots[0] + (1-r.Beta1)*g
		slots[1] = r.Beta2*slots[1] + (1-r.Beta2)*g*g
		alpha := rate * math.Sqrt(1-math.Pow(r.Beta2, step)) / (1 - math.Pow(r.Beta1, step))
		return w - alpha*slots[0]/(math.Sqrt(slots[1])+r.Epsilon)
	case RMSprop:
		slots[0] = r.Rho*slots[0] + (1-r.Rho)*g*g
		under := slots[0]
		if r.Centered {
			last := len(slots) - 1
			slots[last] = r.Rho*slots[last] + (1-r.Rho)*g
			under -= slots[last] * slots[last]
		}
		change := rate * g / math.Sqrt(under+r.Epsilon)
		if r.Momentum > 0 {
			slots[1] = r.Momentum*slots[1] + change
			change = slots[1]
		}
		return w - change
	}
	next := slots[0] + g*g // FTRL
	after, before := math.Pow(next, -r.Power), math.Pow(slots[0], -r.Power)
	slots[1] += g + 2*r.Shrinkage*w - (after-before)/rate*w
	slots[0] = next
	return (min(max(slots[1], -r.L1), r.L1) - slots[1]) / (after/rate + r.Beta/rate + 2*r.L2)
}

// TestRules: every rule does to each element, of a variable of any length, what the formulas say.
func TestRules(t *testing.T) {
	const rate = 0.05
	for name, rule := range rules {
		if rule.Kind == NoRule {
			continue
		}
		if rule.Centered {
			rule.Epsilon = 1e-3 // at 0 the difference under the root is of rounding alone
		}
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 7, 21, 64, 1037} {
				s := started(t, Definition{Name: "t", Rows: n, Width: 1, Rule: rule, Init: Init{Kind: Uniform, A: -1, B: 1, Seed: 3}})
				table := s.tables[0]
				want, slots := make([]float64, n), make([][]float64, n)
				for i := range want {
					want[i], slots[i] = float64(table.values[i]), make([]float64, len(table.slots))
					for k := range slots[i] {
						slots[i][k] = float64(table.slots[k][i])
					}
				}
				r := rand.New(rand.NewPCG(3, uint64(n)))
				for step := range 5 {
					g := randoms(r, n)
					u := Update{Op: Gradient, Rate: rate, Values: g}
					if step == 3 { // a gradient without rows
						clear(g)
						if rule.touchesAll() {
							u = Update{Op: Gradient, Rate: rate, Sparse: true}
						}
					}
					execute(t, s, push(uint64(step)+1, u))
					for i := range want {
						want[i] = plainStep(&rule, rate, float64(step+1), want[i], float64(g[i]), slots[i])
					}
				}
				for i, v := range want {
					require.InDelta(t, v, table.values[i], 2e-4, "%d of %d", i, n)
				}
			}
		})
	}
}

// BenchmarkRules updates a dense variable of 10 MB, and as many rows of a table as a batch of a recommender has.
func BenchmarkRules(b *testing.B) {
	for _, name := range []string{"momentum", "nesterov", "adagrad", "adam", "rmsprop", "rmsprop full", "ftrl"} {
		for _, lazy := range []bool{false, true} {
			rule := rules[name]
			rule.Lazy = lazy
			const width = 32
			n, what := 10<<20/4/width, "dense"
			u := Update{Op: Gradient, Rate: 1e-6}
			r := rand.New(rand.NewPCG(1, 2))
			if lazy {
				n, what = 400_000, "rows"
				u.Sparse = true
				for id := 0; id < n; id += 1 + r.IntN(39) {
					u.IDs = append(u.IDs, int64(id))
				}
				u.Values = randoms(r, width*len(u.IDs))
			} else {
				u.Values = randoms(r, width*n)
			}
			b.Run(fmt.Sprintf("%s/%s", name, what), func(b *testing.B) {
				t := started(b, Definition{Name: "t", Rows: n, Width: width, Rule: rule, Init: Init{A: 1}}).tables[0]
				b.SetBytes(int64(4 * len(u.Values)))
				b.ReportAllocs()
				t.apply(&u) // the system gives memory when it is touched first
				for b.Loop() {
					t.apply(&u)
				}
			})
		}
	}
}
