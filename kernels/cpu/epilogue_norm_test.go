package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestNormEpilogue: a batch normalization, the sum with a shortcut and a relu are one step, even if the mean is read
// before the sum.
func TestNormEpilogue(t *testing.T) {
	typ, channels := ir.Type{DType: ir.Float32, Shape: ir.Shape{40, 7, 6}}, ir.Type{DType: ir.Float32, Shape: ir.Shape{6}}
	build := func(shortcutFirst, sum, relu bool) *ir.Program {
		p := ir.New("")
		x, gamma, beta, moving := p.AddInput("x", typ), p.AddInput("gamma", channels), p.AddInput("beta", channels), p.AddInput("moving", channels)
		add := func(op ir.Op, a ir.Attrs, in ...ir.Value) []ir.Value {
			out, err := p.Add("", op, a, in...)
			require.NoError(t, err)
			return out
		}
		shortcut := func() ir.Value { return add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum}, x)[0] }
		var other ir.Value
		if shortcutFirst {
			other = shortcut()
		}
		norm := add(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, x, gamma, beta)
		p.AddOutput("moving", add(ir.Add, nil, moving, norm[1])[0])
		p.AddOutput("variance", norm[2])
		if !shortcutFirst {
			other = shortcut()
		}
		y := norm[0]
		if sum {
			y = add(ir.Add, nil, other, y)[0]
		}
		if relu {
			y = add(ir.Relu, nil, y)[0]
		}
		p.AddOutput("y", y)
		require.NoError(t, p.Verify())
		return p
	}
	rng := rand.New(rand.NewPCG(3, 4))
	inputs := make([]reference.Value, 4)
	for i, typ := range []ir.Type{typ, channels, channels, channels} {
		numbers := make([]float64, typ.Shape.Size())
		for k := range numbers {
			numbers[k] = float64(float32(rng.NormFloat64()))
		}
		var err error
		inputs[i], err = reference.New(typ.DType, typ.Shape, numbers...)
		require.NoError(t, err)
	}
	for _, c := range []struct {
		shortcutFirst, sum, relu bool
		nodes                    []ir.Op // of the normalization's unit
	}{
		{true, true, true, []ir.Op{ir.BatchNorm, ir.Add, ir.Relu}},
		{true, true, false, []ir.Op{ir.BatchNorm, ir.Add}},
		{true, false, true, []ir.Op{ir.BatchNorm, ir.Relu}},
		{false, true, true, []ir.Op{ir.BatchNorm}}, // the shortcut does not exist yet
	} {
		p := build(c.shortcutFirst, c.sum, c.relu)
		g := fuse.NewGraph(p)
		g.Group()
		at := slices.IndexFunc(g.Units, func(u *fuse.Unit) bool { return p.Nodes[u.Nodes[0]].Op == ir.BatchNorm })
		var ops []ir.Op
		for _, i := range g.Units[at].Nodes {
			ops = append(ops, p.Nodes[i].Op)
		}
		assert.Equal(t, c.nodes, ops)
		fused, plain := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
		for i := range fused {
			require.NoError(t, kernelstest.Compare(fused[i], plain[i], 0, true), "%v: output %d has the same bits", c, i)
		}
	}
}
