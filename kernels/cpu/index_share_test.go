package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestScatterShares scatters enough for several workers, into many rows and into few long ones, and compares with sums
// formed one by one and, bit for bit, between numbers of workers.
func TestScatterShares(t *testing.T) {
	for _, s := range []struct{ outer, length, count, inner int }{
		{1, 100, 3000, 40}, {1, 65, 70000, 3}, {1, 5, 9, 16000}, {2, 33, 1000, 64}, {3, 2, 700, 100}, {1, 100, 70000, 1}, {5, 64, 900, 1},
	} {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			g := graphBuilder{t, ir.New("scatter")}
			shape := ir.Shape{s.outer, s.length, s.inner}
			into := g.p.AddInput("x", single(shape...))
			indices := g.p.AddInput("i", ir.Type{DType: ir.Int32, Shape: ir.Shape{s.count}})
			updates := g.p.AddInput("dy", single(s.outer, s.count, s.inner))
			g.p.AddOutput("", g.one(ir.Scatter, ir.ScatterAttrs{Axis: 1, Kind: ir.Sum}, into, indices, updates))
			if s.outer == 1 {
				table := g.one(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{s.length, s.inner}}, into)
				dy := g.one(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{s.count, s.inner}}, updates)
				g.p.AddOutput("", g.one(ir.EmbeddingGrad, nil, table, indices, dy))
			}
			inputs := randomInputs(t, g.p)
			r := rand.New(rand.NewPCG(3, 4))
			at := make([]float64, s.count)
			for i := range at {
				at[i] = float64(r.IntN(s.length))
			}
			var err error
			inputs[1], err = reference.New(ir.Int32, ir.Shape{s.count}, at...)
			require.NoError(t, err)
			first := runWith(t, g.p, inputs, 1)
			x, dy := inputs[0].Bytes(), inputs[2].Bytes()
			tolerance := 1e-4 * float64(max(s.count/s.length, 1))
			for j := range first {
				want := make([]float64, shape.Size())
				if j == 0 {
					for i := range want {
						want[i] = ir.Element(x, ir.Float32, i)
					}
				}
				for k := range s.outer * s.count * s.inner {
					o, i, c := k/s.inner/s.count, k/s.inner%s.count, k%s.inner
					want[(o*s.length+int(at[i]))*s.inner+c] += ir.Element(dy, ir.Float32, k)
				}
				for i, w := range want {
					if diff := math.Abs(w - ir.Element(first[j], ir.Float32, i)); !(diff <= tolerance) {
						t.Fatalf("result %d, element %d is off by %v", j, i, diff)
					}
				}
			}
			for _, workers := range []int{2, 3, 8} {
				assert.Equal(t, first, runWith(t, g.p, inputs, workers), "%d workers", workers)
			}
		})
	}
}
