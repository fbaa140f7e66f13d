package ops_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

// TestUniqueAlong: results of keras.ops.unique on JAX with return_index, return_inverse and return_counts.
func TestUniqueAlong(t *testing.T) {
	rows := opstest.Floats([]int{4, 3}, 1, 0, 0, 1, 0, 0, 2, 3, 4, 0, 9, 9)
	columns := opstest.Floats([]int{3, 4}, 2, 1, 2, 1, 0, 1, 0, -1, 3, 1, 3, 1)
	for _, c := range []struct {
		x                              opstest.Array
		axis, size                     int
		values, index, inverse, counts []float64
	}{
		{rows, 0, 5, []float64{0, 9, 9, 1, 0, 0, 2, 3, 4, -1, -1, -1, -1, -1, -1}, []float64{3, 0, 2, 3, 3}, []float64{1, 1, 2, 0}, []float64{1, 2, 1, 0, 0}},
		{rows, 0, 2, []float64{0, 9, 9, 1, 0, 0}, []float64{3, 0}, []float64{1, 1, 2, 0}, []float64{1, 2}},
		{columns, -1, 5, []float64{1, 1, 2, -1, -1, -1, 1, 0, -1, -1, 1, 1, 3, -1, -1}, []float64{3, 1, 0, 3, 3}, []float64{2, 1, 2, 0}, []float64{1, 1, 2, 0, 0}},
		{columns, 1, 3, []float64{1, 1, 2, -1, 1, 0, 1, 1, 3}, []float64{3, 1, 0}, []float64{2, 1, 2, 0}, []float64{1, 1, 2}},
	} {
		got := uniqueAlong(t, c.x, c.axis, c.size)
		for i, want := range [][]float64{c.values, c.index, c.inverse, c.counts} {
			assert.Equal(t, want, got[i].F, "axis %d, size %d, result %d", c.axis, c.size, i)
		}
	}
}

func uniqueAlong(t *testing.T, x opstest.Array, axis, size int) []opstest.Array {
	return opstest.Eval(t, func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
		u := ops.UniqueAlong(x[0], axis, size, -1)
		return []*ops.Tensor{u.Values, u.Index, u.Inverse, u.Counts}
	}, x)
}

// TestUniqueAlongOfMany compares with sorted rows.
func TestUniqueAlongOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, columns := range []int{1, 2, 5} {
		const n = 40
		x, rows := make([]float64, 0, n*columns), [][]float64{}
		for range n {
			row := make([]float64, columns)
			for i := range row {
				row[i] = float64(r.IntN(3))
			}
			x, rows = append(x, row...), append(rows, row)
		}
		sorted := slices.SortedFunc(slices.Values(rows), slices.Compare)
		sorted = slices.CompactFunc(sorted, slices.Equal)
		counts, index, inverse := make([]float64, len(sorted)), make([]float64, len(sorted)), make([]float64, n)
		for i, row := range slices.Backward(rows) {
			at, _ := slices.BinarySearchFunc(sorted, row, slices.Compare)
			counts[at], index[at], inverse[i] = counts[at]+1, float64(i), float64(at)
		}
		got := uniqueAlong(t, opstest.Floats([]int{n, columns}, x...), 0, len(sorted))
		for i, want := range [][]float64{slices.Concat(sorted...), index, inverse, counts} {
			assert.Equal(t, want, got[i].F, fmt.Sprintf("%d columns, result %d", columns, i))
		}
	}
}
