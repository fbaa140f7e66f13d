package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// draw returns scores, some of which the mask hides; one row is hidden entirely. What must not be read is NaN.
func (s Scores) draw(rng *rand.Rand) []float32 {
	x := make([]float32, s.Rows*s.Stride)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * 5)
	}
	for r := range s.Rows {
		row := x[r*s.Stride:][:s.Stride]
		for c := s.Sees(r); c < s.Stride; c++ {
			row[c] = float32(math.NaN())
		}
		for c := range s.Sees(r) {
			if r == 4 || r%3 == 1 && c%5 == 0 {
				row[c] = float32(math.Inf(-1))
			}
		}
	}
	return x
}

// TestSoftmaxHalves compares with exact probabilities, rounded once, and once more after multiplication by the row's
// factor.
func TestSoftmaxHalves(t *testing.T) {
	const scale, half = 0.3, 1.0/256 + 1.0/65536
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(33, 34))
		for _, s := range scoreCases() {
			x, to := s.draw(rng), s.Stride+32
			scores := append([]float32(nil), x...)
			total, factors, dst := make([]float32, s.Rows), make([]float32, s.Rows), make([]uint16, s.Rows*to)
			for i := range dst {
				dst[i] = 0x7fc1
			}
			require.False(t, SoftmaxHalves(dst, x, total, factors, s, scale, to))
			for r := range s.Rows * min(s.Cols, 1) {
				want, sum := probabilitiesOf(scores[r*s.Stride:][:s.Sees(r)], float64(float32(scale)))
				require.True(t, math.Abs(float64(total[r])-sum) <= 2e-5 || float64(total[r]) == sum, "%v row %d: %v, want %v", s, r, total[r], sum)
				for c := range to {
					got := dst[r*to+c]
					if c >= s.Stride {
						require.Equal(t, uint16(0x7fc1), got, "%v row %d: written behind the row", s, r)
						continue
					}
					q := 0.0
					if c < len(want) {
						q = want[c]
					}
					p := float64(math.Float32frombits(uint32(got)<<16)) * float64(factors[r])
					require.True(t, math.Abs(p-q) <= half*q+1e-30, "%v row %d column %d: %v, want %v", s, r, c, p, q)
				}
			}
		}
	})
}

// TestSoftmaxHalvesSpecialValues: NaN and infinities turn their own row into NaN, and no other; large scores are
// reported.
func TestSoftmaxHalvesSpecialValues(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			s := Scores{Rows: 3, Cols: 40, Stride: ScoreStride(40), Seen: 40}
			x, total, factors, dst := make([]float32, 3*s.Stride), make([]float32, 3), make([]float32, 3), make([]uint16, 3*s.Stride)
			x[s.Stride+17] = float32(bad)
			SoftmaxHalves(dst, x, total, factors, s, 1, s.Stride)
			for r := range 3 {
				p := float64(math.Float32frombits(uint32(dst[r*s.Stride+2])<<16) * factors[r])
				require.Equal(t, r == 1, math.IsNaN(p) && math.IsNaN(float64(total[r])), "row %d of %v", r, bad)
				if r != 1 {
					require.InDelta(t, math.Log(40), float64(total[r]), 2e-5)
					require.InDelta(t, 1.0/40, p, 1.0/40/256)
				}
			}
		}
		s := Scores{Rows: 1, Cols: 40, Stride: ScoreStride(40), Seen: 40}
		x, total, factors, dst := make([]float32, s.Stride), make([]float32, 1), make([]float32, 1), make([]uint16, s.Stride)
		x[3] = 3e7
		require.True(t, SoftmaxHalves(dst, x, total, factors, s, 1, s.Stride))
	})
}

// TestScaleHalves compares with Scale and Narrow; what lies between the rows does not change.
func TestScaleHalves(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(35, 36))
		for _, columns := range []int{1, 8, 10, 16, 32, 40, 64, 80} {
			const rows = 37
			to, from := columns+rng.IntN(40), columns+rng.IntN(40)
			x, factors, dst := make([]float32, rows*from), make([]float32, rows), make([]uint16, rows*to)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			for r := range factors {
				factors[r] = 1 / (1 + rng.Float32())
			}
			want := make([]uint16, len(dst))
			for r, f := range factors {
				row := append([]float32(nil), x[r*from:][:columns]...)
				Scale(row, row, f)
				Float32ToBF16(want[r*to:][:columns], row)
			}
			ScaleHalves(dst, x, factors, columns, to, from)
			require.Equal(t, want, dst, "%d columns", columns)
		}
	})
}
