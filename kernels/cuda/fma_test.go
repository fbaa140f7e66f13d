//go:build linux

package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// plainTiles are those of products of float32 without tensor cores; the first name stands for what older devices do.
var plainTiles = []string{"older", "32x32", "64x32", "32x64", "64x64", "128x128"}

// plainConvolution is a convolution of float32 with both gradients, and the sum of dy that the gradient of a bias is.
func plainConvolution(t *testing.T, rng *rand.Rand, d ir.DType) *ir.Program {
	p := ir.New("convolution")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		p.AddOutput("out", v[0])
		return v[0]
	}
	in := func(shape ...int) ir.Value { return p.AddInput("in", ir.Type{DType: d, Shape: shape}) }
	channels, filters := []int{1, 3, 8, 12}[rng.IntN(4)], []int{5, 8, 40}[rng.IntN(3)]
	stride, pad := 1+rng.IntN(2), rng.IntN(2)
	a := ir.ConvAttrs{Strides: []int{stride, 1}, Dilation: []int{1, 1 + rng.IntN(2)}, PadLow: []int{pad, 0}, PadHigh: []int{0, pad}, Groups: 1}
	x, w := in(2, 12, 11, channels), in(3, 3, channels, filters)
	y := add(ir.Conv, a, x, w)
	dy := in(p.Type(y).Shape...)
	add(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: a, Shape: p.Type(x).Shape}, dy, w)
	add(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: a, Shape: p.Type(w).Shape}, x, dy)
	add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0, 1, 2}}, dy)
	return p
}

// Products and convolutions of float32 come to the numbers of the reference with every tile, in parts and without, in
// every order of threads.
func TestPlainProducts(t *testing.T) {
	orders, cuts := ptxsim.Orders(), 0
	for i := range 30 {
		if brief() && i%3 != 0 {
			continue
		}
		tile := plainTiles[1+i%5]
		t.Run(fmt.Sprintf("%d %s", i, tile), func(t *testing.T) {
			cuts += plainAgrees(t, on(t, fakedriver.New(fakedriver.Options{Order: orders[i%len(orders)]})), i, tile)
		})
	}
	assert.Positive(t, cuts)
}

// plainAgrees compares the i-th random product, or a convolution, with the reference. It returns how many are made so:
// some are too small.
func plainAgrees(t *testing.T, b *backend, i int, tile string) (cuts int) {
	before := b.cut
	defer func() { b.cut = before }()
	b.cut = func(lower.Cut) lower.Cut {
		cuts++
		return lower.Cut{Tile: tile, Parts: 1 + i%3}
	}
	rng := rand.New(rand.NewPCG(uint64(i), 23))
	program := randomProduct
	if i%2 == 0 {
		program = plainConvolution
	}
	agrees(t, b, program(t, rng, ir.Float32), rng, 1<<10)
	return cuts
}

// The same on a GPU, of which most know asynchronous copies.
func TestHardwarePlainProducts(t *testing.T) {
	b, d := hardware(t)
	if d.Kind != Kind {
		t.Skip("is for a GPU (make gpu); TestPlainProducts runs the same with interpreted kernels")
	}
	for i := range 60 {
		tile := plainTiles[1+i%5]
		t.Run(fmt.Sprintf("%d %s", i, tile), func(t *testing.T) { plainAgrees(t, b.(*backend), i, tile) })
	}
}
