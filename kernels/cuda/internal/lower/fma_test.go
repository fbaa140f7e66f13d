package lower_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// plainTiles are the tiles of float32 products.
var plainTiles = []string{"32x32", "64x32", "32x64", "64x64", "128x128"}

// plainPrograms are float32 products and convolutions.
func plainPrograms(t testing.TB) (all []*ir.Program) {
	one := func(op ir.Op, attrs ir.Attrs, shapes ...ir.Shape) {
		p := ir.New("single")
		var in []ir.Value
		for i, shape := range shapes {
			in = append(in, p.AddInput(fmt.Sprint("x", i), ir.Type{DType: ir.Float32, Shape: shape}))
		}
		y, err := p.Add("single", op, attrs, in...)
		require.NoError(t, err)
		p.AddOutput("y", y[0])
		all = append(all, p)
	}
	for _, lhs := range []int{0, 1} {
		for _, rhs := range []int{0, 1} {
			for _, n := range []int{256, 250} {
				one(ir.Dot, ir.DotAttrs{LhsContract: []int{lhs}, RhsContract: []int{rhs}}, ir.Shape{n, n}, ir.Shape{n, n})
			}
		}
	}
	conv := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: 1}
	for _, channels := range []int{1, 32} {
		x, w, y := ir.Shape{64, 13, 13, channels}, ir.Shape{3, 3, channels, 64}, ir.Shape{64, 11, 11, 64}
		one(ir.Conv, conv, x, w)
		one(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: conv, Shape: x}, y, w)
		one(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: conv, Shape: w}, x, y)
	}
	return all
}

// The assembler accepts float32 products for devices with asynchronous copies.
func TestAssemblerOfPlainProducts(t *testing.T) {
	ptxas := assembler(t)
	var kernels []string
	for i, p := range plainPrograms(t) {
		for j, tile := range plainTiles {
			if testing.Short() && i%len(plainTiles) != j {
				continue
			}
			kernels = appendKernels(t, kernels, p, lower.Options{Capability: 80, Cut: func(lower.Cut) lower.Cut { return lower.Cut{Tile: tile, Parts: 1 + i%2} }})
		}
	}
	kernels = appendKernels(t, kernels, statistics(t, ir.Float32, 1000), lower.Options{Capability: 80})
	inBatches(t, ptxas, "sm_80", ptx.HeaderAmpere+ptx.Dynamic, kernels, 255)
	inBatches(t, ptxas, "sm_90", ptx.HeaderAmpere+ptx.Dynamic, kernels, 255)
}
