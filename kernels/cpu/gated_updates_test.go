package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// scaledUpdates is what an optimizer with a scaled loss does to variables of random sizes. It returns the program and
// its operands. If bad is set, some gradient is not finite.
func scaledUpdates(t *testing.T, seed uint64, bad bool) (*ir.Program, []reference.Value) {
	r := rand.New(rand.NewPCG(seed, 77))
	p := passProgram{t, ir.New(fmt.Sprint("updates ", seed))}
	var inputs []reference.Value
	input := func(d ir.DType, f func() float64, shape ...int) ir.Value {
		typ := ir.Type{DType: d, Shape: shape}
		values := make([]float64, typ.Shape.Size())
		for i := range values {
			values[i] = f()
		}
		v, err := reference.New(d, typ.Shape, values...)
		require.NoError(t, err)
		inputs = append(inputs, v)
		return p.p.AddInput("", typ)
	}
	number := func(x float64) func() float64 { return func() float64 { return x } }
	wide := []ir.DType{ir.Float32, ir.Float32, ir.Float64}[r.IntN(3)]
	scale := input(wide, number([]float64{1 << 15, 3, 1}[r.IntN(3)]))
	rate, step := input(wide, number(0.01)), input(wide, number(5))
	rule := []string{"sgd", "momentum", "nesterov", "adam"}[r.IntN(4)]
	a := ir.OptimizerAttrs{Rule: rule, Values: map[string][]float64{"momentum": {0.9}, "nesterov": {0.9}, "adam": {0.9, 0.999, 1e-7}}[rule]}
	slots := map[string]int{"momentum": 1, "nesterov": 1, "adam": 2}[rule]
	count := 1 + r.IntN(4)
	unlucky := r.IntN(count)
	finite := ir.Value(-1)
	var later []func()
	for k := range count {
		shape := []int{1 + r.IntN(9), []int{2, 7, 300, 2500}[r.IntN(4)]}
		positive := func() float64 { return r.Float64() }
		w, at := input(wide, r.NormFloat64, shape...), len(inputs)-1
		var state []ir.Value
		for range slots {
			state = append(state, input(wide, positive, shape...))
		}
		narrow := wide
		if wide == ir.Float32 {
			narrow = []ir.DType{wide, ir.Float16, ir.BFloat16}[r.IntN(3)]
		}
		g := input(narrow, r.NormFloat64, shape...)
		if values := inputs[len(inputs)-1].F; bad && k == unlucky {
			values[r.IntN(len(values))] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
		}
		if narrow != wide {
			g = p.add(ir.Convert, ir.ConvertAttrs{DType: wide}, g)
		}
		all := p.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.And, Axes: []int{0, 1}}, p.add(ir.IsFinite, nil, g))
		if finite >= 0 {
			all = p.add(ir.BitAnd, nil, finite, all)
		}
		finite = all
		along := func(v ir.Value) ir.Value {
			return p.add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{}}, v)
		}
		decays, divides := r.IntN(2) == 0, r.IntN(3) > 0
		later = append(later, func() {
			if divides {
				g = p.add(ir.Div, nil, g, along(scale))
			}
			from := w
			if decays {
				from = p.add(ir.Sub, nil, w, p.add(ir.Mul, nil, w, along(rate)))
			}
			out, err := p.p.Add("", ir.OptimizerUpdate, a, append([]ir.Value{from, g, rate, step}, state...)...)
			require.NoError(t, err)
			for j, old := range append([]ir.Value{w}, state...) {
				p.p.AddAlias("", p.add(ir.Select, nil, along(finite), out[j], old), at+j)
			}
		})
	}
	for _, f := range later {
		f()
	}
	return p.p, inputs
}

// TestGatedUpdates: updates that divide their gradients, and are skipped unless these are finite, give the bits of the
// operations that they replace, and none of those operations remains.
func TestGatedUpdates(t *testing.T) {
	for seed := range uint64(40) {
		p, inputs := scaledUpdates(t, seed, seed%2 == 0)
		q, err := pipelineFor(1).all.Run(p)
		require.NoError(t, err)
		for _, n := range q.Nodes {
			require.False(t, n.Op == ir.Div || n.Op == ir.Convert, "%d: %v is left\n%v", seed, n.Op, q)
		}
		require.True(t, slices.ContainsFunc(q.Nodes, func(n ir.Node) bool { return n.Op == ir.OptimizerUpdate && len(n.Inputs) == 5+len(n.Outputs) }), "%d\n%v", seed, q)
		gated, plain := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
		for i := range gated {
			require.NoError(t, kernelstest.Compare(gated[i], plain[i], 0, true), "%d: output %d\n%v", seed, i, p)
			old := inputs[p.Outputs[i].Alias]
			if seed%2 == 0 {
				require.NoError(t, kernelstest.Compare(gated[i], old, 0, true), "%d: output %d is what it was", seed, i)
			} else {
				require.Error(t, kernelstest.Compare(gated[i], old, 0, true), "%d: output %d has changed", seed, i)
			}
		}
	}
}

// TestAllFinite puts a number that is not finite in every place of values of all short lengths.
func TestAllFinite(t *testing.T) {
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64} {
		for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 19, 4113} {
			p := passProgram{t, ir.New("finite")}
			x := p.p.AddInput("x", ir.Type{DType: d, Shape: ir.Shape{n}})
			p.p.AddOutput("y", p.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.And, Axes: []int{0}}, p.add(ir.IsFinite, nil, x)))
			for at := -1; at < n; at += 1 + n/100*7 {
				values := make([]float64, n)
				for i := range values {
					values[i] = []float64{d.Largest(), -d.Largest(), 0, d.LeastNormal(), -1}[(i+n)%5]
				}
				if at >= 0 {
					values[at] = []float64{math.Inf(1), math.Inf(-1), math.NaN()}[at%3]
				}
				v, err := reference.New(d, ir.Shape{n}, values...)
				require.NoError(t, err)
				require.Equal(t, at < 0, runOnce(t, p.p, []reference.Value{v}, false)[0].I[0] == 1, "%v, %d of %d", d, at, n)
			}
		}
	}
}

// TestAllFiniteInFloat16 checks whether float32 numbers are finite in float16: numbers around the first that is not,
// NaN and infinities, in every place of values of all short lengths.
func TestAllFiniteInFloat16(t *testing.T) {
	for n := 1; n < 12; n++ {
		p := passProgram{t, ir.New("finite")}
		x := p.p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{n}})
		narrow := p.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float16}, x)
		p.p.AddOutput("y", p.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.And, Axes: []int{0}}, p.add(ir.IsFinite, nil, narrow)))
		for at := range n {
			for _, v := range []float64{65504, 65519.99609375, 65520, 65536, 1e38, math.Inf(1), math.NaN(), 1e-42, 0} {
				values := make([]float64, n)
				values[at] = v
				if n%2 == 0 {
					values[at] = -v
				}
				in, err := reference.New(ir.Float32, ir.Shape{n}, values...)
				require.NoError(t, err)
				require.Equal(t, v < 65520, runOnce(t, p.p, []reference.Value{in}, false)[0].I[0] == 1, "%v, place %d of %d", v, at, n)
			}
		}
	}
}
