package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// scoreCases lists blocks of every number of columns around the groups, for queries that see all of them and for causal
// ones.
func scoreCases() (list []Scores) {
	for _, cols := range []int{1, 7, 15, 16, 17, 31, 32, 33, 50, 64, 100, 128, 200, 1300} {
		s := Scores{Rows: 70, Cols: cols, Stride: ScoreStride(cols), Seen: cols}
		list = append(list, s)
		for _, first := range []int{1, 2, 16, 17, cols} {
			s.Seen, s.Step = first, 1
			list = append(list, s)
		}
	}
	return append(list, Scores{Rows: 1, Cols: 5, Stride: 16, Seen: 5}, Scores{Rows: 3, Seen: 1}, Scores{Cols: 5, Stride: 16, Seen: 5})
}

// probabilitiesOf returns the exact probabilities of a row, and the logarithm of the sum.
func probabilitiesOf(row []float32, scale float64) (p []float64, total float64) {
	largest := math.Inf(-1)
	for _, v := range row {
		largest = max(largest, scale*float64(v))
	}
	p = make([]float64, len(row))
	if math.IsInf(largest, -1) {
		return p, largest
	}
	sum := 0.0
	for i, v := range row {
		p[i] = math.Exp(scale*float64(v) - largest)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p, largest + math.Log(sum)
}

func (s Scores) String() string {
	return fmt.Sprintf("%dx%d from %d step %d", s.Rows, s.Cols, s.Seen, s.Step)
}

func TestSoftmaxRows(t *testing.T) {
	const scale = 0.3
	nan := float32(math.NaN())
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 32))
		for _, s := range scoreCases() {
			x, d := make([]float32, s.Rows*s.Stride), make([]float32, s.Rows*s.Stride)
			for i := range x {
				x[i], d[i] = float32(rng.NormFloat64()*5), float32(rng.NormFloat64())
			}
			for r := range s.Rows {
				for c := s.Sees(r); c < s.Stride; c++ {
					x[r*s.Stride+c], d[r*s.Stride+c] = nan, nan // must not be read
				}
				if r%3 == 1 && s.Cols > 0 {
					x[r*s.Stride] = float32(math.Inf(-1))
				}
				if r == 4 {
					for c := range s.Sees(r) {
						x[r*s.Stride+c] = float32(math.Inf(-1))
					}
				}
			}
			scores := append([]float32(nil), x...)
			up := append([]float32(nil), d...)
			total := make([]float32, s.Rows)
			SoftmaxRows(x, total, s, scale)
			p := append([]float32(nil), scores...)
			SoftmaxRowsGrad(p, d, total, s, scale)
			for r := range s.Rows {
				seen := s.Sees(r)
				row := scores[r*s.Stride:][:seen]
				want, sum := probabilitiesOf(row, float64(float32(scale)))
				require.True(t, math.Abs(float64(total[r])-sum) <= 2e-6*max(1, math.Abs(sum)) || float64(total[r]) == sum, "%v row %d: %v, want %v", s, r, total[r], sum)
				mean := 0.0
				for c, q := range want {
					mean += q * float64(up[r*s.Stride+c])
				}
				for c := range s.Cols {
					at, q, slope := r*s.Stride+c, 0.0, 0.0
					if c < seen {
						q = want[c]
						slope = scale * q * (float64(up[at]) - mean)
					}
					require.True(t, math.Abs(float64(x[at])-q) <= 3e-6*q+1e-30, "%v row %d column %d: %v, want %v", s, r, c, x[at], q)
					require.True(t, math.Abs(float64(p[at])-q) <= 6e-6*q+1e-30, "%v row %d column %d again: %v, want %v", s, r, c, p[at], q)
					require.True(t, math.Abs(float64(d[at])-slope) <= 1e-6*q*5+1e-30, "%v row %d column %d gradient: %v, want %v", s, r, c, d[at], slope)
				}
			}
		}
	})
}

// TestSoftmaxRowsSpecialValues: NaN and infinities turn their own row into NaN, and no other.
func TestSoftmaxRowsSpecialValues(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			for _, at := range []int{0, 17, 39} {
				s := Scores{Rows: 3, Cols: 40, Stride: ScoreStride(40), Seen: 40}
				x, total := make([]float32, s.Rows*s.Stride), make([]float32, s.Rows)
				x[s.Stride+at] = float32(bad)
				SoftmaxRows(x, total, s, 1)
				for c := range 40 {
					require.InDelta(t, 1./40, x[c], 1e-8)
					require.True(t, x[s.Stride+c] != x[s.Stride+c], "column %d of a row with %v", c, bad)
					require.InDelta(t, 1./40, x[2*s.Stride+c], 1e-8)
				}
				require.True(t, total[1] != total[1])
				require.InDelta(t, math.Log(40), total[2], 1e-6)
			}
		}
	})
}

func TestSoftmaxRowsFloat64(t *testing.T) {
	s := Scores{Rows: 2, Cols: 3, Stride: ScoreStride(3), Seen: 2, Step: 1}
	x, total := make([]float64, s.Rows*s.Stride), make([]float64, 2)
	copy(x, []float64{1, 2, 9})
	copy(x[s.Stride:], []float64{1, 2, 3})
	scores := append([]float64(nil), x...)
	SoftmaxRows(x, total, s, 2)
	e := math.Exp(-2)
	require.InDeltaSlice(t, []float64{e / (1 + e), 1 / (1 + e), 0}, x[:3], 1e-15)
	require.InDelta(t, 4+math.Log(1+e), total[0], 1e-15)
	d := make([]float64, len(x))
	d[0] = 1
	SoftmaxRowsGrad(scores, d, total, s, 2)
	require.InDeltaSlice(t, x, scores, 1e-15)
	require.InDeltaSlice(t, []float64{2 * x[0] * (1 - x[0]), -2 * x[1] * x[0], 0}, d[:3], 1e-15)
	require.InDeltaSlice(t, []float64{0, 0, 0}, d[s.Stride:][:3], 1e-15)
}

// TestSoftmaxRowsGradOfRoundedTotals: the gradients of a row sum to 0 even if the logarithm of its sum was rounded to
// few digits.
func TestSoftmaxRowsGradOfRoundedTotals(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(33, 34))
		s := Scores{Rows: 3, Cols: 40, Stride: ScoreStride(40), Seen: 40}
		p, d, total := random[float32](rng, s.Rows*s.Stride), make([]float32, s.Rows*s.Stride), make([]float32, s.Rows)
		x := append([]float32(nil), p...)
		SoftmaxRows(x, total, s, 1)
		for i := range d {
			d[i] = 100 + float32(rng.NormFloat64())
		}
		for r := range total {
			total[r] += 0.02
		}
		SoftmaxRowsGrad(p, d, total, s, 1)
		for r := range s.Rows {
			sum := 0.0
			for _, v := range d[r*s.Stride:][:s.Cols] {
				sum += float64(v)
			}
			require.InDelta(t, 0, sum, 1e-4)
		}
	})
}

func TestHideRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(35, 36))
		for _, s := range scoreCases() {
			for _, steps := range [][2]int{{s.Cols, 1}, {s.Cols + 3, 1}, {0, 1}, {1, 0}, {0, 0}} {
				x := random[float32](rng, s.Rows*s.Stride)
				before := append([]float32(nil), x...)
				mask := make([]uint8, s.Rows*steps[0]+s.Cols*steps[1]+1)
				for i := range mask {
					mask[i] = []uint8{0, 1, 255}[rng.IntN(3)]
				}
				HideRows(x, s, mask, steps[0], steps[1])
				for r := range s.Rows {
					for c := range s.Cols {
						want := before[r*s.Stride+c]
						if mask[r*steps[0]+c*steps[1]] == 0 {
							want = float32(math.Inf(-1))
						}
						require.True(t, x[r*s.Stride+c] == want, "%v, steps %v: row %d column %d is %v, want %v", s, steps, r, c, x[r*s.Stride+c], want)
					}
				}
			}
		}
	})
}
