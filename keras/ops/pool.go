package ops

import "github.com/gokeras/gokeras/kernels/ir"

// PoolOptions describe pooling windows over the spatial axes, one entry for each.
type PoolOptions struct {
	// Window is the length of the window along each axis.
	Window []int
	// Strides are the steps between window positions; nil is Window, so that windows do not overlap.
	Strides []int
	// PadLow and PadHigh are the cells added at the ends of each axis; nil is none. They never count: maxima ignore
	// them and averages divide by the number of real cells.
	PadLow, PadHigh []int
}

func (o PoolOptions) attrs() ir.PoolAttrs {
	n := len(o.Window)
	strides := o.Strides
	if strides == nil {
		strides = o.Window
	}
	return ir.PoolAttrs{Window: orAll(o.Window, 1, n), Strides: orAll(strides, 1, n), PadLow: orAll(o.PadLow, 0, n), PadHigh: orAll(o.PadHigh, 0, n)}
}

// MaxPool returns the largest element of each window of x (batch, spatial..., channels); NaN wins. Of equal maxima the
// first gets the gradient.
func MaxPool(x *Tensor, o PoolOptions) *Tensor { return apply1(ir.MaxPool, o.attrs(), float(x)) }

// AveragePool returns the mean of the real cells of each window of x (batch, spatial..., channels).
func AveragePool(x *Tensor, o PoolOptions) *Tensor { return apply1(ir.AvgPool, o.attrs(), float(x)) }

func init() {
	rules[ir.MaxPool] = func(c *vjp) []*Tensor {
		return []*Tensor{apply1(ir.MaxPoolGrad, c.node.Attrs, c.in(0), c.out(0), c.dy(0))}
	}
	rules[ir.AvgPool] = func(c *vjp) []*Tensor {
		attrs := ir.PoolGradAttrs{Pool: c.node.Attrs.(ir.PoolAttrs), Shape: c.in(0).Shape()}
		return []*Tensor{apply1(ir.AvgPoolGrad, attrs, c.dy(0))}
	}
	// Average pooling is linear, so the gradient of its gradient is the pooling itself.
	rules[ir.AvgPoolGrad] = func(c *vjp) []*Tensor {
		return []*Tensor{apply1(ir.AvgPool, c.node.Attrs.(ir.PoolGradAttrs).Pool, c.dy(0))}
	}
}
