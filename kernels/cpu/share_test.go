package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestShares: gradients of extremes are found in units with nodes in any order, some of which have other readers. The
// results are those of the nodes one by one.
func TestShares(t *testing.T) {
	r, found := rand.New(rand.NewPCG(5, 6)), 0
	for try := range 200 {
		d := []ir.DType{ir.Float32, ir.Float64}[try%2]
		typ := ir.Type{DType: d, Shape: ir.Shape{3, 100}}
		g := graphBuilder{t, ir.New("shares")}
		like := func(v float64) ir.Value {
			l := ir.Literal{Type: typ, Data: ir.AppendElement(nil, d, v), Splat: true}
			return g.one(ir.Constant, ir.ConstantAttrs{Literal: l})
		}
		floats := []ir.Value{g.p.AddInput("x", typ), g.p.AddInput("y", typ), g.p.AddInput("dy", typ), like(0.25)}
		pick := func() ir.Value { return floats[r.IntN(len(floats))] }
		zero := like(0)
		for range 1 + r.IntN(4) {
			x, y, dy := pick(), pick(), pick()
			direction := ir.CompareAttrs{Direction: []ir.Direction{ir.Lt, ir.Gt}[r.IntN(2)]}
			half := g.one(ir.Mul, nil, dy, like(0.5))
			same := g.one(ir.Compare, ir.CompareAttrs{Direction: ir.Eq}, x, y)
			if r.IntN(2) == 0 { // overwrites what nothing reads any more
				floats = append(floats, g.one(ir.Neg, nil, pick()))
			}
			tie := g.one(ir.Select, nil, same, half, zero)
			floats = append(floats, g.one(ir.Select, nil, g.one(ir.Compare, direction, x, y), dy, tie))
			if r.IntN(2) == 0 {
				floats = append(floats, g.one(ir.Select, nil, g.one(ir.Compare, direction, y, x), dy, tie))
			}
			if r.IntN(4) == 0 {
				floats = append(floats, tie)
			}
			if r.IntN(4) == 0 {
				g.p.AddOutput("same", same)
			}
		}
		for i, v := range floats[4:] {
			if r.IntN(3) == 0 {
				g.p.AddOutput(fmt.Sprint(i), v)
			}
		}
		g.p.AddOutput("last", floats[len(floats)-1])
		inputs := randomInputs(t, g.p)
		for _, in := range inputs {
			for i := range in.F { // often equal
				in.F[i] = float64(r.IntN(7) - 3)
				if r.IntN(30) == 0 {
					in.F[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
				}
			}
		}
		got, want := runOnce(t, g.p, inputs, false), runOnce(t, g.p, inputs, true)
		for i := range got {
			require.Equal(t, want[i].Bytes(), got[i].Bytes(), "program %d, output %d:\n%v", try, i, g.p)
		}
		if q, err := pipelineFor(1).normal.Run(g.p); err == nil {
			whole := fuse.NewGraph(q)
			for i := range q.Nodes {
				if _, ok := whole.ShareOf(&q.Nodes[i]); ok {
					found++
				}
			}
		}
	}
	require.Greater(t, found, 100, "the programs have what is tested")
}
