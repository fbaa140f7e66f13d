package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/scan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// recurrence returns a loop h' = s(x + h·u), with s the sigmoid, and the backward loop that computes the gradients of
// the first h, of u and, stacked, of x, like the gradient of a recurrent layer.
func recurrence(t *testing.T, steps, batch, units int, startAtZero bool) *ir.Program {
	add := func(p *ir.Program, op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
		out, err := p.Add("rnn", op, attrs, in...)
		require.NoError(t, err)
		return out
	}
	float := func(shape ...int) ir.Type { return ir.Type{DType: ir.Float32, Shape: shape} }
	body := ir.New("forward")
	h, x, u := body.AddInput("h", float(batch, units)), body.AddInput("x", float(batch, units)), body.AddInput("u", float(units, units))
	s := add(body, ir.Sigmoid, nil, add(body, ir.Add, nil, x, add(body, ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, h, u)[0])[0])[0]
	one := add(body, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 1, batch, units)})[0]
	slope := add(body, ir.Mul, nil, s, add(body, ir.Sub, nil, one, s)[0])[0]
	for _, v := range []ir.Value{s, slope, s, h} {
		body.AddOutput("", v)
	}
	back := ir.New("backward")
	dh, du := back.AddInput("dh", float(batch, units)), back.AddInput("du", float(units, units))
	slopes, values, old, u2 := back.AddInput("slope", float(batch, units)), back.AddInput("s", float(batch, units)), back.AddInput("old", float(batch, units)), back.AddInput("u", float(units, units))
	dz := add(back, ir.Mul, nil, add(back, ir.Mul, nil, dh, slopes)[0], values)[0]
	back.AddOutput("dh", add(back, ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, dz, u2)[0])
	back.AddOutput("du", add(back, ir.Add, nil, du, add(back, ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, old, dz)[0])[0])

	p := ir.New("recurrence")
	first, xs, weights := p.AddInput("h", float(batch, units)), p.AddInput("xs", float(steps, batch, units)), p.AddInput("u", float(units, units))
	gradient, begin := p.AddInput("dh", float(batch, units)), p.AddInput("du", float(units, units))
	if startAtZero {
		begin = add(p, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0, units, units)})[0]
	}
	f := add(p, ir.Scan, ir.ScanAttrs{Body: body, Length: steps, Carry: 1, Xs: 1}, first, xs, weights)
	g := add(p, ir.Scan, ir.ScanAttrs{Body: back, Length: steps, Carry: 2, Xs: 3, Reverse: true}, gradient, begin, f[1], f[2], f[3], weights)
	for _, v := range []ir.Value{f[0], f[2], g[0], g[1]} {
		p.AddOutput("", v)
	}
	require.NoError(t, p.Verify())
	return p
}

// TestScansImproved compares with a plain compilation, which leaves loops unchanged, and checks how the loops have
// changed.
func TestScansImproved(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for _, zero := range []bool{false, true} {
		for _, steps := range []int{0, 1, 5} {
			p := recurrence(t, steps, 3, 17, zero)
			var inputs []reference.Value
			for _, in := range p.Inputs {
				typ := p.Type(in.Value)
				values := make([]float64, typ.Shape.Size())
				for i := range values {
					values[i] = r.NormFloat64()
				}
				v, err := reference.New(typ.DType, typ.Shape, values...)
				require.NoError(t, err)
				inputs = append(inputs, v)
			}
			got, want := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
			for i := range got {
				require.NoError(t, kernelstest.Compare(got[i], want[i], 64, true), "%d steps, output %d", steps, i)
			}
		}
	}
	q, err := pipelineFor(1).normal.Run(recurrence(t, 5, 3, 17, false))
	require.NoError(t, err)
	q, err = scan.Passes(pipelineFor(1).normal).Run(q)
	require.NoError(t, err)
	var scans []ir.ScanAttrs
	var sums int
	for _, n := range q.Nodes {
		if a, ok := n.Attrs.(ir.ScanAttrs); ok {
			scans = append(scans, a)
		}
		if n.Op == ir.Dot {
			sums++
		}
	}
	require.Len(t, scans, 2)
	assert.Equal(t, 1, scans[1].Carry, "the sum of products leaves the loop")
	assert.Equal(t, 1, sums, "and becomes one product")
	assert.Len(t, scans[0].Body.Outputs, 3, "the slope is computed again instead of handed out: %v", q)
	for _, n := range scans[1].Body.Nodes {
		if a, ok := n.Attrs.(ir.DotAttrs); ok {
			assert.Equal(t, []int{0}, a.RhsContract, "the recurrent kernel is transposed in front of the loop")
		}
	}
}
