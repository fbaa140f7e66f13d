package cpu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// halfOps are programs of one op, or of an op with what is fused into it, on operands of type d for a batch.
var halfOps = map[string]func(g tape, d ir.DType, batch int){
	"conv with bias and relu": func(g tape, d ir.DType, batch int) {
		x, w, bias := g.input("x", d, batch, 17, 18, 4), g.input("w", d, 3, 3, 4, 24), g.input("b", d, 24)
		y := g.op(ir.Conv, ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}, x, w)
		g.p.AddOutput("y", g.op(ir.Relu, nil, g.bias(y, bias)))
	},
	"conv of three channels, strided": func(g tape, d ir.DType, batch int) {
		x, w := g.input("x", d, batch, 33, 32, 3), g.input("w", d, 3, 3, 3, 16)
		g.p.AddOutput("y", g.op(ir.Conv, ir.ConvAttrs{Strides: []int{2, 2}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}, x, w))
	},
	"conv and maxima": func(g tape, d ir.DType, batch int) {
		x, w, bias := g.input("x", d, batch, 28, 28, 1), g.input("w", d, 3, 3, 1, 32), g.input("b", d, 32)
		y := g.op(ir.Conv, ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: 1}, x, w)
		y = g.op(ir.Relu, nil, g.bias(y, bias))
		g.p.AddOutput("y", g.op(ir.MaxPool, ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}}, y))
	},
	"input gradient": func(g tape, d ir.DType, batch int) {
		dy, w := g.input("dy", d, batch, 16, 16, 24), g.input("w", d, 3, 3, 5, 24)
		a := ir.ConvGradAttrs{Conv: ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}, Shape: ir.Shape{batch, 16, 16, 5}}
		g.p.AddOutput("dx", g.op(ir.ConvInputGrad, a, dy, w))
	},
	"softmax": func(g tape, d ir.DType, batch int) {
		g.p.AddOutput("y", g.op(ir.Softmax, nil, g.input("x", d, batch, 5, 700)))
	},
	"attention": func(g tape, d ir.DType, batch int) {
		in := func(name string) ir.Value { return g.input(name, d, batch, 64, 4, 32) }
		g.p.AddOutput("y", g.ops(ir.Attention, ir.AttentionAttrs{Scale: 0.2, Causal: true}, in("q"), in("k"), in("v"))[0])
	},
	"product": func(g tape, d ir.DType, batch int) {
		g.p.AddOutput("y", g.bias(g.matmul(g.input("x", d, batch, 300), g.input("w", d, 300, 70), false, false), g.input("b", d, 70)))
	},
}

// runHalf runs a program of halfOps. For any batch size, the first examples have the same numbers.
func runHalf(t *testing.T, build func(g tape, d ir.DType, batch int), d ir.DType, batch int) []byte {
	g := tape{p: &ir.Program{}}
	build(g, d, batch)
	s := newSession(t, g.p)
	for i, in := range g.p.Inputs {
		typ, data := g.p.Type(in.Value), s.inputs[i].Bytes()
		r := rand.New(rand.NewPCG(uint64(i), 7))
		for j := range typ.Shape.Size() {
			copy(data[2*j:], ir.AppendElement(nil, d, r.NormFloat64()/4))
		}
	}
	s.run(t)
	return s.outputs[0].Bytes()
}

// TestHalvesOfABatch: ops on 16-bit floats give an example the same bits in any batch, and so however many examples are
// computed together.
func TestHalvesOfABatch(t *testing.T) {
	for name, build := range halfOps {
		for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
			t.Run(name+" "+d.String(), func(t *testing.T) {
				all := runHalf(t, build, d, 61)
				for _, batch := range []int{1, 2, 9} {
					some := runHalf(t, build, d, batch)
					require.Equal(t, all[:len(some)], some, "%d examples", batch)
				}
			})
		}
	}
}

// TestArenaOfHalves: a network on bfloat16 takes little more than half the memory of one on float32.
func TestArenaOfHalves(t *testing.T) {
	arena := func(d ir.DType) float64 {
		g := tape{p: &ir.Program{}}
		const batch = 64
		x := g.input("x", d, batch, 32, 32, 16)
		a := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 1}, PadHigh: []int{1, 1}, Groups: 1}
		var kept []ir.Value // for the way back
		for i := range 6 {
			y := g.op(ir.Conv, a, x, g.input("w", d, 3, 3, 16, 16))
			x = g.op(ir.Relu, nil, g.bias(y, g.input("b", d, 16)))
			if i%2 == 0 {
				x = g.op(ir.Tanh, nil, x)
			}
			kept = append(kept, x)
		}
		dy := x
		for i := range kept {
			y := kept[len(kept)-1-i]
			dy = g.op(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: a, Shape: ir.Shape{batch, 32, 32, 16}}, g.reluGrad(y, dy), g.input("w", d, 3, 3, 16, 16))
			g.p.AddOutput("dw", g.op(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: a, Shape: ir.Shape{3, 3, 16, 16}}, y, dy))
		}
		return float64(newSession(t, g.p).e.Stats().ArenaBytes)
	}
	ratio := arena(ir.BFloat16) / arena(ir.Float32)
	t.Log(ratio)
	require.Less(t, ratio, 0.6)
}
