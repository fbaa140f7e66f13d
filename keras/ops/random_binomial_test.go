package ops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestRandomBinomial: numbers have the distribution given by the incomplete beta function, within the deviation that
// one in a thousand samples of that size exceeds, and its mean and standard deviation.
func TestRandomBinomial(t *testing.T) {
	const n = 4000
	for _, c := range [][2]float64{{1, 0.3}, {7, 0.5}, {20, 0.05}, {15, 0.9}, {18, 0.5}, {40, 0.25}, {41, 0.75}, {100, 0.3}, {1000, 0.005}, {1000, 0.02}, {3e5, 1e-5}, {1e6, 0.4}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			counts, p := c[0], c[1]
			out := opstest.Eval(t, func(g *ops.Graph, _ tensors) tensors {
				return tensors{ops.RandomBinomial(ops.Full(g, ir.Float32, counts), ops.Full(g, ir.Float32, p), 1, n)}
			})
			require.Equal(t, ir.Float32, out[0].DType)
			p = float64(float32(p))
			largest, times := 0.0, map[float64]float64{}
			for _, x := range out[0].F {
				require.True(t, x == math.Floor(x) && x >= 0 && x <= counts, "%v", x)
				times[x]++
			}
			share := 0.0
			mean, deviation := counts*p, math.Sqrt(counts*p*(1-p))
			for k := math.Max(0, math.Floor(mean-8*deviation-8)); k < math.Min(counts, mean+8*deviation+8); k++ {
				share += times[k] / n
				largest = math.Max(largest, math.Abs(share-mathext.RegIncBeta(counts-k, k+1, 1-p)))
			}
			assert.Less(t, largest, 1.95/math.Sqrt(n))
			gotMean, gotDeviation, _, _ := moments(out[0].F)
			assert.InDelta(t, mean, gotMean, 5*deviation/math.Sqrt(n))
			assert.InEpsilon(t, deviation, gotDeviation, 0.1)
		})
	}
}

// TestRandomBinomialOfEdges: certain outcomes are certain, parameters vary along an axis, and invalid parameters give
// NaN.
func TestRandomBinomialOfEdges(t *testing.T) {
	out := opstest.Eval(t, func(g *ops.Graph, in tensors) tensors {
		return tensors{ops.RandomBinomial(in[0], in[1], 3, 2, 8), ops.RandomBinomial(in[0], in[1], 4, 2, 8)}
	}, opstest.Floats([]int{8}, 5, 5, 0, 500, 500, -1, 2.5, 3), opstest.Floats([]int{8}, 0, 1, 0.5, 0, 1, 0.5, 0.5, 1.5))
	want := []float64{0, 5, 0, 0, 500, math.NaN(), math.NaN(), math.NaN()}
	for _, o := range out {
		for i, x := range o.F {
			if math.IsNaN(want[i%8]) {
				assert.True(t, math.IsNaN(x), "%d: %v", i, x)
			} else {
				assert.Equal(t, want[i%8], x, "%d", i)
			}
		}
	}
	var err error
	func() {
		defer ops.Catch(&err)
		g := ops.NewGraph("binomial")
		ops.RandomBinomial(ops.Full(g, ir.Float32, 3, 2), ops.Full(g, ir.Float32, 0.5), 1, 3)
	}()
	assert.ErrorContains(t, err, "random binomial: parameters of shape [2] do not fit the shape [3]")
}
