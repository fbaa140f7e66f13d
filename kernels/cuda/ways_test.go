//go:build linux

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Every way of making a product or a convolution gives the reference's results, for random shapes, layouts, types,
// chains and architectures.
func TestRandomWays(t *testing.T) {
	rounds := 140
	if brief() {
		rounds = 12
	}
	taken := map[string]int{}
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 23))
			d := []ir.DType{ir.BFloat16, ir.Float16, ir.Float32}[rng.IntN(3)]
			units := 4.0
			if d == ir.Float32 {
				kernels.AllowTF32(true)
				defer kernels.AllowTF32(false)
				units = 64
			}
			b := on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Orders()[i%3], Capability: []int{80, 86, 90, 90, 90, 90, 100}[rng.IntN(7)]}))
			b.stages = 3 * rng.IntN(2)
			b.pick = func(q lower.Question) int {
				w := rng.IntN(len(q.Ways))
				if strings.HasSuffix(q.Ways[0], "g") && rng.IntN(3) > 0 {
					w = rng.IntN(slices.IndexFunc(q.Ways, func(way string) bool { return !strings.ContainsAny(way, "gb") }))
				}
				taken[q.Ways[w]]++
				return w
			}
			op := []ir.Op{ir.Conv, ir.ConvInputGrad, ir.ConvKernelGrad}[rng.IntN(3)]
			var p *ir.Program
			switch rng.IntN(6) {
			case 0:
				p = randomProduct(t, rng, d)
			case 1:
				p = randomConvolution(t, rng, d, op)
			case 2:
				p = wideConvolution(t, rng, d, op)
			default:
				p = wideProduct(t, rng, d)
			}
			withSums(t, rand.New(rand.NewPCG(uint64(i), 29)), p)
			agrees(t, b, p, rng, units)
		})
	}
	t.Log(taken)
	if !brief() {
		assert.GreaterOrEqual(t, len(taken), 21)
	}
}

// withSums adds sums of the operands of a program's product, over the axes that it sums, as its results or as what
// follows them.
func withSums(t *testing.T, rng *rand.Rand, p *ir.Program) {
	for _, n := range slices.Clone(p.Nodes) {
		axes := [2][]int{}
		switch a := n.Attrs.(type) {
		case ir.DotAttrs:
			axes = [2][]int{a.LhsContract, a.RhsContract}
		case ir.ConvGradAttrs:
			if n.Op == ir.ConvKernelGrad {
				axes[1] = []int{0, 1, 2}
			}
		}
		for i, axes := range axes {
			if axes == nil || rng.IntN(3) == 0 {
				continue
			}
			v := n.Inputs[i]
			add := func(op ir.Op, attrs ir.Attrs) {
				out, err := p.Add("bias", op, attrs, v)
				require.NoError(t, err)
				v = out[0]
			}
			if rng.IntN(2) == 0 {
				add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32})
			}
			if add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: axes}); rng.IntN(2) == 0 {
				add(ir.Tanh, nil)
			}
			p.AddOutput("sum", v)
		}
	}
}

// Sums of the operands of a product are found by its kernel: of every type, by tiles of both sizes, of all of k or of
// parts. That of the gradient of a bias comes before its product in a traced program.
func TestSumsByProducts(t *testing.T) {
	for i, c := range []struct {
		d        ir.DType
		m, n, k  int
		launches int
		first    bool
	}{
		{ir.Float32, 20, 37, 50, 1, false},
		{ir.Float32, 260, 270, 33, 1, true},
		{ir.Float64, 20, 10, 270, 2, true},
		{ir.BFloat16, 64, 40, 64, 1, true},
		{ir.Float16, 70, 136, 500, 2, false},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p := ir.New("gradients")
			x := p.AddInput("x", ir.Type{DType: c.d, Shape: ir.Shape{c.k, c.m}})
			dy := p.AddInput("dy", ir.Type{DType: c.d, Shape: ir.Shape{c.k, c.n}})
			add := func(name string, op ir.Op, attrs ir.Attrs, in ...ir.Value) {
				v, err := p.Add(name, op, attrs, in...)
				require.NoError(t, err)
				p.AddOutput(name, v[0])
			}
			sum := func() { add("bias", ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, dy) }
			if c.first {
				sum()
			}
			add("matrix", ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, x, dy)
			if !c.first {
				sum()
			}
			add("x", ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, x)
			plan, err := lower.Program(p, lower.Options{Capability: 90})
			require.NoError(t, err)
			assert.Equal(t, c.launches, plan.Launches)
			b := on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Orders()[i%3], Races: c.m < 70}))
			agrees(t, b, p, rand.New(rand.NewPCG(uint64(i), 31)), 4)
		})
	}
}

// wideProduct is a product whose rows can be copied in pieces, large enough for warp groups.
func wideProduct(t *testing.T, rng *rand.Rand, d ir.DType) *ir.Program {
	length := func(least, range8 int) int { return least + 8*rng.IntN(range8) }
	m, n, k := length(64, 30), length(64, 30), length(16, 20)
	if rng.IntN(4) == 0 {
		k = length(300, 40) // parts
	}
	return product(t, d, m, n, k, rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0)
}

// product is x·y, where the operands may be stored transposed, and maybe with a bias and an activation after it.
func product(t *testing.T, d ir.DType, m, n, k int, turnX, turnY, chain bool) *ir.Program {
	p := ir.New("wide")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return v[0]
	}
	x, y, a := ir.Shape{m, k}, ir.Shape{k, n}, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	if turnX {
		x, a.LhsContract = ir.Shape{k, m}, []int{0}
	}
	if turnY {
		y, a.RhsContract = ir.Shape{n, k}, []int{1}
	}
	v := add(ir.Dot, a, p.AddInput("x", ir.Type{DType: d, Shape: x}), p.AddInput("y", ir.Type{DType: d, Shape: y}))
	if chain {
		bias := p.AddInput("bias", ir.Type{DType: d, Shape: ir.Shape{n}})
		residual := p.AddInput("residual", ir.Type{DType: d, Shape: ir.Shape{m, n}})
		v = add(ir.Add, nil, v, add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{m, n}, Axes: []int{1}}, bias))
		v = add(ir.Add, nil, add(ir.Tanh, nil, v), residual)
	}
	p.AddOutput("out", v)
	return p
}

// wideConvolution is a convolution, or one of its gradients, with enough channels for warp groups.
func wideConvolution(t *testing.T, rng *rand.Rand, d ir.DType, op ir.Op) *ir.Program {
	channels := func() int { return 64 + 8*rng.IntN(10) }
	in, out, size := channels(), channels(), 3+rng.IntN(6)
	stride, taps, groups := 1+rng.IntN(2), 1+2*rng.IntN(2), 1+rng.IntN(2)
	a := ir.ConvAttrs{Strides: []int{stride, 1}, Dilation: []int{1, 1}, PadLow: []int{taps / 2, 0}, PadHigh: []int{taps / 2, taps - 1}, Groups: groups}
	x := ir.Shape{1 + rng.IntN(3), size, 9, in * groups}
	kernel := ir.Shape{taps, taps, in, out * groups}
	y := ir.Shape{x[0], (size+taps/2*2-taps)/stride + 1, 9, out * groups}
	p := ir.New("wide")
	add := func(s ir.Shape) ir.Value { return p.AddInput("in", ir.Type{DType: d, Shape: s}) }
	var v []ir.Value
	var err error
	switch op {
	case ir.Conv:
		v, err = p.Add("layer", op, a, add(x), add(kernel))
	case ir.ConvInputGrad:
		v, err = p.Add("layer", op, ir.ConvGradAttrs{Conv: a, Shape: x}, add(y), add(kernel))
	default:
		v, err = p.Add("layer", op, ir.ConvGradAttrs{Conv: a, Shape: kernel}, add(x), add(y))
	}
	require.NoError(t, err)
	p.AddOutput("out", v[0])
	return p
}
