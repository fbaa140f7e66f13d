//go:build linux

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// agrees runs a program on random numbers, twice, and compares it with the reference.
func agrees(t *testing.T, b *backend, p *ir.Program, rng *rand.Rand, units float64) {
	t.Helper()
	d := kernels.Device{Kind: Kind}
	var in []reference.Value
	var buffers []kernels.Buffer
	buffer := func(typ ir.Type, data []byte) {
		x, err := b.NewBuffer(d, typ)
		require.NoError(t, err)
		require.NoError(t, x.Write(data))
		buffers = append(buffers, x)
	}
	defer func() {
		for _, x := range buffers {
			x.Free()
		}
	}()
	for _, input := range p.Inputs {
		typ := p.Type(input.Value)
		numbers := make([]float64, typ.Shape.Size())
		for i := range numbers {
			numbers[i] = math.Round(rng.NormFloat64()*64) / 64 // tf32 has them all
		}
		v, err := reference.New(typ.DType, typ.Shape, numbers...)
		require.NoError(t, err)
		in = append(in, v)
		buffer(typ, v.Bytes())
	}
	want, err := reference.Run(p, in)
	require.NoError(t, err)
	for _, v := range want {
		buffer(v.Type, make([]byte, v.Type.Bytes()))
	}
	e, err := kernels.Load(b, p, d)
	require.NoError(t, err)
	defer e.Close()
	var first []byte
	for range 2 {
		require.NoError(t, e.Run(t.Context(), buffers[:len(in)], buffers[len(in):]))
		var all []byte
		for i, v := range want {
			data := make([]byte, v.Type.Bytes())
			require.NoError(t, buffers[len(in)+i].Read(data))
			got, err := reference.FromBytes(v.Type, data)
			require.NoError(t, err)
			require.NoError(t, kernelstest.Compare(got, v, units, true), "%v", p)
			all = append(all, data...)
		}
		if first == nil {
			first = all
		}
		require.Equal(t, first, all, "two runs differ")
	}
}

// randomProduct is a product with axes in any order, of lengths that fill tiles and of such that do not, with batch
// axes or without, and maybe followed by a bias and an activation.
func randomProduct(t *testing.T, rng *rand.Rand, d ir.DType) *ir.Program {
	p := ir.New("product")
	length := func(least int) int {
		if rng.IntN(2) == 0 {
			return (least + 7 + rng.IntN(140)) &^ 7
		}
		return least + rng.IntN(140)
	}
	m, n, k, batch := length(16), length(8), length(16), 1+rng.IntN(3)
	if rng.IntN(6) == 0 {
		k = 300 + rng.IntN(400) // parts
	}
	x, y := ir.Shape{m, k}, ir.Shape{k, n}
	a := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	if rng.IntN(2) == 0 {
		x, a.LhsContract[0] = ir.Shape{k, m}, 0
	}
	if rng.IntN(2) == 0 {
		y, a.RhsContract[0] = ir.Shape{n, k}, 1
	}
	out := ir.Shape{m, n}
	if batch > 1 {
		at := rng.IntN(2) // in front, or between the others
		a.LhsBatch, a.RhsBatch = []int{at}, []int{0}
		x = append(append(x[:at:at], batch), x[at:]...)
		y = append(ir.Shape{batch}, y...)
		a.RhsContract[0]++
		if a.LhsContract[0] >= at {
			a.LhsContract[0]++
		}
		out = append(ir.Shape{batch}, out...)
	}
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return v[0]
	}
	lhs, rhs := p.AddInput("x", ir.Type{DType: d, Shape: x}), p.AddInput("y", ir.Type{DType: d, Shape: y})
	v := add(ir.Dot, a, lhs, rhs)
	if rng.IntN(2) == 0 {
		bias := p.AddInput("bias", ir.Type{DType: d, Shape: ir.Shape{n}})
		v = add(ir.Add, nil, v, add(ir.Broadcast, ir.BroadcastAttrs{Shape: out, Axes: []int{len(out) - 1}}, bias))
		v = add(ir.Tanh, nil, v)
	}
	p.AddOutput("out", v)
	return p
}

// inHalves compares 24 random programs of 16-bit floats with the reference, in every order of threads.
func inHalves(t *testing.T, seed uint64, units float64, program func(t *testing.T, rng *rand.Rand, d ir.DType) *ir.Program) {
	orders := ptxsim.Orders()
	for i := range 24 {
		if brief() && i%6 != 0 {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			b := on(t, fakedriver.New(fakedriver.Options{Order: orders[i%len(orders)]}))
			rng := rand.New(rand.NewPCG(uint64(i), seed))
			agrees(t, b, program(t, rng, []ir.DType{ir.BFloat16, ir.Float16}[i%2]), rng, units)
		})
	}
}

// Tensor cores multiply matrices of any lengths, in any order of axes, and what follows a product is part of its
// kernel.
func TestTensorProducts(t *testing.T) {
	inHalves(t, 17, 4, randomProduct)
}

// Products with enough results have larger tiles.
func TestLargeTensorTiles(t *testing.T) {
	b := on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Shuffled}))
	for name, k := range map[string]int{"neighbours": 40, "single elements": 35} {
		t.Run(name, func(t *testing.T) {
			p := ir.New("large")
			x := p.AddInput("x", ir.Type{DType: ir.BFloat16, Shape: ir.Shape{24, 130, k}})
			y := p.AddInput("y", ir.Type{DType: ir.BFloat16, Shape: ir.Shape{24, k, 136}})
			v, err := p.Add("layer", ir.Dot, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{2}, RhsContract: []int{1}}, x, y)
			require.NoError(t, err)
			p.AddOutput("out", v[0])
			agrees(t, b, p, rand.New(rand.NewPCG(1, 1)), 4)
		})
	}
}

// Products of float32 are computed as TF32 where that is allowed, and only there.
func TestTF32(t *testing.T) {
	t.Cleanup(func() { kernels.AllowTF32(false) })
	orders := ptxsim.Orders()
	for i := range 12 {
		if brief() && i%6 != 0 {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			b := on(t, fakedriver.New(fakedriver.Options{Order: orders[i%len(orders)]}))
			rng := rand.New(rand.NewPCG(uint64(i), 19))
			p := randomProduct(t, rng, ir.Float32)
			if i%4 == 3 {
				p = randomConvolution(t, rng, ir.Float32, []ir.Op{ir.Conv, ir.ConvInputGrad, ir.ConvKernelGrad}[i/4])
			}
			kernels.AllowTF32(true)
			agrees(t, b, p, rng, 64)
			kernels.AllowTF32(false)
			agrees(t, b, p, rng, 64)
		})
	}
}

// randomConvolution is a convolution, or one of its gradients, with as many channels as fill what is copied at once, or
// not.
func randomConvolution(t *testing.T, rng *rand.Rand, d ir.DType, op ir.Op) *ir.Program {
	p := ir.New("convolution")
	channels := func() int { return []int{3, 8, 16, 24}[rng.IntN(4)] }
	groups := 1 + rng.IntN(2)
	in, out := channels()*groups, channels()*groups
	if out/groups < 8 {
		out = 8 * groups
	}
	a := ir.ConvAttrs{Strides: []int{1 + rng.IntN(2), 1 + rng.IntN(2)}, Dilation: []int{1, 1 + rng.IntN(2)}, PadLow: []int{rng.IntN(2), 1}, PadHigh: []int{1, rng.IntN(2)}, Groups: groups}
	x := ir.Shape{1 + rng.IntN(3), 6 + rng.IntN(4), 5 + rng.IntN(4), in}
	kernel := ir.Shape{1 + rng.IntN(3), 3, in / groups, out}
	y := ir.Shape{x[0], 0, 0, out}
	for i := range 2 {
		y[i+1] = (x[i+1]+a.PadLow[i]+a.PadHigh[i]-(kernel[i]-1)*a.Dilation[i]-1)/a.Strides[i] + 1
	}
	input := func(name string, s ir.Shape) ir.Value { return p.AddInput(name, ir.Type{DType: d, Shape: s}) }
	var v []ir.Value
	var err error
	switch op {
	case ir.Conv:
		v, err = p.Add("layer", op, a, input("x", x), input("kernel", kernel))
	case ir.ConvInputGrad:
		v, err = p.Add("layer", op, ir.ConvGradAttrs{Conv: a, Shape: x}, input("dy", y), input("kernel", kernel))
	default:
		v, err = p.Add("layer", op, ir.ConvGradAttrs{Conv: a, Shape: kernel}, input("x", x), input("dy", y))
	}
	require.NoError(t, err)
	p.AddOutput("out", v[0])
	return p
}

// Convolutions and their gradients go through the same tiles.
func TestTensorConvolutions(t *testing.T) {
	b := on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Shuffled}))
	for _, op := range []ir.Op{ir.Conv, ir.ConvInputGrad, ir.ConvKernelGrad} {
		for i := range 8 {
			if brief() && i%4 != 0 {
				continue
			}
			t.Run(fmt.Sprint(op, " ", i), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(i), 18))
				agrees(t, b, randomConvolution(t, rng, []ir.DType{ir.BFloat16, ir.Float16}[i%2], op), rng, 4)
			})
		}
	}
}
