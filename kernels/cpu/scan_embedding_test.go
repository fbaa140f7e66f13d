package cpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/scan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// sequences returns a program that looks up sequences and transposes them to steps, and sums gradients that come by
// steps into the table. If shared is set, the vectors by examples are results too.
func sequences(t *testing.T, shared bool) *ir.Program {
	g := graphBuilder{t, ir.New("sequences")}
	table, indices := g.p.AddInput("table", single(11, 6)), g.p.AddInput("i", ir.Type{DType: ir.Int32, Shape: ir.Shape{3, 5}})
	dx := g.p.AddInput("dx", single(5, 3, 6))
	turn := ir.TransposeAttrs{Perm: []int{1, 0, 2}}
	x := g.one(ir.Embedding, nil, table, indices)
	dy := g.one(ir.Transpose, turn, dx)
	results := []ir.Value{g.one(ir.Transpose, turn, x), g.one(ir.EmbeddingGrad, nil, table, indices, dy)}
	if shared {
		results = append(results, x, dy)
	}
	for _, v := range results {
		g.p.AddOutput("", v)
	}
	require.NoError(t, g.p.Verify())
	return g.p
}

func TestLookUpBySteps(t *testing.T) {
	for _, shared := range []bool{false, true} {
		p := sequences(t, shared)
		q, err := scan.LookUpBySteps(p)
		require.NoError(t, err)
		q, err = pipelineFor(1).normal.Run(q)
		require.NoError(t, err)
		stacks, indices := 0, 0
		for i := range q.Nodes {
			if a, ok := q.Nodes[i].Attrs.(ir.TransposeAttrs); ok && len(a.Perm) == 3 {
				stacks++
			} else if ok {
				indices++
			}
		}
		if shared {
			assert.Equal(t, []int{2, 0}, []int{stacks, indices}, "what is needed anyway is turned around as it is")
		} else {
			assert.Equal(t, []int{0, 1}, []int{stacks, indices}, "the indices are turned around, once")
		}
		inputs := randomInputs(t, p)
		inputs[1], err = reference.New(ir.Int32, ir.Shape{3, 5}, 4, 0, 10, 4, 4, 7, 7, 1, 2, 3, 9, 10, 0, 4, 5)
		require.NoError(t, err)
		want, got := runOnce(t, p, inputs, true), runOnce(t, q, inputs, true)
		for j := range want {
			require.NoError(t, kernelstest.Compare(got[j], want[j], 8, true), "output %d", j)
		}
	}
}
