package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestAllWithin finds an invalid number wherever it is.
func TestAllWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	for n := range 40 {
		for _, limit := range []int64{1, 2, 1000, math.MaxInt32, 1 << 31, 1 << 40} {
			at := make([]int32, n)
			for i := range at {
				at[i] = int32(r.Int64N(min(limit, 1<<31)))
			}
			require.True(t, allWithin(at, limit), "%v below %d", at, limit)
			if n == 0 {
				continue
			}
			outside := []int32{-1, math.MinInt32}
			if limit <= math.MaxInt32 {
				outside = append(outside, int32(limit), math.MaxInt32)
			}
			at[r.IntN(n)] = outside[r.IntN(len(outside))]
			require.False(t, allWithin(at, limit), "%v below %d", at, limit)
		}
	}
}

// TestGatherFromLines takes many elements of each of several lines, some from one piece, for elements of all sizes, one
// worker or two.
func TestGatherFromLines(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	for _, d := range []ir.DType{ir.Uint8, ir.Float16, ir.Float32, ir.Int64} {
		for try := range 12 {
			outer, length, count := 1+r.IntN(90), 1+r.IntN(100), 1+r.IntN(200)
			if try < 2 { // one element from each, which are all of them
				outer, length, count = 8+outer, 1, 1
			}
			start := r.IntN(length)
			if try%2 == 0 {
				count = min(count, length-start)
			}
			at, numbers := make([]float64, count), make([]float64, outer*length)
			for i := range at {
				if at[i] = float64(start + i); try%2 == 1 {
					at[i] = float64(r.IntN(length))
				}
			}
			for i := range numbers {
				numbers[i] = float64(r.IntN(200))
			}
			g := graphBuilder{t, ir.New("gather")}
			x := g.p.AddInput("x", ir.Type{DType: d, Shape: ir.Shape{outer, length}})
			i := g.p.AddInput("i", ir.Type{DType: ir.Int32, Shape: ir.Shape{count}})
			g.p.AddOutput("", g.one(ir.Gather, ir.GatherAttrs{Axis: 1}, x, i))
			a, err := reference.New(d, ir.Shape{outer, length}, numbers...)
			require.NoError(t, err)
			b, err := reference.New(ir.Int32, ir.Shape{count}, at...)
			require.NoError(t, err)
			want, err := reference.Run(g.p, []reference.Value{a, b})
			require.NoError(t, err)
			require.Equal(t, want[0].Bytes(), runWith(t, g.p, []reference.Value{a, b}, 1+try%2)[0], "%d lines of %d, %v at %v", outer, length, d, at)
		}
	}
}
