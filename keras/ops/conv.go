package ops

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ConvOptions describe a convolution over the spatial axes, one entry for each.
type ConvOptions struct {
	// Strides are the steps between window positions; nil is 1 everywhere.
	Strides []int
	// Dilation is the distance between neighbouring kernel cells; nil is 1 everywhere.
	Dilation []int
	// PadLow and PadHigh are the zeros added at the two ends of each axis; nil is none. ir.SamePadding computes them
	// for Keras's padding "same".
	PadLow, PadHigh []int
	// Groups splits the channels: each group of output channels sees its own group of input channels. 0 is 1.
	Groups int
}

// attrs fills in the defaults for n spatial axes.
func (o ConvOptions) attrs(n int) ir.ConvAttrs {
	a := ir.ConvAttrs{
		Strides: orAll(o.Strides, 1, n), Dilation: orAll(o.Dilation, 1, n),
		PadLow: orAll(o.PadLow, 0, n), PadHigh: orAll(o.PadHigh, 0, n), Groups: o.Groups,
	}
	if a.Groups == 0 {
		a.Groups = 1
	}
	return a
}

// orAll returns a copy of values, or n times the default where values is nil.
func orAll(values []int, def, n int) []int {
	if values == nil {
		return ints.Repeat(def, max(n, 0))
	}
	return slices.Clone(values)
}

// Conv is the convolution of deep learning (a cross-correlation, the kernel is not flipped), channels last:
//
//	y[b, p..., o] = sum over window offsets k... and input channels c of x[b, p·stride + k·dilation - low..., c] · kernel[k..., c, o]
//
// x is (batch, spatial..., channels), kernel (window..., channels/groups, out), the result (batch, positions..., out)
// with floor((length + low + high - dilation·(window-1) - 1) / stride) + 1 positions. Cells outside x are zero.
func Conv(x, kernel *Tensor, o ConvOptions) *Tensor {
	x, kernel = commonFloat(x, kernel)
	return apply1(ir.Conv, o.attrs(x.Rank()-2), x, kernel)
}

// ConvTranspose is the gradient of [Conv] with respect to its input, used forwards to enlarge: dy is (batch,
// positions..., out), kernel (window..., channels/groups, out) as for Conv, and inputShape, the full shape (batch,
// spatial..., channels) of the result, must be one that Conv with the same options maps to the shape of dy.
func ConvTranspose(dy, kernel *Tensor, inputShape ir.Shape, o ConvOptions) *Tensor {
	dy, kernel = commonFloat(dy, kernel)
	attrs := ir.ConvGradAttrs{Conv: o.attrs(dy.Rank() - 2), Shape: inputShape.Clone()}
	return apply1(ir.ConvInputGrad, attrs, dy, kernel)
}

// commonFloat brings both operands to one float type.
func commonFloat(a, b *Tensor) (*Tensor, *Tensor) {
	d := Promote(a.DType(), b.DType())
	if !d.IsFloat() {
		d = ir.Float32
	}
	return Cast(a, d), Cast(b, d)
}

// The three ops are one bilinear form seen from its three sides, so each one's gradients are the other two.
func init() {
	rules[ir.Conv] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.ConvAttrs)
		x, kernel, dy := c.in(0), c.in(1), c.dy(0)
		return c.each(
			func() *Tensor { return convInputGrad(a, dy, kernel, x.Shape()) },
			func() *Tensor { return convKernelGrad(a, x, dy, kernel.Shape()) })
	}
	rules[ir.ConvInputGrad] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.ConvGradAttrs).Conv
		dy, kernel, ddx := c.in(0), c.in(1), c.dy(0)
		return c.each(
			func() *Tensor { return apply1(ir.Conv, a, ddx, kernel) },
			func() *Tensor { return convKernelGrad(a, ddx, dy, kernel.Shape()) })
	}
	rules[ir.ConvKernelGrad] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.ConvGradAttrs).Conv
		x, dy, ddk := c.in(0), c.in(1), c.dy(0)
		return c.each(
			func() *Tensor { return convInputGrad(a, dy, ddk, x.Shape()) },
			func() *Tensor { return apply1(ir.Conv, a, x, ddk) })
	}
}

func convInputGrad(a ir.ConvAttrs, dy, kernel *Tensor, shape ir.Shape) *Tensor {
	return apply1(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: a, Shape: shape}, dy, kernel)
}

func convKernelGrad(a ir.ConvAttrs, x, dy *Tensor, shape ir.Shape) *Tensor {
	return apply1(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: a, Shape: shape}, x, dy)
}
