package ops_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestSearchsortedCounts compares with counting, for lengths around those at which the search takes one step more.
func TestSearchsortedCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.Int32, ir.Int64, ir.Int8, ir.Uint8} {
		least, most := -1, 2000 // of the values
		if d.Size() == 1 {
			most = math.MaxInt8
		}
		if d == ir.Uint8 {
			least = 0
		}
		for _, n := range []int{0, 1, 2, 3, 15, 16, 17, 18, 31, 32, 33, 63, 64, 100, 111, 1000} {
			sorted := make([]float64, n)
			for i := range sorted { // with equal ones
				sorted[i] = float64(min(i/3, most))
			}
			values := []float64{float64(least), 0, float64(min(n, most)), float64(most)}
			half := 0.0
			if d.IsFloat() {
				half = 0.5
				values = append(values, math.Inf(-1), math.NaN(), math.Inf(1), math.Copysign(0, -1))
			}
			for range 60 {
				values = append(values, math.Floor(r.Float64()*float64(min(n/3, most)))+half*float64(r.IntN(2)))
			}
			f := func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
				return []*ops.Tensor{ops.Searchsorted(x[0], x[1], false), ops.Searchsorted(x[0], x[1], true)}
			}
			got := opstest.Eval(t, f, opstest.Floats([]int{n}, sorted...).As(d), opstest.Floats([]int{2, len(values) / 2}, values...).As(d))
			for i, right := range []bool{false, true} {
				want := make([]float64, len(values))
				for i, v := range values {
					for _, x := range sorted {
						if x < v || right && x == v {
							want[i]++
						}
					}
				}
				assert.Equal(t, want, got[i].F, "%v, %d, right %v", d, n, right)
			}
		}
	}
}

// TestIsin compares with a loop over the values, for as many as are compared one by one, and for more, with NaN, zeros
// of both signs, infinities and the least integers among them.
func TestIsin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	f := func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Isin(x[0], x[1])} }
	for _, d := range []ir.DType{ir.Float64, ir.Float32, ir.BFloat16, ir.Int8, ir.Uint8, ir.Int32, ir.Int64, ir.Bool} {
		some := []float64{math.NaN(), math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1)}
		switch {
		case d == ir.Bool:
			some = []float64{0, 1}
		case !d.IsFloat():
			some = []float64{0, math.MinInt8, math.MaxInt8}
		}
		draw := func(n int) opstest.Array {
			x := make([]float64, n)
			for i := range x {
				if x[i] = float64(r.IntN(100)); d == ir.Bool || r.IntN(max(n, 3)) < 3 {
					x[i] = some[r.IntN(len(some))]
				}
			}
			return opstest.Floats([]int{n}, x...).As(d)
		}
		for _, n := range []int{0, 1, 2, 7, 31, 32, 33, 200} {
			x, values := draw(300), draw(n)
			want := make([]float64, len(x.F))
			for i, v := range x.F {
				if slices.Contains(values.F, v) { // NaN is none of them
					want[i] = 1
				}
			}
			assert.Equal(t, want, opstest.Eval(t, f, x, values)[0].F, "%v, %d values", d, n)
		}
	}
}

// TestSelections compares what is selected of a line with the sorted line, at places counted from both ends.
func TestSelections(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for _, n := range []int{1, 2, 7, 30, 101} {
		x := make([]float64, n)
		for i := range x { // with equal ones
			x[i] = float64(r.IntN(n))
		}
		sorted := slices.Sorted(slices.Values(x))
		for _, k := range []int{0, -1, n / 3, -n} {
			got := opstest.Eval(t, func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
				return []*ops.Tensor{ops.Argpartition(x[0], k, 0), ops.Median(x[0], 0), ops.QuantileMethod(x[0], 0.3, "higher", 0)}
			}, opstest.Floats([]int{n}, x...))
			at := (k + n) % n
			parted := make([]float64, n)
			for i, from := range got[0].F {
				parted[i] = x[int(from)]
			}
			assert.Equal(t, sorted[at], parted[at])
			assert.ElementsMatch(t, sorted[:at], parted[:at])
			assert.ElementsMatch(t, sorted[at:], parted[at:])
			assert.Equal(t, []float64{(sorted[(n-1)/2] + sorted[n/2]) / 2}, got[1].F)
			assert.Equal(t, []float64{sorted[int(math.Ceil(0.3*float64(n-1)))]}, got[2].F)
		}
	}
}

// TestBincountOfRows leaves out what no bin is for, in its own row as in others.
func TestBincountOfRows(t *testing.T) {
	x := opstest.Ints([]int{2, 5}, 0, 2, 3, -1, 2, 7, 1, 1, 0, -5)
	weights := opstest.Floats([]int{2, 5}, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
	got := opstest.Eval(t, func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Bincount(x[0], nil, 3), ops.Bincount(x[0], x[1], 3)}
	}, x, weights)
	assert.Equal(t, []float64{1, 0, 2, 1, 2, 0}, got[0].F)
	assert.Equal(t, []float64{1, 0, 18, 256, 192, 0}, got[1].F)
}

// TestLongProductsGradient compares the gradient of long running products, with zeros among the factors, with sums of
// products.
func TestLongProductsGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1023, 1024, 1025, 1100} {
		x, dy, want := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], dy[i] = 0.8+0.4*r.Float64(), r.NormFloat64()
		}
		x[n/3] = 0
		before := 1.0
		for j := range x {
			s, p := 0.0, before
			for i := j; i < n; i++ {
				if i > j {
					p *= x[i]
				}
				s += dy[i] * p
			}
			want[j] = s
			before *= x[j]
		}
		got := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			return ops.VJP([]*ops.Tensor{ops.Cumprod(in[0], 0)}, []*ops.Tensor{in[1]}, in[0])
		}, opstest.Floats([]int{n}, x...), opstest.Floats([]int{n}, dy...))[0]
		for i, w := range want {
			assert.InDelta(t, w, got.F[i], 1e-9*max(1, math.Abs(w)), "%d of %d", i, n)
		}
	}
}
