package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestRecomputeCheap: x/2 and 3·x, which the program reads before and after a product, are computed twice and never
// stored.
func TestRecomputeCheap(t *testing.T) {
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{256, 256}}
	build := func(rows int, output bool) *ir.Program {
		typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, 256}}
		p := ir.New("")
		x, w := p.AddInput("x", typ), p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{256, 256}})
		add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
			out, err := p.Add("", op, a, in...)
			require.NoError(t, err)
			return out[0]
		}
		number := func(v float64) ir.Value {
			return add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(typ.DType, v, typ.Shape...)})
		}
		product := func(v ir.Value) ir.Value {
			return add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, v, w)
		}
		half, triple := add(ir.Mul, nil, x, number(0.5)), add(ir.Mul, nil, x, number(3))
		y := product(add(ir.Exp, nil, add(ir.Sub, nil, half, triple)))
		z := product(add(ir.Mul, nil, add(ir.Mul, nil, y, half), triple))
		p.AddOutput("z", z)
		if output {
			p.AddOutput("half", half)
		}
		require.NoError(t, p.Verify())
		return p
	}
	written := func(p *ir.Program) (n int) {
		g := fuse.NewGraph(p)
		g.Group()
		for _, u := range g.Units {
			n += len(u.Writes)
		}
		return n
	}
	p := build(typ.Shape[0], false)
	q, err := pass.RecomputeCheap().Run(p)
	require.NoError(t, err)
	require.NoError(t, q.Verify())
	assert.Equal(t, 6, written(p), "two functions of x, two operands of products, two products")
	assert.Equal(t, 4, written(q))

	rng := rand.New(rand.NewPCG(1, 2))
	inputs := make([]reference.Value, 2)
	for i := range inputs {
		numbers := make([]float64, typ.Shape.Size())
		for k := range numbers {
			numbers[k] = float64(float32(rng.NormFloat64() / 16))
		}
		var err error
		inputs[i], err = reference.New(typ.DType, typ.Shape, numbers...)
		require.NoError(t, err)
	}
	require.NoError(t, kernelstest.Compare(runOnce(t, p, inputs, false)[0], runOnce(t, p, inputs, true)[0], 0, true), "the same bits")

	p = build(8, false)
	q, err = pass.RecomputeCheap().Run(p)
	require.NoError(t, err)
	assert.Same(t, p, q, "what is small stays in the cache")
	p = build(256, true)
	q, err = pass.RecomputeCheap().Run(p)
	require.NoError(t, err)
	assert.Equal(t, written(p)-1, written(q), "one of them is asked for, but the other one is not")
}

// TestRecomputeWidened: a variable of 16 bits that the program multiplies, and reads element by element elsewhere, is
// widened once for all products and again in the loops over elements, which do not read it in float32.
func TestRecomputeWidened(t *testing.T) {
	p := ir.New("")
	input := func(d ir.DType) ir.Value { return p.AddInput("", ir.Type{DType: d, Shape: ir.Shape{256, 256}}) }
	add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("", op, a, in...)
		require.NoError(t, err)
		return out[0]
	}
	product := func(x, y ir.Value) ir.Value {
		return add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, y)
	}
	x, w := input(ir.Float32), input(ir.BFloat16)
	wide := add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, w)
	y := product(add(ir.Tanh, nil, product(x, wide)), wide)
	next := add(ir.Sub, nil, wide, y)
	p.AddOutput("w", add(ir.Convert, ir.ConvertAttrs{DType: ir.BFloat16}, next))
	q, err := pass.RecomputeCheap().Run(p)
	require.NoError(t, err)
	readers := map[ir.Op]int{}
	conversions := 0
	for i := range q.Nodes {
		n := &q.Nodes[i]
		if n.Op != ir.Convert || q.Type(n.Outputs[0]).DType != ir.Float32 {
			continue
		}
		conversions++
		for k := range q.Nodes {
			for _, v := range q.Nodes[k].Inputs {
				if v == n.Outputs[0] {
					readers[q.Nodes[k].Op] = readers[q.Nodes[k].Op]*10 + conversions
				}
			}
		}
	}
	assert.Equal(t, map[ir.Op]int{ir.Dot: 11, ir.Sub: 2}, readers, "products read the first, the difference the second")
}
