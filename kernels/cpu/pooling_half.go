package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// 2x2 maxima of 16-bit floats, and their gradient, are computed one row of windows at a time, in the first-level cache.
// The two rows of pixels are widened to float32 and the results rounded, which is exact.

// buildHalfMaxPool compiles the maxima of 2x2 windows of 16-bit floats. It returns nil for other windows.
func buildHalfMaxPool(b *build) func() {
	p := geometry.NewPooling(b.in(0).Typ.Shape, b.out(0).Typ.Shape, b.n.Attrs.(ir.PoolAttrs))
	half := halfOf[b.in(0).Typ.DType]
	if half == nil || p == nil || !p.Halves2x2() {
		return nil
	}
	in, out := b.in(0), b.out(0)
	nx, ny := p.Sizes()
	row, top := p.In[2]*p.Channels, p.Out[2]*p.Channels
	b.rt().need(4 * (2*row + top))
	return b.rt().parallel(p.Batch*p.Out[1], grain(top), func(w *worker, lo, hi int) {
		scratch := scratchOf[float32](w, 2*row+top)
		x, y := scratch[:2*row], scratch[2*row:]
		for i := lo; i < hi; i++ {
			image, line := i/p.Out[1], i%p.Out[1]
			half.Widen(x, plan.Data[uint16](in)[image*nx+2*line*row:][:2*row])
			vec.MaxPool2x2(y, x, 1, 2, p.In[2], p.Channels)
			half.Narrow(plan.Data[uint16](out)[image*ny+line*top:][:top], y)
		}
	})
}

// buildHalfMaxPoolGrad compiles their gradient. It includes the gradient of a preceding relu and the sum over the
// pixels if the unit has these. It returns nil for other windows.
func buildHalfMaxPoolGrad(b *build) func() {
	p := geometry.NewPooling(b.in(0).Typ.Shape, b.in(1).Typ.Shape, b.n.Attrs.(ir.PoolAttrs))
	half := halfOf[b.in(0).Typ.DType]
	if half == nil || p == nil || !p.Halves2x2() {
		return nil
	}
	in, result, grad, out, relu := b.in(0), b.in(1), b.in(2), b.out(0), b.u.Fused != nil
	nx, ny := p.Sizes()
	row, top := p.In[2]*p.Channels, p.Out[2]*p.Channels
	lines := grain(4 * top)
	add, finish := poolGradientSums[float32](b, p, p.Batch*p.Out[1], lines)
	b.rt().need(4 * (4*row + 2*top))
	loop := b.rt().parallel(p.Batch*p.Out[1], lines, func(w *worker, lo, hi int) {
		scratch := scratchOf[float32](w, 4*row+2*top)
		x, dx, y, dy := scratch[:2*row], scratch[2*row:4*row], scratch[4*row:4*row+top], scratch[4*row+top:]
		for i := lo; i < hi; i++ {
			image, line := i/p.Out[1], i%p.Out[1]
			at, to := image*nx+2*line*row, image*ny+line*top
			half.Widen(x, plan.Data[uint16](in)[at:][:2*row])
			half.Widen(y, plan.Data[uint16](result)[to:][:top])
			half.Widen(dy, plan.Data[uint16](grad)[to:][:top])
			vec.MaxPool2x2Backward(dx, dy, x, y, 1, 2, p.In[2], p.Channels, relu)
			half.Narrow(plan.Data[uint16](out)[at:][:2*row], dx)
			if line == p.Out[1]-1 {
				clear(plan.Data[uint16](out)[at+2*row : (image+1)*nx]) // an odd last row
			}
			add(dx, i)
		}
	})
	return func() { loop(); finish() }
}
