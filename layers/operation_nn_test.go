package layers_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// TestLayerNormalizationOperation compares with the formula, over the last axes, and over others.
func TestLayerNormalizationOperation(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 11))
	for range 20 {
		shape := []int{1 + r.IntN(4), 1 + r.IntN(12), 1 + r.IntN(5)}
		axis := [][]int{{-1}, {1, 2}, {-1, -2}, {0, 1, 2}, {1}}[r.IntN(5)]
		x, want := make([]float64, shape[0]*shape[1]*shape[2]), []float64{}
		for i := range x {
			x[i] = 100 + r.NormFloat64()
		}
		rowOf := func(i int) [3]int { // its position, with 0 on the normalized axes
			at := [3]int{i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]}
			for _, a := range axis {
				at[(a+3)%3] = 0
			}
			return at
		}
		for i := range x {
			mean, variance, n := 0.0, 0.0, 0.0
			for k, v := range x {
				if rowOf(k) == rowOf(i) {
					mean, n = mean+v, n+1
				}
			}
			mean /= n
			for k, v := range x {
				if rowOf(k) == rowOf(i) {
					variance += (v - mean) * (v - mean) / n
				}
			}
			want = append(want, (x[i]-mean)/math.Sqrt(variance+1e-3))
		}
		y := layers.Op("layer_normalization", symbol(ir.Float64, shape...), layers.Keywords{"axis": axis, "epsilon": 1e-3})
		require.NoError(t, y.Err())
		require.InDeltaSlice(t, want, evaluateOperation(t, y, x...), 1e-9, "%v over %v", shape, axis)
	}
}

// TestLayerNormalizationIsOneKernel counts the ops: rows over the last axes are one op; rows of unknown length, of
// single numbers and very long ones take others.
func TestLayerNormalizationIsOneKernel(t *testing.T) {
	for _, row := range []struct {
		shape []int
		axis  []int
		want  int
	}{{[]int{5, 11}, []int{-1}, 1}, {[]int{5, 3, 4}, []int{2, 1}, 1}, {[]int{5, 3, 4}, []int{1}, 0}, {[]int{5, 0}, []int{-1}, 0}, {[]int{5, 1}, []int{-1}, 0}, {[]int{1, 1 << 16}, []int{-1}, 0}} {
		y := layers.Op("layer_normalization", symbol(ir.Float32, row.shape...), layers.Keywords{"axis": row.axis})
		require.NoError(t, y.Err())
		node, _ := y.Node()
		r := distribute.NewReplica("test", 1, 1, 1)
		x := r.Graph().Input("x", ir.Float32, row.shape...)
		node.Invoke(r.Inference(), func(*layers.KerasTensor) *ops.Tensor { return x })
		count := 0
		for _, n := range r.Graph().Program().Nodes {
			if n.Op == ir.LayerNorm {
				count++
			}
		}
		assert.Equal(t, row.want, count, row)
	}
	open := layers.Op("layer_normalization", symbol(ir.Float32, layers.Unknown, layers.Unknown))
	require.NoError(t, open.Err())
	assert.Equal(t, "(None, None) float32", open.String())
}
