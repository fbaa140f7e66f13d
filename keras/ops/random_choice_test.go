package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestRandomInt(t *testing.T) {
	out := opstest.Eval(t, func(g *ops.Graph, _ tensors) tensors {
		return tensors{ops.RandomInt(g, ir.Int32, -2, 3, 1, 10000), ops.RandomInt(g, ir.Int64, 7, 8, 2, 3)}
	})
	counts := map[float64]int{}
	for _, v := range out[0].F {
		counts[v]++
	}
	require.Len(t, counts, 5)
	for v := -2.0; v < 3; v++ {
		assert.InDelta(t, 2000, counts[v], 200, "%v", v)
	}
	assert.Equal(t, []float64{7, 7, 7}, out[1].F)
}

func TestShuffle(t *testing.T) {
	x := opstest.Random(1, 0, 1, 3, 50)
	out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		return tensors{ops.Shuffle(in[0], 1, 4), ops.Shuffle(in[0], -1, 5)}
	}, x)
	for row := range 3 {
		before, after := x.F[50*row:50*row+50], out[0].F[50*row:50*row+50]
		assert.NotEqual(t, before, after)
		assert.Equal(t, slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(after)))
		at := slices.Index(before, after[0])
		assert.Equal(t, x.F[at], out[0].F[0], "all rows are in the same order")
	}
	assert.NotEqual(t, out[0].F, out[1].F)
}

func TestCategorical(t *testing.T) {
	logits := opstest.Floats([]int{2, 3}, 0, 0.6931471805599453, 1.0986122886681098, 100, 0, 0) // probabilities 1/6, 2/6, 3/6
	out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors { return tensors{ops.Categorical(in[0], 6000, 3)} }, logits)
	var counts [3]int
	for _, v := range out[0].F[:6000] {
		counts[int(v)]++
	}
	for class, n := range counts {
		assert.InDelta(t, 1000*(class+1), n, 150)
	}
	assert.Equal(t, make([]float64, 6000), out[0].F[6000:])
}
