package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReductions(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		for _, n := range append(lengths, 1024, 1025, 2048, 4097, 100000) {
			x, y := random[float32](rng, n), random[float32](rng, n)
			var sum, size, dot, dotSize float64
			largest := math.Inf(-1)
			for i := range x {
				sum += float64(x[i])
				size += math.Abs(float64(x[i]))
				dot += float64(x[i]) * float64(y[i])
				dotSize += math.Abs(float64(x[i]) * float64(y[i]))
				largest = max(largest, float64(x[i]))
			}
			bound := 0x1p-24 * (math.Log2(float64(n+1)) + 130)
			require.InDelta(t, sum, float64(Sum(x)), bound*size, "n %d", n)
			require.InDelta(t, dot, float64(Dot(x, y)), bound*dotSize, "n %d", n)
			require.Equal(t, float32(largest), MaxOf(x), "n %d", n)
			if n > 0 {
				x[rng.IntN(n)] = float32(math.NaN())
				require.True(t, math.IsNaN(float64(MaxOf(x))))
				require.True(t, math.IsNaN(float64(Sum(x))))
			}
		}
		require.Equal(t, 6.0, Sum([]float64{1, 2, 3}))
		require.Equal(t, 14.0, Dot([]float64{1, 2, 3}, []float64{1, 2, 3}))
		require.Equal(t, 3.0, MaxOf([]float64{1, 3, 2}))
		inf := float32(math.Inf(-1))
		require.Equal(t, inf, MaxOf([]float32{inf, inf}))
	})
}

// TestDoubleSumsHaveOneOrder compares the bits of sums of float64 with those of loops in the same order: in eight
// lanes, and down the rows.
func TestDoubleSumsHaveOneOrder(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(19, 20))
		for _, n := range append(lengths, 40, 48, 50, 64, 71, sumBlock) {
			x, y := random[float64](rng, n), random[float64](rng, n)
			var s [8]float64
			for i, v := range x {
				s[i%8] += float64(v * y[i])
			}
			if n <= sumBlock { // longer ones are added in pairs
				require.Equal(t, join(&s), Dot(x, y), "n %d", n)
			}
			for _, rows := range []int{1, 3, 4, 7, 64} {
				cols := n / rows
				want, got := make([]float64, cols), make([]float64, cols)
				for i, v := range x[:rows*cols] {
					want[i%cols] += v
				}
				SumRows(got, x, rows, cols, cols)
				require.Equal(t, want, got, "%d rows of %d", rows, cols)
			}
		}
	})
}

// TestSumIsPairwise adds up a number whose plain float32 sum loses accuracy, also in 64 lanes.
func TestSumIsPairwise(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		x := make([]float32, 1<<24)
		for i := range x {
			x[i] = 0.1
		}
		want := float64(x[0]) * float64(len(x))
		require.InEpsilon(t, want, float64(Sum(x)), 1e-6)
		require.InEpsilon(t, want*float64(x[0]), float64(Dot(x, x)), 1e-6)
	})
}

func TestSoftmax(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(13, 14))
		for _, n := range lengths {
			x := random[float32](rng, n)
			for i := range x {
				x[i] = x[i]*20 + 500
			}
			var total float64
			for _, v := range x {
				total += math.Exp(float64(v) - 500)
			}
			dst := make([]float32, n)
			Softmax(dst, x)
			for i := range dst {
				want := math.Exp(float64(x[i])-500) / total
				require.InDelta(t, want, float64(dst[i]), 1e-6*want+1e-38)
			}
		}
		inf := float32(math.Inf(-1))
		x := []float32{inf, 0, inf}
		Softmax(x, x)
		require.Equal(t, []float32{0, 1, 0}, x)
		x = []float32{inf, inf}
		Softmax(x, x)
		require.True(t, x[0] != x[0] && x[1] != x[1])
	})
}

func TestExpAffine(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(15, 16))
		for _, n := range append(lengths, 1024, 1025, 100000) {
			x, dst := random[float32](rng, n), make([]float32, n)
			for i := range x {
				if i%7 == 3 {
					x[i] = special[i/7%3] * 30
				}
			}
			const a, b, c = 1.5, -0.75, 3.0
			sum := ExpAffine(dst, x, a, b, c)
			want := 0.0
			for i, v := range x {
				e := c * math.Exp(a*float64(v)+b)
				want += e
				require.InEpsilon(t, e, float64(dst[i]), 6e-8*(4+math.Abs(a*float64(v))), "x %v", v)
			}
			require.InDelta(t, want, float64(sum), 2e-6*want, "n %d", n)
			ExpAffine(x, x, a, b, c)
			require.Equal(t, dst, x, "in place")
		}
		inf := float32(math.Inf(-1))
		x := []float32{inf, 0, -inf, float32(math.NaN())}
		s := ExpAffine(x, x, 2, 0, 1)
		require.True(t, s != s && x[3] != x[3])
		require.Equal(t, []float32{0, 1, -inf}, x[:3])
		require.InDelta(t, 2*math.E+2, ExpAffine([]float64{0, 0}, []float64{1, 0}, 1, 0, 2), 1e-12)
	})
}

func TestAffineMul(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(17, 18))
		for _, n := range lengths {
			x, y, dst := random[float32](rng, n), random[float32](rng, n), make([]float32, n)
			AffineMul(dst, x, y, 1.25, -0.5)
			for i := range dst {
				want := (1.25*float64(x[i]) - 0.5) * float64(y[i])
				require.InDelta(t, want, float64(dst[i]), 2e-7*(1.25*math.Abs(float64(x[i]))+1)*math.Abs(float64(y[i])))
			}
			AffineMul(x, x, y, 1.25, -0.5)
			require.Equal(t, dst, x, "in place")
		}
		require.True(t, math.IsNaN(float64(func() float32 {
			x := []float32{float32(math.NaN())}
			AffineMul(x, x, x, 0, 0)
			return x[0]
		}())))
	})
}
