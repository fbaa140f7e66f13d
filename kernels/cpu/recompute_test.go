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
