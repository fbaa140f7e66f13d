package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWinograd compares with the matrices of Lavin and Gray, and every path with the portable one, bit by bit.
func TestWinograd(t *testing.T) {
	in := [4][4]float64{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}
	out := [2][4]float64{{1, 1, 1, 0}, {0, 1, -1, -1}}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []int{1, 8, 16, 24, 48, 1040} {
		for _, count := range []int{1, 2, 7, 70} {
			step, line := c+rng.IntN(20), (2*count+2)*c+rng.IntN(9)
			plane := count*step + rng.IntN(9)
			x, bias := random[float32](rng, 4*line), random[float32](rng, c)
			x[rng.IntN(len(x))] = float32(math.NaN())
			var first, second []float32
			forLevels(t, func(t *testing.T) {
				v := make([]float32, 16*plane)
				WinogradInput(v, x, count, c, step, plane, line)
				y := make([]float32, 2*line)
				WinogradOutput(y, v, bias, false, count, c, step, plane, line)
				relu := make([]float32, 2*line)
				WinogradOutput(relu, v, bias, true, count, c, step, plane, line)
				for i, want := range y {
					if want < 0 {
						want = 0
					}
					require.True(t, relu[i] == want || want != want && relu[i] != relu[i])
				}
				v = append(v, y...)
				if first == nil {
					first, second = slices.Clone(v), relu
				}
				for i, want := range first {
					require.True(t, v[i] == want || want != want && v[i] != v[i], "element %d", i)
				}
				require.Len(t, second, len(relu))
			})
			tile, k := rng.IntN(count), rng.IntN(c)
			for i := range 4 {
				for j := range 4 {
					sum := 0.0
					for p := range 4 {
						for q := range 4 {
							if w := in[i][p] * in[j][q]; w != 0 {
								sum += w * float64(x[p*line+(2*tile+q)*c+k])
							}
						}
					}
					got := float64(first[(4*i+j)*plane+tile*step+k])
					require.True(t, sum != sum || math.Abs(got-sum) < 1e-5, "%v instead of %v", got, sum)
				}
			}
			for i := range 2 {
				for j := range 2 {
					sum := float64(bias[k])
					for p := range 4 {
						for q := range 4 {
							if w := out[i][p] * out[j][q]; w != 0 {
								sum += w * float64(first[(4*p+q)*plane+tile*step+k])
							}
						}
					}
					got := float64(first[16*plane+i*line+(2*tile+j)*c+k])
					require.True(t, sum != sum || math.Abs(got-sum) < 1e-4, "%v instead of %v", got, sum)
				}
			}
		}
	}
}

// TestWinogradGradient compares with the definition, and every path with the portable one, bit by bit.
func TestWinogradGradient(t *testing.T) {
	factors := [4][2]float64{{1, 0}, {0.5, 0.5}, {0.5, -0.5}, {0, 1}}
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []int{1, 8, 16, 24, 48, 1040} {
		for _, count := range []int{1, 2, 7, 70} {
			step, pixel := c+rng.IntN(20), c+rng.IntN(20)
			plane, line := count*step+rng.IntN(9), 2*count*pixel+rng.IntN(9)
			x := random[float32](rng, line+(2*count-1)*pixel+c)
			var first []float32
			forLevels(t, func(t *testing.T) {
				e := make([]float32, 15*plane+(count-1)*step+c)
				WinogradGradient(e, x, count, c, step, plane, line, pixel)
				if first == nil {
					first = e
				}
				require.Equal(t, first, e)
			})
			tile, k := rng.IntN(count), rng.IntN(c)
			for i := range 4 {
				for j := range 4 {
					sum := 0.0
					for p := range 2 {
						for q := range 2 {
							sum += factors[i][p] * factors[j][q] * float64(x[p*line+(2*tile+q)*pixel+k])
						}
					}
					require.InDelta(t, sum, first[(4*i+j)*plane+tile*step+k], 1e-6)
				}
			}
		}
	}
}
