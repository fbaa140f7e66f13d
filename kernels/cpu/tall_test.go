package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestTallProducts draws gradients of weights: sums over the first one or two axes of operands that have one or two
// others, some with the gradient of a bias. It compares with the reference, for several numbers of workers.
func TestTallProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	merged, turned := 0, 0
	for range 12 {
		leading := []ir.Shape{{2048}, {2100}, {32, 64}, {3, 700}}[r.IntN(4)]
		sides := [2]ir.Shape{{[]int{8, 33, 96, 160}[r.IntN(4)]}, {[]int{32, 64}[r.IntN(2)]}}
		for i := range sides {
			if r.IntN(2) == 0 {
				sides[i] = ir.Shape{4, sides[i][0] / 4}
			}
		}
		p, inputs := tallProgram(t, r, leading, sides)
		n := &p.Nodes[0]
		require.Equal(t, len(leading), leadingAxes(p, n))
		if !gemm.IsTall(&gemm.Args[float32]{M: sides[0].Size(), N: sides[1].Size(), K: leading.Size(), TransA: true}) {
			continue
		}
		if len(sides[0])+len(sides[1]) > 2 {
			merged++
		}
		if sides[0].Size() > sides[1].Size() {
			turned++
		}
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		for _, workers := range []int{1, 2, 3} {
			for i, got := range runWith(t, p, inputs, workers) {
				require.Equal(t, want[i].Bytes(), got, "output %d of %v x %v over %v, %d workers", i, sides[0], sides[1], leading, workers)
			}
		}
	}
	require.Greater(t, merged, 2)
	require.Greater(t, turned, 2)
}

// tallProgram is a product of small integers, which is exact, and half of the time also sums its right side.
func tallProgram(t *testing.T, r *rand.Rand, leading ir.Shape, sides [2]ir.Shape) (*ir.Program, []reference.Value) {
	p := ir.New("gradient")
	var operands []ir.Value
	var inputs []reference.Value
	for _, side := range sides {
		shape := append(leading.Clone(), side...)
		values := make([]float64, shape.Size())
		for i := range values {
			values[i] = float64(r.IntN(7) - 3)
		}
		v, err := reference.New(ir.Float32, shape, values...)
		require.NoError(t, err)
		inputs, operands = append(inputs, v), append(operands, p.AddInput("", v.Type))
	}
	axes := []int{0, 1}[:len(leading)]
	out, err := p.Add("", ir.Dot, ir.DotAttrs{LhsContract: axes, RhsContract: axes}, operands...)
	require.NoError(t, err)
	p.AddOutput("", out[0])
	if r.IntN(2) == 0 {
		sums, err := p.Add("", ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: axes}, operands[1])
		require.NoError(t, err)
		p.AddOutput("", sums[0])
	}
	return p, inputs
}
