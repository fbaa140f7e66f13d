package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLstmCell(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		t.Run("float32", testLstmCell[float32])
		t.Run("float64", testLstmCell[float64])
	})
}

func testLstmCell[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	tolerance := 4e-6
	if T(1)+T(0x1p-30) != 1 {
		tolerance = 1e-13
	}
	near := func(want float64, got T, what string) {
		t.Helper()
		if diff := math.Abs(want - float64(got)); !(diff <= tolerance*max(1, math.Abs(want))) {
			t.Fatalf("%s is %v, expected %v", what, got, want)
		}
	}
	sigmoid := func(x T) float64 { return 1 / (1 + math.Exp(-float64(x))) }
	for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 24, 33, 100} {
		z, carry, dh, dnext := random[T](rng, 4*n), random[T](rng, n), random[T](rng, n), random[T](rng, n)
		for i := range z {
			z[i] *= 3
		}
		h, next, gates := make([]T, n), make([]T, n), make([]T, 4*n)
		LstmCell(h, next, gates, z, carry)
		dz, dcarry := make([]T, 4*n), make([]T, n)
		LstmCellGrad(dz, dcarry, gates, carry, dh, dnext)
		for i := range n {
			in, forget, candidate, out := sigmoid(z[i]), sigmoid(z[n+i]), math.Tanh(float64(z[2*n+i])), sigmoid(z[3*n+i])
			c := forget*float64(carry[i]) + in*candidate
			near(in, gates[i], "input gate")
			near(forget, gates[n+i], "forget gate")
			near(candidate, gates[2*n+i], "candidate")
			near(out, gates[3*n+i], "output gate")
			near(c, next[i], "carry")
			near(out*math.Tanh(c), h[i], "h")
			slope := math.Tanh(c)
			d := float64(dnext[i]) + float64(dh[i])*out*(1-slope*slope)
			near(d*candidate*in*(1-in), dz[i], "gradient of input")
			near(d*float64(carry[i])*forget*(1-forget), dz[n+i], "gradient of forget")
			near(d*in*(1-candidate*candidate), dz[2*n+i], "gradient of candidate")
			near(float64(dh[i])*slope*out*(1-out), dz[3*n+i], "gradient of output")
			near(d*forget, dcarry[i], "gradient of carry")
		}
		// In place the bits are the same.
		z2, carry2 := slices.Clone(z), slices.Clone(carry)
		h2 := make([]T, n)
		LstmCell(h2, carry2, z2, z2, carry2)
		require.Equal(t, [][]T{h, next, gates}, [][]T{h2, carry2, z2})
		gates2, dnext2 := slices.Clone(gates), slices.Clone(dnext)
		LstmCellGrad(gates2, dnext2, gates2, carry, dh, dnext2)
		require.Equal(t, [][]T{dz, dcarry}, [][]T{gates2, dnext2})
	}
}

func TestLstmCellSpecial(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		inf, nan := float32(math.Inf(1)), float32(math.NaN())
		for _, c := range []struct{ z, carry, next, h float32 }{{inf, 2, 3, float32(math.Tanh(3))}, {-inf, 2, 0, 0}} {
			n := 19
			z, carry := slices.Repeat([]float32{c.z}, 4*n), slices.Repeat([]float32{c.carry}, n)
			h, next, gates := make([]float32, n), make([]float32, n), make([]float32, 4*n)
			LstmCell(h, next, gates, z, carry)
			for i := range n {
				require.InDelta(t, c.next, next[i], 1e-6)
				require.InDelta(t, c.h, h[i], 1e-6)
			}
			z[3], z[n+5], carry[18] = nan, nan, nan
			LstmCell(h, next, gates, z, carry)
			for i := range n {
				bad := i == 3 || i == 5 || i == 18
				require.Equal(t, bad, next[i] != next[i], i)
				require.Equal(t, bad, h[i] != h[i], i)
			}
			if n := testing.AllocsPerRun(10, func() { LstmCell(h, next, gates, z, carry) }); n > 0 {
				t.Fatal("allocates")
			}
		}
	})
}
