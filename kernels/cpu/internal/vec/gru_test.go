package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGruCell(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		t.Run("float32", testGruCell[float32])
		t.Run("float64", testGruCell[float64])
	})
}

func testGruCell[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
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
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 24, 33, 100} {
		x, u, h, dnext := random[T](rng, 3*n), random[T](rng, 3*n), random[T](rng, n), random[T](rng, n)
		next, gates := make([]T, n), make([]T, 3*n)
		GruCell(next, gates, x, u, h)
		dx, du, dh := make([]T, 3*n), make([]T, 3*n), make([]T, n)
		GruCellGrad(dx, du, dh, gates, u, h, dnext)
		for i := range n {
			at := func(v []T, g int) float64 { return float64(v[g*n+i]) }
			z, r := sigmoid(at(x, 0)+at(u, 0)), sigmoid(at(x, 1)+at(u, 1))
			g := math.Tanh(at(x, 2) + r*at(u, 2))
			near(z, gates[i], "update gate")
			near(r, gates[n+i], "reset gate")
			near(g, gates[2*n+i], "candidate")
			near(z*at(h, 0)+(1-z)*g, next[i], "state")
			d := at(dnext, 0)
			update, candidate := d*(at(h, 0)-g)*z*(1-z), d*(1-z)*(1-g*g)
			reset := candidate * at(u, 2) * r * (1 - r)
			for k, want := range [][2]float64{{update, update}, {reset, reset}, {candidate, candidate * r}} {
				near(want[0], dx[k*n+i], "gradient of x")
				near(want[1], du[k*n+i], "gradient of u")
			}
			near(d*z, dh[i], "gradient of the state")
		}
		// In place the bits are the same.
		x2, h2 := slices.Clone(x), slices.Clone(h)
		GruCell(h2, x2, x2, u, h2)
		require.Equal(t, [][]T{next, gates}, [][]T{h2, x2})
		gates2, u2, dnext2 := slices.Clone(gates), slices.Clone(u), slices.Clone(dnext)
		GruCellGrad(gates2, u2, dnext2, gates2, u2, h, dnext2)
		require.Equal(t, [][]T{dx, du, dh}, [][]T{gates2, u2, dnext2})
		if n := testing.AllocsPerRun(10, func() { GruCell(next, gates, x, u, h) }); n > 0 {
			t.Fatal("allocates")
		}
	}
}
