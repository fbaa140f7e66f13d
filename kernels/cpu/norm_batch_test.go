package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// programBuilder adds nodes and stops the test on an error.
type programBuilder struct {
	*ir.Program
	t *testing.T
}

func (p programBuilder) add(op ir.Op, a ir.Attrs, in ...ir.Value) []ir.Value {
	out, err := p.Add("", op, a, in...)
	require.NoError(p.t, err)
	return out
}

func normalValues(t *testing.T, rng *rand.Rand, p *ir.Program) []reference.Value {
	var inputs []reference.Value
	for _, in := range p.Inputs {
		typ := p.Type(in.Value)
		numbers := make([]float64, typ.Shape.Size())
		for k := range numbers {
			numbers[k] = float64(float32(rng.NormFloat64()))
		}
		v, err := reference.New(typ.DType, typ.Shape, numbers...)
		require.NoError(t, err)
		inputs = append(inputs, v)
	}
	return inputs
}

// TestConvolutionGathersMoments: a batch normalization of a convolution's result, with and without bias, does not read
// the result to compute its moments. They are as accurate as those of two passes in float64, even if means are
// thousands of times the deviation.
func TestConvolutionGathersMoments(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, bias := range []bool{false, true} {
			p := programBuilder{ir.New(""), t}
			of := func(shape ...int) ir.Type { return ir.Type{DType: d, Shape: shape} }
			x, kernel, far := p.AddInput("x", of(5, 30, 28, 4)), p.AddInput("kernel", of(3, 3, 4, 6)), p.AddInput("far", of(6))
			gamma, beta := p.AddInput("gamma", of(6)), p.AddInput("beta", of(6))
			y := p.add(ir.Conv, ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}, x, kernel)[0]
			if bias {
				y = p.add(ir.Add, nil, y, p.add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{5, 30, 28, 6}, Axes: []int{3}}, far)[0])[0]
			}
			norm := p.add(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, y, gamma, beta)
			p.AddOutput("convolution", y)
			p.AddOutput("mean", norm[1])
			p.AddOutput("variance", norm[2])
			p.AddOutput("y", p.add(ir.Relu, nil, norm[0])[0])
			require.NoError(t, p.Verify())

			e, err := Backend{}.load(p.Program, kernels.CompileOptions{Device: testDevice}, false)
			require.NoError(t, err)
			assert.True(t, slices.ContainsFunc(e.schedule.steps, func(s step) bool { return strings.HasSuffix(s.name, "+moments") }))
			e.Close()

			inputs := normalValues(t, rand.New(rand.NewPCG(5, 6)), p.Program)
			inputs[2], err = reference.New(d, ir.Shape{6}, 0, 1e3, -2e3, 4e3, 3e4, -1e4)
			require.NoError(t, err)
			fused, plain := runOnce(t, p.Program, inputs, false), runOnce(t, p.Program, inputs, true)
			require.NoError(t, kernelstest.Compare(fused[0], plain[0], 8, true))
			checkMoments(t, d, numbers(fused[0]), numbers(fused[1]), numbers(fused[2]))
			checkMoments(t, d, numbers(plain[0]), numbers(plain[1]), numbers(plain[2]))
		}
	}
}

func numbers(v reference.Value) []float64 {
	x := make([]float64, v.Type.Shape.Size())
	for i := range x {
		x[i] = v.At(i)
	}
	return x
}

func checkMoments(t *testing.T, d ir.DType, y, mean, variance []float64) {
	t.Helper()
	unit := 0x1p-23
	if d == ir.Float64 {
		unit = 0x1p-45 // the expected value is rounded too
	}
	channels, n := len(mean), float64(len(y)/len(mean))
	for c := range channels {
		m, v := 0.0, 0.0
		for i := c; i < len(y); i += channels {
			m += y[i] / n
		}
		for i := c; i < len(y); i += channels {
			v += (y[i] - m) * (y[i] - m) / n
		}
		if !(math.Abs(m-mean[c]) <= unit*math.Abs(m)+unit) || !(math.Abs(v-variance[c]) <= 8*unit*v) {
			t.Fatalf("channel %d: mean %v and variance %v, want %v and %v", c, mean[c], variance[c], m, v)
		}
	}
}

// TestNormGradientThroughRelu: the gradient of relu(batch normalization) is one step with the bits of separate steps.
// It overwrites the upstream gradient only if nothing else reads that.
func TestNormGradientThroughRelu(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, c := range []struct {
			maskOfResult, otherNorm, second bool
			nodes                           []ir.Op
		}{
			{maskOfResult: true, nodes: []ir.Op{ir.Compare, ir.Select, ir.BatchNormGrad}},
			{nodes: []ir.Op{ir.Compare, ir.Select, ir.BatchNormGrad}},
			{maskOfResult: true, otherNorm: true, nodes: []ir.Op{ir.BatchNormGrad}},
			{maskOfResult: true, second: true, nodes: []ir.Op{ir.BatchNormGrad}},
		} {
			typ, channels := ir.Type{DType: d, Shape: ir.Shape{40, 7, 6}}, ir.Type{DType: d, Shape: ir.Shape{6}}
			p := programBuilder{ir.New(""), t}
			x, up, gamma, beta := p.AddInput("x", typ), p.AddInput("up", typ), p.AddInput("gamma", channels), p.AddInput("beta", channels)
			norm := p.add(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, x, gamma, beta)
			y := p.add(ir.Relu, nil, norm[0])[0]
			zeros := p.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, 0, typ.Shape...)})[0]
			of := norm[0]
			if c.maskOfResult {
				of = y
			}
			up = p.add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum}, up)[0] // in memory that may be taken over
			g := p.add(ir.Select, nil, p.add(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, of, zeros)[0], up, zeros)[0]
			mean := norm[1]
			if c.otherNorm {
				mean = p.add(ir.Neg, nil, mean)[0]
			}
			grad := p.add(ir.BatchNormGrad, ir.NormAttrs{Epsilon: 1e-3}, x, gamma, mean, norm[2], g)
			p.AddOutput("y", y)
			for _, v := range grad {
				p.AddOutput("gradient", p.add(ir.Neg, nil, v)[0])
			}
			if c.second {
				p.AddOutput("g", g)
			}
			require.NoError(t, p.Verify())
			graph := fuse.NewGraph(p.Program)
			graph.Group()
			at := slices.IndexFunc(graph.Units, func(u *fuse.Unit) bool {
				return slices.ContainsFunc(u.Nodes, func(i int) bool { return p.Nodes[i].Op == ir.BatchNormGrad })
			})
			var ops []ir.Op
			for _, i := range graph.Units[at].Nodes {
				ops = append(ops, p.Nodes[i].Op)
			}
			assert.Equal(t, c.nodes, ops)
			inputs := normalValues(t, rand.New(rand.NewPCG(3, 4)), p.Program)
			fused, plain := runOnce(t, p.Program, inputs, false), runOnce(t, p.Program, inputs, true)
			for i := range fused {
				require.NoError(t, kernelstest.Compare(fused[i], plain[i], 0, true), "%+v: output %d has the same bits", c, i)
			}
		}
	}
}
