package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Matrices of sizes for all code paths, one or many, have the reference's results. Their largest elements are anywhere
// in the columns.
func TestEliminates(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 31))
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, c := range []struct{ matrices, n, m int }{{9, 5, 2}, {3, 16, 0}, {2, 17, 16}, {9, fewLanes, 3}, {9, fewLanes + 1, 0}, {14, laneMatrix, 2}, {16, laneRows, 0}, {15, 45, 16}, {13, laneDoubles, 3}, {3, 5, 5}, {2, 21, 4}, {10, 64, 64}, {2, 100, 33}, {1, panelMatrix, 1},
			{2, panelMatrix + 1, 20}, {1, 210, 40}, {1, 210, 0}} {
			requireEliminated(t, r, d, c.matrices, c.n, c.m)
		}
	}
}

// TestEliminatesByHalves: where vectors are computed in halves, a product may need memory that a larger one does not.
func TestEliminatesByHalves(t *testing.T) {
	defer isa.OverrideHalfUnits(true)()
	r := rand.New(rand.NewPCG(11, 32))
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		requireEliminated(t, r, d, 1, 210, 40)
		requireEliminated(t, r, d, 1, 210, 0)
	}
}

func requireEliminated(t *testing.T, r *rand.Rand, d ir.DType, matrices, n, m int) {
	t.Helper()
	p := ir.New(fmt.Sprint(d, matrices, n, m))
	a, b := make([]float64, matrices*n*n), make([]float64, matrices*n*m)
	for i := range a {
		a[i] = float64(float32(r.NormFloat64())) / 8
	}
	for i := range matrices {
		for row, column := range r.Perm(n) {
			a[(i*n+row)*n+column] += math.Copysign(4, r.NormFloat64())
		}
	}
	for i := range b {
		b[i] = float64(float32(r.NormFloat64()))
	}
	x, err := reference.New(d, ir.Shape{matrices, n, n}, a...)
	require.NoError(t, err)
	y, err := reference.New(d, ir.Shape{matrices, n, m}, b...)
	require.NoError(t, err)
	out, err := p.Add("", ir.Eliminate, nil, p.AddInput("a", x.Type), p.AddInput("b", y.Type))
	require.NoError(t, err)
	for _, v := range out {
		p.AddOutput("", v)
	}
	want, err := reference.Run(p, []reference.Value{x, y})
	require.NoError(t, err)
	for i, v := range runOnce(t, p, []reference.Value{x, y}, false) {
		require.NoError(t, kernelstest.Compare(v, want[i], 400, true), "%s, output %d", p.Name, i)
	}
}

// A column's largest number is the same as by a plain search, with numbers that differ only in sign, zeros, infinities
// and NaN.
func TestLargestOf(t *testing.T) {
	numbers := []float64{0, math.Copysign(0, -1), 1, -1, 2, -2, 1e-30, -1e30, math.Inf(1), math.Inf(-1), math.NaN()}
	r := rand.New(rand.NewPCG(1, 8))
	for range 500 {
		n, stride, most := 1+r.IntN(20), 1+r.IntN(3), 1+r.IntN(len(numbers))
		x, single := make([]float64, n*stride), make([]float32, n*stride)
		want, best := 0, 0.0
		for i := range n {
			v := numbers[r.IntN(most)]
			x[i*stride], single[i*stride] = v, float32(v)
			if v = math.Abs(v); v > best || v != v && best == best {
				want, best = i, v
			}
		}
		require.Equal(t, want, largestOf(x, n, stride), "%v", x)
		require.Equal(t, want, largestOf(single, n, stride), "%v", x)
	}
}

// Matrices are processed side by side if their rows would not fill vectors.
func TestInLanes(t *testing.T) {
	for _, c := range []struct {
		matrices, n, m, size int
		lanes                bool
	}{
		{8, fewLanes, fewLanes, 8, true}, {7, 5, 1, 4, false}, {16, 41, 0, 4, true}, {311, laneSides, 32, 4, true}, {16, laneRows + 1, 0, 4, false},
		{16, laneRows, 15, 4, true}, {16, laneSides + 1, 16, 4, false}, {16, 41, 33, 4, false}, {16, laneMatrix, 8, 4, true}, {16, laneMatrix + 1, 8, 4, false}, {11, 41, 0, 4, false}, {16, laneDoubles, 1, 8, true},
		{16, laneDoubles, 0, 8, false}, {16, laneDoubles + 1, 1, 8, false},
	} {
		require.Equal(t, c.lanes, inLanes(c.matrices, c.n, c.m, c.size), "%+v", c)
	}
}
