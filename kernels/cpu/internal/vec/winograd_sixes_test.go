package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// TestWinogradSixes compares both transformations with their matrices in float64: the rows are those of the points 0,
// ±p, ±q and infinity. The kernels of all machines give the same bits, also for other numbers of repetitions and
// columns.
func TestWinogradSixes(t *testing.T) {
	p, q := 0.625, 1.5
	rows := func(point, other float64) []float64 { // (z² − other²)·z·(z + point)
		return []float64{0, -point * other * other, -other * other, point, 1, 0}
	}
	in := [][]float64{{p * p * q * q, 0, -p*p - q*q, 0, 1, 0}, rows(p, q), rows(-p, q), rows(q, p), rows(-q, p), {0, p * p * q * q, 0, -p*p - q*q, 0, 1}}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []int{1, 7, 8, 9, 16, 17, 24, 31, 48, 76, 1040, 2713} {
		for _, count := range []int{1, 2, 7, 70} {
			xLine, plane := c+rng.IntN(9), c+rng.IntN(9)
			xStep, step := 6*xLine, 6*plane+rng.IntN(5)
			x, bias := random[float32](rng, count*xStep), random[float32](rng, c)
			x[rng.IntN(len(x))] = float32(math.NaN())
			var first [3][]float32
			var vectors bool
			forLevels(t, func(t *testing.T) {
				got := [3][]float32{make([]float32, count*step), make([]float32, count*step), make([]float32, count*step)}
				WinogradSixes(got[0], x, count, c, step, plane, xStep, xLine)
				WinogradFours(got[1], x, nil, false, count, c, step, plane, xStep, xLine)
				WinogradFours(got[2], x, bias, count%2 == 1, count, c, step, plane, xStep, xLine)
				if isa.Active() != isa.Portable && !vectors {
					first, vectors = [3][]float32{}, c >= 8 // the portable kernels round after each operation
				}
				for i, y := range got {
					if first[i] == nil {
						first[i] = slices.Clone(y)
					}
					for j, want := range first[i] {
						if !(y[j] == want || want != want && y[j] != y[j] || !vectors && math.Abs(float64(y[j]-want)) < 1e-5) {
							t.Fatalf("%v instead of %v: element %d of result %d", y[j], want, j, i)
						}
					}
				}
			})
			for range 50 {
				time, k := rng.IntN(count), rng.IntN(c)
				z := make([]float64, 6)
				for j := range z {
					z[j] = float64(x[time*xStep+j*xLine+k])
				}
				check := func(want float64, got float32) {
					require.True(t, want != want || math.Abs(want-float64(got)) < 1e-5, "%v instead of %v", got, want)
				}
				for i, row := range in {
					sum := 0.0
					for j, w := range row {
						if w != 0 {
							sum += w * z[j]
						}
					}
					check(sum, first[0][time*step+i*plane+k])
				}
				for i := range 4 {
					sum := 0.0
					for j, point := range []float64{0, p, -p, q, -q} {
						if w := math.Pow(point, float64(i)); w != 0 {
							sum += w * z[j]
						}
					}
					if i == 3 {
						sum += z[5]
					}
					check(sum, first[1][time*step+i*plane+k])
					if sum += float64(bias[k]); count%2 == 1 && sum < 0 {
						sum = 0
					}
					check(sum, first[2][time*step+i*plane+k])
				}
			}
			inPlace := slices.Clone(x)
			WinogradSixes(inPlace, inPlace, count, c, xStep, xLine, xStep, xLine)
			apart := make([]float32, len(x))
			WinogradSixes(apart, x, count, c, xStep, xLine, xStep, xLine)
			for time := range count {
				for j := range 6 {
					for k := range c {
						at := time*xStep + j*xLine + k
						if inPlace[at] != apart[at] && (inPlace[at] == inPlace[at] || apart[at] == apart[at]) && (c%8 == 0 || math.Abs(float64(inPlace[at]-apart[at])) > 1e-5) {
							t.Fatalf("%v in place, %v apart", inPlace[at], apart[at])
						}
					}
				}
			}
		}
	}
}
