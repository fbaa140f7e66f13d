package cpu

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestWinogradForms: a variable that is the kernel of two convolutions with different channels, image sizes or padding
// is transformed for each, scaled or not.
func TestWinogradForms(t *testing.T) {
	for _, scaled := range []bool{false, true} {
		kernel := newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{9 * 32 * 64}})
		require.NoError(t, kernel.Write(float32s(9*32*64)))
		run := func(side, in, out, lines, pad int, plain bool) []float32 {
			p := ir.New("")
			add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
				v, err := p.Add("", op, attrs, in...)
				require.NoError(t, err)
				return v[0]
			}
			x := p.AddInput("", ir.Type{DType: ir.Float32, Shape: ir.Shape{1, side, side, in}})
			k := add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{lines, 3, in, out}}, p.AddInput("", kernel.typ))
			one, around := []int{1, 1}, []int{pad, 1}
			y := add(ir.Conv, ir.ConvAttrs{Strides: one, Dilation: one, PadLow: around, PadHigh: around, Groups: 1}, x, k)
			if scaled {
				y = add(ir.Mul, nil, y, add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 3, p.Type(y).Shape...)}))
			}
			p.AddOutput("y", y)
			e, err := Backend{}.load(p, kernels.CompileOptions{Device: here}, plain)
			require.NoError(t, err)
			image, result := newBuffer(here, p.Type(x)), newBuffer(here, p.Type(y))
			require.NoError(t, image.Write(float32s(side*side*in)))
			for range 3 { // kept in the meantime
				require.NoError(t, e.Run(context.Background(), []kernels.Buffer{image, kernel}, []kernels.Buffer{result}))
			}
			return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(result.data))), len(result.data)/4)
		}
		for _, c := range [][5]int{{8, 32, 64, 3, 1}, {8, 64, 32, 3, 1}, {8, 32, 64, 3, 1}, {20, 32, 64, 3, 1}, {8, 32, 64, 3, 1}, {24, 96, 64, 1, 0}, {24, 96, 64, 1, 2}, {24, 96, 64, 1, 0}} {
			near(t, run(c[0], c[1], c[2], c[3], c[4], true), run(c[0], c[1], c[2], c[3], c[4], false))
		}
	}
}
