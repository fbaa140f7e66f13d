package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLayerNorm compares with float64 sums by the definition, for rows that are whole vectors and others, far from zero
// too.
func TestLayerNorm(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 42))
		for _, cols := range []int{1, 3, 7, 8, 15, 16, 17, 24, 32, 33, 63, 100, 128, 511, 600, 1030, 1629} {
			for _, rows := range []int{1, 2, 31, 32, 33, 70} {
				checkLayerNorm[float32](t, rng, rows, cols, 1e-5)
				checkLayerNorm[float64](t, rng, rows, cols, 1e-13)
			}
		}
		LayerNorm[float32](nil, nil, nil, nil, nil, nil, 1e-3)
		LayerNormGrad[float32](nil, nil, nil, nil, nil, nil, nil, nil, nil)
	})
}

func checkLayerNorm[T Float](t *testing.T, rng *rand.Rand, rows, cols int, tolerance float64) {
	t.Helper()
	const epsilon = 1e-3
	x, dy, gamma, beta := random[T](rng, rows*cols), random[T](rng, rows*cols), random[T](rng, cols), random[T](rng, cols)
	for i := range x {
		x[i] += 5
	}
	y, dx, mean, rstd := random[T](rng, rows*cols), random[T](rng, rows*cols), random[T](rng, rows), random[T](rng, rows)
	dgamma, dbeta := make([]T, cols), make([]T, cols)
	wantGamma, wantBeta := make([]float64, cols), make([]float64, cols)
	for c := range cols {
		dgamma[c], dbeta[c] = 1, 2
		wantGamma[c], wantBeta[c] = 1, 2
	}
	LayerNorm(y, x, gamma, beta, mean, rstd, epsilon)
	LayerNormGrad(dx, dgamma, dbeta, x, gamma, mean, rstd, dy, make([]T, 2*cols))
	n := float64(cols)
	for r := range rows {
		m, variance, g, gn := 0.0, 0.0, 0.0, 0.0
		for c := range cols {
			m += float64(x[r*cols+c]) / n
		}
		for c := range cols {
			variance += math.Pow(float64(x[r*cols+c])-m, 2) / n
		}
		s := 1 / math.Sqrt(variance+epsilon)
		require.InDelta(t, m, float64(mean[r]), 10*tolerance)
		require.InEpsilon(t, s, float64(rstd[r]), 100*tolerance)
		norm := func(c int) float64 { return (float64(x[r*cols+c]) - m) * s }
		up := func(c int) float64 { return float64(dy[r*cols+c]) }
		for c := range cols {
			g += up(c) * float64(gamma[c]) / n
			gn += up(c) * float64(gamma[c]) * norm(c) / n
			wantGamma[c] += up(c) * norm(c)
			wantBeta[c] += up(c)
		}
		for c := range cols {
			near := func(want float64, got T, what string) {
				t.Helper()
				if !(math.Abs(want-float64(got)) <= 40*tolerance*(1+s)*(1+math.Abs(want))) {
					t.Fatalf("%d rows of %d: %s[%d, %d] is %v, want %v", rows, cols, what, r, c, got, want)
				}
			}
			near(norm(c)*float64(gamma[c])+float64(beta[c]), y[r*cols+c], "y")
			near(s*(up(c)*float64(gamma[c])-g-norm(c)*gn), dx[r*cols+c], "dx")
		}
	}
	for c := range cols {
		require.InDelta(t, wantGamma[c], float64(dgamma[c]), 400*tolerance*float64(rows))
		require.InDelta(t, wantBeta[c], float64(dbeta[c]), 40*tolerance*float64(rows))
	}
}
