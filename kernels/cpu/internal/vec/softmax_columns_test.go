package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScoreColumns draws blocks of keys, some of them hidden, and compares with sums in float64: the powers divided by
// their sums, the logarithms of the sums, and a product with the powers that is accumulated over the blocks.
func TestScoreColumns(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 42))
		for range 60 {
			c := ScoreColumns{Used: 1 + rng.IntN(Columns), Scale: float32(math.Exp(rng.NormFloat64()))}
			queries, hidden := c.Used, [3]float64{0, 0.3, 0.9}[rng.IntN(3)]
			c.Begin()
			var logits, values [][]float64 // for each key: the scores of all queries, and the numbers that the powers are multiplied by
			const width = 2
			y := make([]float32, width*Columns)
			for range 1 + rng.IntN(3) {
				keys := 1 + rng.IntN(70)
				x, seen := random[float32](rng, keys*Columns), make([]uint32, keys)
				v := random[float32](rng, keys*width)
				for k := range keys {
					row := make([]float64, Columns)
					for q := range row {
						x[k*Columns+q] *= 10
						row[q] = float64(x[k*Columns+q]) * float64(c.Scale)
						if rng.Float64() >= hidden {
							seen[k] |= 1 << q
						} else {
							x[k*Columns+q], row[q] = float32(math.NaN()), math.Inf(-1)
						}
					}
					logits, values = append(logits, row), append(values, []float64{float64(v[k*width]), float64(v[k*width+1])})
				}
				HideColumns(x, seen)
				c.Softmax(x)
				c.Rescale(y)
				for k := range keys {
					for w := range width {
						for q := range queries {
							y[w*Columns+q] += v[k*width+w] * x[k*Columns+q]
						}
					}
				}
			}
			c.Finish(y)
			total := make([]float32, queries)
			c.Totals(total)
			for q := range queries {
				largest, sum, want := math.Inf(-1), 0.0, [width]float64{}
				for _, row := range logits {
					largest = max(largest, row[q])
				}
				for k, row := range logits {
					p := math.Exp(row[q] - largest)
					if math.IsInf(largest, -1) {
						p = 0
					}
					sum += p
					for w := range want {
						want[w] += p * values[k][w]
					}
				}
				if sum == 0 {
					require.True(t, math.IsInf(float64(total[q]), -1))
					require.Zero(t, y[q])
					continue
				}
				require.InDelta(t, largest+math.Log(sum), float64(total[q]), 4e-6*max(1, math.Abs(largest)), "%d of %d queries, %d keys", q, queries, len(logits))
				for w := range want {
					require.InDelta(t, want[w]/sum, float64(y[w*Columns+q]), 1e-5*max(1, math.Abs(largest)/10), "%d of %d queries, %d keys", q, queries, len(logits))
				}
			}
		}
	})
}

// TestScoreColumnsPowers: powers are accurate to a few ULP, whatever the scores are, and 0 for hidden keys.
func TestScoreColumnsPowers(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		const rows = 500
		x := make([]float32, rows*Columns)
		for i := range x {
			x[i] = -float32(i) * 90 / float32(len(x))
		}
		for q := range Columns {
			x[q] = 0
		}
		x[7*Columns+5] = float32(math.Inf(-1))
		before := append([]float32(nil), x...)
		c := ScoreColumns{Used: Columns, Scale: 1}
		c.Begin()
		c.Softmax(x)
		for i, v := range before {
			want := math.Exp(float64(v))
			if want < 0x1p-125 {
				want = 0
				require.LessOrEqual(t, x[i], float32(0x1p-125))
				continue
			}
			require.InEpsilon(t, 1+want, 1+float64(x[i]), 4e-7)
			require.InDelta(t, want, float64(x[i]), want*(3e-7+2e-7*math.Abs(float64(v))), "e to the %v", v)
		}
		require.Zero(t, x[7*Columns+5])
	})
}

// TestScoreColumnsSpecialValues: NaN and infinities turn their own column into NaN, and no other.
func TestScoreColumnsSpecialValues(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			x := make([]float32, 9*Columns)
			x[4*Columns+6] = float32(bad)
			c := ScoreColumns{Used: 20, Scale: 0.5}
			c.Begin()
			c.Softmax(x[:5*Columns])
			c.Softmax(x[5*Columns:])
			y, total := make([]float32, Columns), make([]float32, 20)
			for i := range y {
				y[i] = 9
			}
			c.Finish(y)
			c.Totals(total)
			for q := range 20 {
				if q == 6 {
					require.True(t, y[q] != y[q] && total[q] != total[q])
					continue
				}
				require.InDelta(t, 1, y[q], 1e-6)
				require.InDelta(t, math.Log(9), total[q], 1e-6)
			}
		}
	})
}

// TestSeenWords compares with a loop over single bits.
func TestSeenWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	for range 300 {
		keys, queries := rng.IntN(100), 1+rng.IntN(Columns)
		step := rng.IntN(3)
		rowStep := []int{0, 1, keys*step + 3}[rng.IntN(3)]
		mask := make([]uint8, 40*(rowStep+1)+(keys+1)*step)
		for i := range mask {
			mask[i] = uint8(rng.IntN(2))
		}
		seen := make([]uint32, keys)
		SeenWords(seen, mask, queries, rowStep, step)
		for k, word := range seen {
			for q := range queries {
				require.Equal(t, uint32(mask[q*rowStep+k*step]), word>>q&1, "key %d, query %d, steps %d, %d", k, q, rowStep, step)
			}
		}
	}
}
