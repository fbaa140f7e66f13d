package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTurnChain(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 5))
		for _, c := range []struct{ turns, width, stride int }{{0, 16, 16}, {1, 16, 16}, {2, 48, 50}, {17, 112, 130}, {5000, 16, 20}} {
			checkTurnChain[float32](t, rng, c.turns, c.width, c.stride, 0x1p-23)
			checkTurnChain[float64](t, rng, c.turns, c.width, c.stride, 0x1p-52)
		}
	})
}

// checkTurnChain compares with float64, and checks that nothing changes outside of the rows.
func checkTurnChain[T Float](t *testing.T, rng *rand.Rand, turns, width, stride int, unit float64) {
	t.Helper()
	x, angles := random[T](rng, turns*stride+width+3), make([]T, 2*turns)
	want := make([]float64, len(x))
	for i, v := range x {
		want[i] = float64(v)
	}
	for k := range turns {
		c, s := math.Cos(float64(k)), math.Sin(float64(k))
		angles[2*k], angles[2*k+1] = T(c), T(s)
		c, s = float64(angles[2*k]), float64(angles[2*k+1])
		for i := range width {
			row, behind := &want[(turns-1-k)*stride+i], &want[(turns-k)*stride+i]
			*row, *behind = c**row-s**behind, s**row+c**behind
		}
	}
	TurnChain(x, angles, turns, width, stride)
	for i, v := range x {
		near(t, want[i], float64(v), 16*float64(turns+1)*unit, "element", i, width)
	}
}
