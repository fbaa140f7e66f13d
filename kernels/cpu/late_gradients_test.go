package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// boundedSizes are factors of a gradient's operands. With some a bound proves that the gradient is finite, with some
// only its numbers show it, and with some it is not finite, or only in float32.
var boundedSizes = []struct {
	x, y   float64
	expect string
}{
	{1, 1, "finite"},
	{3e-20, 1e19, "finite"},       // squares of the first are lost, or nearly
	{130, 130, "either"},          // the bound is beyond float16, the sums are so or are not
	{300, 300, "either"},          // of a single row they are not finite
	{100, 1000, "not finite"},     // in float16
	{1e-25, 1e32, "not finite"},   // nor is this, and squares of the second are beyond float32
	{1e30, 1e30, "not finite"},    // in float32
	{math.NaN(), 1, "not finite"}, // one number
	{1, math.Inf(1), "not finite"},
}

// boundedUpdate is the update of a variable by a gradient of few rows, divided by the loss scale, unless the gradient
// is not finite in float16.
func boundedUpdate(t *testing.T, seed uint64, rule string, x, y float64) (*ir.Program, []reference.Value) {
	r := rand.New(rand.NewPCG(seed, 78))
	p := passProgram{t, ir.New(fmt.Sprint("bounded ", seed))}
	var inputs []reference.Value
	input := func(d ir.DType, size float64, f func() float64, shape ...int) ir.Value {
		typ := ir.Type{DType: d, Shape: shape}
		values := make([]float64, typ.Shape.Size())
		for i := range values {
			values[i] = f() * size
		}
		if math.IsNaN(size) || math.IsInf(size, 0) {
			for i := range values {
				values[i] = f()
			}
			values[r.IntN(len(values))] = size
		}
		v, err := reference.New(d, typ.Shape, values...)
		require.NoError(t, err)
		inputs = append(inputs, v)
		return p.p.AddInput("", typ)
	}
	number := func(x float64) func() float64 { return func() float64 { return x } }
	sign := func() float64 { return []float64{1, -1}[r.IntN(2)] * (0.5 + r.Float64()/2) }
	scale := input(ir.Float32, 1, number([]float64{1 << 15, 3}[seed/2%2]))
	rate, step := input(ir.Float32, 1, number(1)), input(ir.Float32, 1, number(5))
	rows := 1 + r.IntN(4)
	var shape []int
	var gradient func(w ir.Value) ir.Value
	switch seed % 3 {
	case 0:
		shape = []int{100 + r.IntN(40), 90}
		gradient = func(ir.Value) ir.Value {
			a := ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}
			return p.add(ir.Dot, a, input(ir.Float32, x, sign, rows, shape[0]), input(ir.Float32, y, sign, rows, shape[1]))
		}
	case 1:
		shape = []int{3, 3, 32, 40 + r.IntN(10)}
		gradient = func(ir.Value) ir.Value {
			a := ir.ConvGradAttrs{Conv: ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}, Shape: shape}
			return p.add(ir.ConvKernelGrad, a, input(ir.Float32, x, sign, 1, 3, 3, 32), input(ir.Float32, y, sign, 1, 3, 3, shape[3]))
		}
	default:
		shape = []int{300, 30}
		gradient = func(w ir.Value) ir.Value {
			at := input(ir.Int32, 1, func() float64 { return float64(r.IntN(300)) }, rows, 5)
			return p.add(ir.EmbeddingGrad, nil, w, at, input(ir.Float32, x*y, sign, rows, 5, 30))
		}
	}
	w, first := input(ir.Float32, 1, r.NormFloat64, shape...), len(inputs)-1
	state := []ir.Value{}
	for range map[string]int{"momentum": 1, "adam": 2}[rule] {
		state = append(state, input(ir.Float32, 1, r.Float64, shape...))
	}
	g := gradient(w)
	along := func(v ir.Value) ir.Value {
		return p.add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{}}, v)
	}
	axes := make([]int, len(shape))
	for i := range axes {
		axes[i] = i
	}
	finite := p.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.And, Axes: axes}, p.add(ir.IsFinite, nil, p.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float16}, g)))
	a := ir.OptimizerAttrs{Rule: rule, Values: map[string][]float64{"momentum": {0.9}, "adam": {0.9, 0.999, 1e-7}}[rule]}
	out, err := p.p.Add("", ir.OptimizerUpdate, a, append([]ir.Value{w, p.add(ir.Div, nil, g, along(scale)), rate, step}, state...)...)
	require.NoError(t, err)
	for j, old := range append([]ir.Value{w}, state...) {
		p.p.AddAlias("", p.add(ir.Select, nil, along(finite), out[j], old), first+j)
	}
	return p.p, inputs
}

// TestLateGradients: gradients of few rows exist once for the finiteness check and once for the update. Whatever the
// bound of their operands proves, variables change, or do not change, as they would without the pass.
func TestLateGradients(t *testing.T) {
	for seed := range uint64(12) {
		for _, rule := range []string{"sgd", "momentum", "adam"} {
			for _, size := range boundedSizes {
				p, inputs := boundedUpdate(t, seed, rule, size.x, size.y)
				q, err := pipelineFor(1).all.Run(p)
				require.NoError(t, err)
				gradients := 0
				for _, n := range q.Nodes {
					if n.Op == ir.Dot || n.Op == ir.ConvKernelGrad || n.Op == ir.EmbeddingGrad {
						gradients++
					}
				}
				require.Equal(t, 2, gradients, "%d\n%v", seed, q)
				late, plain := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
				for i := range late {
					require.NoError(t, kernelstest.Compare(late[i], plain[i], 4, true), "%d %s %v: output %d\n%v", seed, rule, size, i, p)
					changed := kernelstest.Compare(late[i], inputs[p.Outputs[i].Alias], 0, true) != nil
					require.Equal(t, changed, kernelstest.Compare(plain[i], inputs[p.Outputs[i].Alias], 0, true) != nil, "%d %s %v: output %d", seed, rule, size, i)
					if size.expect != "either" {
						require.Equal(t, size.expect == "finite", changed, "%d %s %v: output %d", seed, rule, size, i)
					}
				}
			}
		}
	}
}
