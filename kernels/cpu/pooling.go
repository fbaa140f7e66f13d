package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

func (b *build) pooling(x, y ir.Shape, a ir.PoolAttrs) (*geometry.Pooling, error) {
	p := geometry.NewPooling(x, y, a)
	if p == nil {
		return nil, b.unsupported("%d spatial axes; at most 3 are supported", len(x)-2)
	}
	return p, nil
}

// average multiplies the pixels of output row (d, h) by one over the number of their windows' cells inside the input.
func average[T block.Float](p *geometry.Pooling, row []T, d, h int) {
	d0, d1 := p.Interval(0, d)
	h0, h1 := p.Interval(1, h)
	for first := 0; first < p.Out[2]; {
		k0, k1 := p.Interval(2, first)
		last := first + 1
		for ; last < p.Out[2]; last++ {
			if lo, hi := p.Interval(2, last); hi-lo != k1-k0 {
				break
			}
		}
		pixels := row[first*p.Channels : last*p.Channels]
		vec.Scale(pixels, pixels, 1/T(max(d1-d0, 0)*max(h1-h0, 0)*max(k1-k0, 0)))
		first = last
	}
}

// images returns a function that runs body for every image, with scratch memory of one row of the output.
func images(p *geometry.Pooling, b *build, size int, body func(w *worker, image int)) func() {
	b.rt().need(p.Out[2] * p.Channels * size)
	_, out := p.Sizes()
	return b.rt().parallel(p.Batch, grain(out*p.Window[0]*p.Window[1]*p.Window[2]/4), func(w *worker, lo, hi int) {
		for image := lo; image < hi; image++ {
			body(w, image)
		}
	})
}

func buildMaxPool(b *build) (func(), error) {
	p, err := b.pooling(b.in(0).Typ.Shape, b.out(0).Typ.Shape, b.n.Attrs.(ir.PoolAttrs))
	if err != nil {
		return nil, err
	}
	if b.in(0).Typ.DType == ir.Float64 {
		return maxPool[float64](b, p), nil
	}
	return maxPool[float32](b, p), nil
}

func maxPool[T block.Float](b *build, p *geometry.Pooling) func() {
	in, out := b.in(0), b.out(0)
	nx, ny := p.Sizes()
	if p.Halves2x2() {
		return b.rt().parallel(p.Batch, grain(ny), func(_ *worker, lo, hi int) {
			vec.MaxPool2x2(plan.Data[T](out)[lo*ny:hi*ny], plan.Data[T](in)[lo*nx:hi*nx], hi-lo, p.In[1], p.In[2], p.Channels)
		})
	}
	return images(p, b, in.Typ.DType.Size(), func(_ *worker, image int) {
		x, y := plan.Data[T](in)[image*nx:(image+1)*nx], plan.Data[T](out)[image*ny:(image+1)*ny]
		fillWith(y, T(math.Inf(-1)))
		for row := range p.Out[0] * p.Out[1] {
			d, h := row/p.Out[1], row%p.Out[1]
			acc := y[p.RowOf(d, h):]
			p.Cells(d, h, func(at, lo, hi int) {
				vec.PixelsMax(acc[lo*p.Channels:], x[at:], hi-lo, p.Channels, p.Channels, p.Stride[2]*p.Channels)
			})
		}
	})
}

func buildMaxPoolGrad(b *build) (func(), error) {
	p, err := b.pooling(b.in(0).Typ.Shape, b.in(1).Typ.Shape, b.n.Attrs.(ir.PoolAttrs))
	if err != nil {
		return nil, err
	}
	if b.in(0).Typ.DType == ir.Float64 {
		return maxPoolGrad[float64](b, p), nil
	}
	return maxPoolGrad[float32](b, p), nil
}

func maxPoolGrad[T block.Float](b *build, p *geometry.Pooling) func() {
	in, result, grad, out := b.in(0), b.in(1), b.in(2), b.out(0)
	nx, ny := p.Sizes()
	if p.Halves2x2() {
		relu := b.u.Fused != nil
		size := grain(4 * ny)
		add, finish := poolGradientSums[T](b, p, size)
		loop := b.rt().parallel(p.Batch, size, func(_ *worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				dx := plan.Data[T](out)[i*nx : (i+1)*nx]
				vec.MaxPool2x2Backward(dx, plan.Data[T](grad)[i*ny:(i+1)*ny], plan.Data[T](in)[i*nx:(i+1)*nx],
					plan.Data[T](result)[i*ny:(i+1)*ny], 1, p.In[1], p.In[2], p.Channels, relu)
				add(dx, i)
			}
		})
		return func() { loop(); finish() }
	}
	return images(p, b, in.Typ.DType.Size(), func(w *worker, image int) {
		x, dx := plan.Data[T](in)[image*nx:(image+1)*nx], plan.Data[T](out)[image*nx:(image+1)*nx]
		top, dy := plan.Data[T](result)[image*ny:(image+1)*ny], plan.Data[T](grad)[image*ny:(image+1)*ny]
		left := scratchOf[T](w, p.Out[2]*p.Channels)
		clear(dx)
		for row := range p.Out[0] * p.Out[1] {
			d, h := row/p.Out[1], row%p.Out[1]
			first := p.RowOf(d, h)
			copy(left, dy[first:])
			p.Cells(d, h, func(at, lo, hi int) {
				vec.PixelsClaim(dx[at:], x[at:], left[lo*p.Channels:], top[first+lo*p.Channels:], hi-lo, p.Channels, p.Stride[2]*p.Channels, p.Channels)
			})
		}
	})
}

// poolGradientSums sums the gradient over all but the channels, if the unit has such a sink: add takes an image, and
// finish combines the chunks of images.
func poolGradientSums[T block.Float](b *build, p *geometry.Pooling, chunk int) (add func(dx []T, image int), finish func()) {
	if len(b.u.Sinks) == 0 {
		return func([]T, int) {}, func() {}
	}
	out := &b.Operands[b.Program.Nodes[b.u.Sinks[0]].Outputs[0]]
	partial := b.scratch(out.Typ.DType, (p.Batch+chunk-1)/chunk*p.Channels)
	add = func(dx []T, image int) {
		k := image / chunk
		acc := plan.Data[T](partial)[k*p.Channels : (k+1)*p.Channels]
		if image%chunk == 0 {
			clear(acc)
		}
		addRows(acc, dx)
	}
	return add, func() {
		acc := plan.Data[T](out)
		clear(acc)
		addRows(acc, plan.Data[T](partial))
	}
}

func buildAvgPool(b *build) (func(), error) {
	p, err := b.pooling(b.in(0).Typ.Shape, b.out(0).Typ.Shape, b.n.Attrs.(ir.PoolAttrs))
	if err != nil {
		return nil, err
	}
	if b.in(0).Typ.DType == ir.Float64 {
		return avgPool[float64](b, p), nil
	}
	return avgPool[float32](b, p), nil
}

func avgPool[T block.Float](b *build, p *geometry.Pooling) func() {
	in, out := b.in(0), b.out(0)
	nx, ny := p.Sizes()
	return images(p, b, in.Typ.DType.Size(), func(_ *worker, image int) {
		x, y := plan.Data[T](in)[image*nx:(image+1)*nx], plan.Data[T](out)[image*ny:(image+1)*ny]
		clear(y)
		for row := range p.Out[0] * p.Out[1] {
			d, h := row/p.Out[1], row%p.Out[1]
			acc := y[p.RowOf(d, h):][:p.Out[2]*p.Channels]
			p.Cells(d, h, func(at, lo, hi int) {
				vec.PixelsAdd(acc[lo*p.Channels:], x[at:], hi-lo, p.Channels, p.Channels, p.Stride[2]*p.Channels)
			})
			average(p, acc, d, h)
		}
	})
}

func buildAvgPoolGrad(b *build) (func(), error) {
	a := b.n.Attrs.(ir.PoolGradAttrs)
	p, err := b.pooling(a.Shape, b.in(0).Typ.Shape, a.Pool)
	if err != nil {
		return nil, err
	}
	if b.in(0).Typ.DType == ir.Float64 {
		return avgPoolGrad[float64](b, p), nil
	}
	return avgPoolGrad[float32](b, p), nil
}

func avgPoolGrad[T block.Float](b *build, p *geometry.Pooling) func() {
	grad, out := b.in(0), b.out(0)
	nx, ny := p.Sizes()
	return images(p, b, grad.Typ.DType.Size(), func(w *worker, image int) {
		dx, dy := plan.Data[T](out)[image*nx:(image+1)*nx], plan.Data[T](grad)[image*ny:(image+1)*ny]
		share := scratchOf[T](w, p.Out[2]*p.Channels)
		clear(dx)
		for row := range p.Out[0] * p.Out[1] {
			d, h := row/p.Out[1], row%p.Out[1]
			copy(share, dy[p.RowOf(d, h):])
			average(p, share, d, h)
			p.Cells(d, h, func(at, lo, hi int) {
				vec.PixelsAdd(dx[at:], share[lo*p.Channels:], hi-lo, p.Channels, p.Stride[2]*p.Channels, p.Channels)
			})
		}
	})
}
