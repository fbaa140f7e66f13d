package cpu

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// stackedSizes describe recurrent layers that follow each other.
type stackedSizes struct {
	steps, batch, features, units, layers int
}

// stackedLoops is the program of such layers, h' = tanh(x·w + b + h·u + b'), as tracing would make it.
func stackedLoops(t *testing.T, s stackedSizes) *ir.Program {
	g := graphBuilder{t, ir.New("stacked")}
	x, features := g.p.AddInput("x", single(s.steps, s.batch, s.features)), s.features
	h0 := g.p.AddInput("h", single(s.batch, s.units))
	for range s.layers {
		w, u := g.p.AddInput("w", single(features, s.units)), g.p.AddInput("u", single(s.units, s.units))
		b, more := g.p.AddInput("b", single(s.units)), g.p.AddInput("more", single(s.units))
		z := g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{2}, RhsContract: []int{0}}, x, w)
		z = g.one(ir.Add, nil, z, g.one(ir.Broadcast, ir.BroadcastAttrs{Shape: []int{s.steps, s.batch, s.units}, Axes: []int{2}}, b))
		rows := g.one(ir.Broadcast, ir.BroadcastAttrs{Shape: []int{s.batch, s.units}, Axes: []int{1}}, more)

		step := graphBuilder{t, ir.New("step")}
		h, in := step.p.AddInput("h", single(s.batch, s.units)), step.p.AddInput("x", single(s.batch, s.units))
		matrix, add := step.p.AddInput("u", single(s.units, s.units)), step.p.AddInput("more", single(s.batch, s.units))
		sum := step.one(ir.Add, nil, step.one(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, h, matrix), add)
		y := step.one(ir.Tanh, nil, step.one(ir.Add, nil, in, sum))
		step.p.AddOutput("", y)
		step.p.AddOutput("", y)
		x = g.op(ir.Scan, ir.ScanAttrs{Body: step.p, Length: s.steps, Carry: 1, Xs: 1}, h0, z, u, rows)[1]
		features = s.units
	}
	g.p.AddOutput("y", x)
	require.NoError(t, g.p.Verify())
	return g.p
}

// TestProductsBetweenLoops: a product between two loops moves into one of them, and is computed only once.
func TestProductsBetweenLoops(t *testing.T) {
	for _, s := range []stackedSizes{
		{20, 64, 70, 250, 3}, // stacks that the cache does not hold
		{5, 8, 70, 24, 3}, {5, 8, 10, 24, 3},
	} {
		q, err := pipelineFor(1).all.Run(stackedLoops(t, s))
		require.NoError(t, err)
		work := 0 // multiplications
		var count func(p *ir.Program, times int)
		count = func(p *ir.Program, times int) {
			for _, n := range p.Nodes {
				if a, ok := n.Attrs.(ir.ScanAttrs); ok {
					count(a.Body, times*a.Length)
				} else if n.Op == ir.Dot {
					work += times * p.Type(n.Inputs[0]).Shape.Size() * p.Type(n.Inputs[1]).Shape[1]
				}
			}
		}
		count(q, 1)
		assert.Equal(t, s.steps*s.batch*s.units*(s.features+(2*s.layers-1)*s.units), work, "%+v", s)
	}
}

// TestStackedLoops compares such layers with a plain compilation and, bit for bit, among several numbers of workers.
func TestStackedLoops(t *testing.T) {
	for _, s := range []stackedSizes{
		{1, 8, 3, 16, 1}, {3, 9, 40, 17, 2}, {5, 8, 70, 64, 3}, {20, 64, 5, 250, 2}, {20, 33, 70, 250, 2}, {3, 7, 40, 20, 2}, // too few rows
	} {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			p := stackedLoops(t, s)
			inputs := randomInputs(t, p)
			for i := range inputs[2:] { // so that tanh does not hide anything
				for j, v := range inputs[2+i].F {
					inputs[2+i].F[j] = v / 8
				}
			}
			want, first := runOnce(t, p, inputs, true), runWith(t, p, inputs, 1)
			got, err := reference.FromBytes(want[0].Type, first[0])
			require.NoError(t, err)
			require.NoError(t, kernelstest.Compare(got, want[0], 512, true))
			for _, workers := range []int{2, 3, 7} {
				assert.Equal(t, first, runWith(t, p, inputs, workers), "%d workers", workers)
			}
		})
	}
}
