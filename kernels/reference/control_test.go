package reference

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// op1 adds a node with one result.
func op1(t *testing.T, p *ir.Program, op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	t.Helper()
	out, err := p.Add("", op, attrs, in...)
	require.NoError(t, err)
	return out[0]
}

func TestScan(t *testing.T) {
	scalar := ir.Type{DType: ir.Float64}
	body := ir.New("horner") // c -> c·z + x, y is the old c
	c, x, z := body.AddInput("c", scalar), body.AddInput("x", scalar), body.AddInput("z", scalar)
	next := op1(t, body, ir.Add, nil, op1(t, body, ir.Mul, nil, c, z), x)
	body.AddOutput("c", next)
	body.AddOutput("y", c)
	in := []Value{tensor(t, ir.Float64, nil, 0), tensor(t, ir.Float64, ir.Shape{3}, 1, 2, 3), tensor(t, ir.Float64, nil, 10)}
	out := eval(t, ir.Scan, ir.ScanAttrs{Body: body, Length: 3, Carry: 1, Xs: 1}, in...)
	assert.Equal(t, 123.0, out[0].F[0])
	assert.Equal(t, []float64{0, 1, 12}, out[1].F)
	out = eval(t, ir.Scan, ir.ScanAttrs{Body: body, Length: 3, Carry: 1, Xs: 1, Reverse: true}, in...)
	assert.Equal(t, 321.0, out[0].F[0])
	assert.Equal(t, []float64{32, 3, 0}, out[1].F, "each y is at its own step")
	in[1] = tensor(t, ir.Float64, ir.Shape{0})
	out = eval(t, ir.Scan, ir.ScanAttrs{Body: body, Carry: 1, Xs: 1}, in...)
	assert.Equal(t, 0.0, out[0].F[0])
	assert.Empty(t, out[1].F)
}

func TestWhileAndCond(t *testing.T) {
	scalar := ir.Type{DType: ir.Int32}
	cond, body := ir.New("cond"), ir.New("collatz") // n, count, goal until n is the goal
	n, _, goal := cond.AddInput("n", scalar), cond.AddInput("count", scalar), cond.AddInput("goal", scalar)
	cond.AddOutput("more", op1(t, cond, ir.Compare, ir.CompareAttrs{Direction: ir.Ne}, n, goal))

	even, odd := ir.New("even"), ir.New("odd")
	constant := func(p *ir.Program, v float64) ir.Value {
		return op1(t, p, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, v)})
	}
	n = even.AddInput("n", scalar)
	even.AddOutput("n", op1(t, even, ir.Div, nil, n, constant(even, 2)))
	n = odd.AddInput("n", scalar)
	odd.AddOutput("n", op1(t, odd, ir.Add, nil, op1(t, odd, ir.Mul, nil, n, constant(odd, 3)), constant(odd, 1)))

	n, count, _ := body.AddInput("n", scalar), body.AddInput("count", scalar), body.AddInput("goal", scalar)
	isEven := op1(t, body, ir.Compare, ir.CompareAttrs{Direction: ir.Eq}, op1(t, body, ir.Rem, nil, n, constant(body, 2)), constant(body, 0))
	body.AddOutput("n", op1(t, body, ir.Cond, ir.CondAttrs{Then: even, Else: odd}, isEven, n))
	body.AddOutput("count", op1(t, body, ir.Add, nil, count, constant(body, 1)))

	attrs := ir.WhileAttrs{Cond: cond, Body: body, State: 2}
	out := eval(t, ir.While, attrs, tensor(t, ir.Int32, nil, 27), tensor(t, ir.Int32, nil, 0), tensor(t, ir.Int32, nil, 1))
	assert.Equal(t, int64(111), out[1].I[0], "27 takes 111 steps")
	out = eval(t, ir.While, attrs, tensor(t, ir.Int32, nil, 1), tensor(t, ir.Int32, nil, 5), tensor(t, ir.Int32, nil, 1))
	assert.Equal(t, int64(5), out[1].I[0], "no step")
}

// An error inside a body names the layer of the node that failed there.
func TestErrorInsideABody(t *testing.T) {
	body := ir.New("body")
	x, i := body.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{2}}), body.AddInput("i", ir.Type{DType: ir.Int32})
	out, err := body.Add("inner/embedding", ir.Gather, ir.GatherAttrs{}, x, i)
	require.NoError(t, err)
	body.AddOutput("x", x)
	body.AddOutput("y", out[0])
	in := []Value{tensor(t, ir.Float32, ir.Shape{2}, 1, 2), tensor(t, ir.Int32, ir.Shape{2}, 1, 7)}
	_, err = Run(single(t, ir.Scan, ir.ScanAttrs{Body: body, Length: 2, Carry: 1, Xs: 1}, in...), in)
	assert.ErrorContains(t, err, "inner/embedding: gather: index 7")
}
