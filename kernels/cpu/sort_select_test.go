package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// linesOfKinds returns lines of n elements: many duplicates, all equal, ascending, descending, two values, arbitrary
// bits.
func linesOfKinds(t *testing.T, r *rand.Rand, d ir.DType, n int) []reference.Value {
	list := []reference.Value{crowded(t, r, d, ir.Shape{n}, true)}
	numbers := []func(i int) float64{func(int) float64 { return 3 }, func(i int) float64 { return float64(i % 120) }, func(i int) float64 { return float64((n - i) % 120) },
		func(int) float64 { return float64(100 * r.IntN(2)) }}
	switch d {
	case ir.Float64:
		numbers = append(numbers, func(int) float64 { return math.Ldexp(r.NormFloat64(), r.IntN(200)-100) }, func(int) float64 { return 1 + math.Ldexp(float64(r.IntN(n)), -50) })
	case ir.Float32:
		numbers = append(numbers, func(int) float64 { return float64(float32(math.Ldexp(r.NormFloat64(), r.IntN(200)-100))) })
	case ir.Int64:
		numbers = append(numbers, func(int) float64 { return float64(r.IntN(1<<52) - 1<<51) }, func(int) float64 { return float64(int64(5)<<32 + int64(r.IntN(n))) })
	case ir.Int32:
		numbers = append(numbers, func(int) float64 { return float64(r.IntN(1<<32) - 1<<31) })
	}
	for _, number := range numbers {
		x := make([]float64, n)
		for i := range x {
			x[i] = number(i)
		}
		v, err := reference.New(d, ir.Shape{n}, x...)
		require.NoError(t, err)
		list = append(list, v)
	}
	return list
}

// The given places of a line have the elements that sorting puts there, with smaller elements before them. The first
// elements of a line are in order.
func TestPartitions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 19))
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Int32, ir.Int64, ir.Uint8, ir.Int16} {
		for _, n := range []int{1, 2, 13, 40, 100, 700, 3000} {
			for _, x := range linesOfKinds(t, r, d, n) {
				kth := []int{r.IntN(n), r.IntN(n), n / 2, (n - 1) / 2, n - 1}[r.IntN(4):]
				slices.Sort(kth)
				kth = slices.Compact(kth)
				k := min(1+r.IntN(n), 1+r.IntN(max(n/2, 1)))
				p := ir.New(fmt.Sprintf("%v[%d] %v, %d", d, n, kth, k))
				in := p.AddInput("x", x.Type)
				parted, err := p.Add("", ir.Sort, ir.SortAttrs{Descending: k%2 == 0, Kth: kth}, in)
				require.NoError(t, err)
				first, err := p.Add("", ir.TopK, ir.TopKAttrs{K: k}, in)
				require.NoError(t, err)
				for _, v := range append(parted, first...) {
					p.AddOutput("", v)
				}
				got := runOnce(t, p, []reference.Value{x}, false)
				want, err := reference.Run(p, []reference.Value{x})
				require.NoError(t, err)
				require.NoError(t, kernelstest.Compare(got[2], want[2], 0, true), p.Name)
				require.Equal(t, want[3].I, got[3].I, p.Name)
				requireParted(t, kth, got[1].I, want[1].I, p.Name)
				require.NoError(t, kernelstest.Compare(got[0], pickFrom(t, x, got[1].I), 0, true), p.Name)
			}
		}
	}
}

// The first of equal elements come first, also if the k-th of 64 bits is the last one with its upper half.
func TestFirstOfEqualHalves(t *testing.T) {
	const n, k = 600, 200
	for _, d := range []ir.DType{ir.Int64, ir.Float64} {
		x := make([]float64, n)
		for i := range x {
			if x[i] = -float64(i) * (1 << 40); i%3 == 0 {
				x[i] = 1<<40 + 1
			}
		}
		x[n/2]-- // the k-th
		v, err := reference.New(d, ir.Shape{n}, x...)
		require.NoError(t, err)
		p := ir.New("first")
		out, err := p.Add("", ir.TopK, ir.TopKAttrs{K: k}, p.AddInput("x", v.Type))
		require.NoError(t, err)
		p.AddOutput("values", out[0])
		p.AddOutput("positions", out[1])
		want, err := reference.Run(p, []reference.Value{v})
		require.NoError(t, err)
		require.Equal(t, want[1].I, runOnce(t, p, []reference.Value{v}, false)[1].I, "%v", d)
	}
}

// requireParted checks the positions between the places kth, and that the elements at kth are those of the sorted line.
func requireParted(t *testing.T, kth []int, got, sorted []int64, name string) {
	begin := 0
	for _, k := range append(slices.Clone(kth), len(sorted)) {
		a, b := slices.Clone(got[begin:k]), slices.Clone(sorted[begin:k])
		slices.Sort(a)
		slices.Sort(b)
		require.Equal(t, b, a, name)
		if k < len(sorted) {
			require.Equal(t, sorted[k], got[k], name)
		}
		begin = min(k+1, len(sorted))
	}
}

func pickFrom(t *testing.T, x reference.Value, positions []int64) reference.Value {
	numbers := make([]float64, len(positions))
	for i, at := range positions {
		if x.F != nil {
			numbers[i] = x.F[at]
		} else {
			numbers[i] = float64(x.I[at])
		}
	}
	v, err := reference.New(x.Type.DType, x.Type.Shape, numbers...)
	require.NoError(t, err)
	return v
}
