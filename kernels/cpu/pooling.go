package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// pooling is the geometry of a pooling op over three spatial axes; missing ones come first with length 1.
type pooling struct {
	batch, channels              int
	in, out, window, stride, pad [3]int
}

// spatial puts a list of one to three numbers at the end of a triple filled with a default.
func spatial(list []int, fill int) [3]int {
	t := [3]int{fill, fill, fill}
	copy(t[3-len(list):], list)
	return t
}

// newPooling returns nil for more than three spatial axes.
func newPooling(x, y ir.Shape, a ir.PoolAttrs) *pooling {
	n := len(x) - 2
	if n > 3 {
		return nil
	}
	return &pooling{batch: x[0], channels: x[n+1], in: spatial(x[1:n+1], 1), out: spatial(y[1:n+1], 1),
		window: spatial(a.Window, 1), stride: spatial(a.Strides, 1), pad: spatial(a.PadLow, 0)}
}

func (b *build) pooling(x, y ir.Shape, a ir.PoolAttrs) (*pooling, error) {
	p := newPooling(x, y, a)
	if p == nil {
		return nil, b.unsupported("%d spatial axes; at most 3 are supported", len(x)-2)
	}
	return p, nil
}

// sizes are the elements of one image of the input and the output.
func (p *pooling) sizes() (in, out int) {
	return p.in[0] * p.in[1] * p.in[2] * p.channels, p.out[0] * p.out[1] * p.out[2] * p.channels
}

// halves2x2 reports whether the windows are 2x2 with stride 2 and no padding, for which there are special kernels.
func (p *pooling) halves2x2() bool {
	return p.in[0] == 1 && p.window == [3]int{1, 2, 2} && p.stride[1] == 2 && p.stride[2] == 2 && p.pad == [3]int{} &&
		p.out == [3]int{1, p.in[1] / 2, p.in[2] / 2} && p.out[1]*p.out[2]*p.channels > 0
}

// interval is the part of a window that lies inside the input along one axis.
func (p *pooling) interval(axis, at int) (lo, hi int) {
	lo = at*p.stride[axis] - p.pad[axis]
	return max(lo, 0), min(lo+p.window[axis], p.in[axis])
}

// outputs is the part of the outputs along one axis whose windows' given cell lies inside the input: [lo, hi).
func (p *pooling) outputs(axis, cell int) (lo, hi int) {
	first := cell - p.pad[axis] // input position of the cell at output 0
	if first < 0 {
		lo = (-first + p.stride[axis] - 1) / p.stride[axis]
	}
	if last := p.in[axis] - 1 - first; last >= 0 {
		hi = min(last/p.stride[axis]+1, p.out[axis])
	}
	return min(lo, hi), hi
}

// rowOf is the start of the output row (d, h) of an image.
func (p *pooling) rowOf(d, h int) int { return (d*p.out[1] + h) * p.out[2] * p.channels }

// cells calls f for the cells of the windows of output row (d, h) that lie inside the input, in row-major order: for the windows
// [lo, hi) of the row, the first of which has the cell at element x of the image.
func (p *pooling) cells(d, h int, f func(x, lo, hi int)) {
	d0, d1 := p.interval(0, d)
	h0, h1 := p.interval(1, h)
	for i := d0; i < d1; i++ {
		for j := h0; j < h1; j++ {
			for k := range p.window[2] {
				if lo, hi := p.outputs(2, k); lo < hi {
					f(((i*p.in[1]+j)*p.in[2]+lo*p.stride[2]+k-p.pad[2])*p.channels, lo, hi)
				}
			}
		}
	}
}

// average multiplies the pixels of output row (d, h) by one over the number of their windows' cells inside the input.
func average[T float](p *pooling, row []T, d, h int) {
	d0, d1 := p.interval(0, d)
	h0, h1 := p.interval(1, h)
	for first := 0; first < p.out[2]; {
		k0, k1 := p.interval(2, first)
		last := first + 1
		for ; last < p.out[2]; last++ {
			if lo, hi := p.interval(2, last); hi-lo != k1-k0 {
				break
			}
		}
		pixels := row[first*p.channels : last*p.channels]
		vec.Scale(pixels, pixels, 1/T(max(d1-d0, 0)*max(h1-h0, 0)*max(k1-k0, 0)))
		first = last
	}
}

// images returns a function that runs body for every image, with scratch memory of one row of the output.
func (p *pooling) images(b *build, size int, body func(w *worker, image int)) func() {
	b.rt().need(p.out[2] * p.channels * size)
	_, out := p.sizes()
	return b.rt().parallel(p.batch, grain(out*p.window[0]*p.window[1]*p.window[2]/4), func(w *worker, lo, hi int) {
		for image := lo; image < hi; image++ {
			body(w, image)
		}
	})
}

func buildMaxPool(b *build) (func(), error) {
	p, err := b.pooling(b.in(0).typ.Shape, b.out(0).typ.Shape, b.n.Attrs.(ir.PoolAttrs))
	if err != nil {
		return nil, err
	}
	if b.in(0).typ.DType == ir.Float64 {
		return maxPool[float64](b, p), nil
	}
	return maxPool[float32](b, p), nil
}

func maxPool[T float](b *build, p *pooling) func() {
	in, out := b.in(0), b.out(0)
	nx, ny := p.sizes()
	if p.halves2x2() {
		return b.rt().parallel(p.batch, grain(ny), func(_ *worker, lo, hi int) {
			vec.MaxPool2x2(data[T](out)[lo*ny:hi*ny], data[T](in)[lo*nx:hi*nx], hi-lo, p.in[1], p.in[2], p.channels)
		})
	}
	return p.images(b, in.typ.DType.Size(), func(_ *worker, image int) {
		x, y := data[T](in)[image*nx:(image+1)*nx], data[T](out)[image*ny:(image+1)*ny]
		fillWith(y, T(math.Inf(-1)))
		for row := range p.out[0] * p.out[1] {
			d, h := row/p.out[1], row%p.out[1]
			acc := y[p.rowOf(d, h):]
			p.cells(d, h, func(at, lo, hi int) {
				vec.PixelsMax(acc[lo*p.channels:], x[at:], hi-lo, p.channels, p.channels, p.stride[2]*p.channels)
			})
		}
	})
}

func buildMaxPoolGrad(b *build) (func(), error) {
	p, err := b.pooling(b.in(0).typ.Shape, b.in(1).typ.Shape, b.n.Attrs.(ir.PoolAttrs))
	if err != nil {
		return nil, err
	}
	if b.in(0).typ.DType == ir.Float64 {
		return maxPoolGrad[float64](b, p), nil
	}
	return maxPoolGrad[float32](b, p), nil
}

func maxPoolGrad[T float](b *build, p *pooling) func() {
	in, result, grad, out := b.in(0), b.in(1), b.in(2), b.out(0)
	nx, ny := p.sizes()
	if p.halves2x2() {
		relu := b.u.fused != nil
		size := grain(4 * ny)
		add, finish := poolGradientSums[T](b, p, size)
		loop := b.rt().parallel(p.batch, size, func(_ *worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				dx := data[T](out)[i*nx : (i+1)*nx]
				vec.MaxPool2x2Backward(dx, data[T](grad)[i*ny:(i+1)*ny], data[T](in)[i*nx:(i+1)*nx],
					data[T](result)[i*ny:(i+1)*ny], 1, p.in[1], p.in[2], p.channels, relu)
				add(dx, i)
			}
		})
		return func() { loop(); finish() }
	}
	return p.images(b, in.typ.DType.Size(), func(w *worker, image int) {
		x, dx := data[T](in)[image*nx:(image+1)*nx], data[T](out)[image*nx:(image+1)*nx]
		top, dy := data[T](result)[image*ny:(image+1)*ny], data[T](grad)[image*ny:(image+1)*ny]
		left := scratchOf[T](w, p.out[2]*p.channels)
		clear(dx)
		for row := range p.out[0] * p.out[1] {
			d, h := row/p.out[1], row%p.out[1]
			first := p.rowOf(d, h)
			copy(left, dy[first:])
			p.cells(d, h, func(at, lo, hi int) {
				vec.PixelsClaim(dx[at:], x[at:], left[lo*p.channels:], top[first+lo*p.channels:], hi-lo, p.channels, p.stride[2]*p.channels, p.channels)
			})
		}
	})
}

// poolGradientSums sums the gradient over all but the channels, if the unit has such a sink: add takes an image, and finish
// combines the chunks of images.
func poolGradientSums[T float](b *build, p *pooling, chunk int) (add func(dx []T, image int), finish func()) {
	if len(b.u.sinks) == 0 {
		return func([]T, int) {}, func() {}
	}
	out := &b.operands[b.p.Nodes[b.u.sinks[0]].Outputs[0]]
	partial := b.scratch(out.typ.DType, (p.batch+chunk-1)/chunk*p.channels)
	add = func(dx []T, image int) {
		k := image / chunk
		acc := data[T](partial)[k*p.channels : (k+1)*p.channels]
		if image%chunk == 0 {
			clear(acc)
		}
		addRows(acc, dx)
	}
	return add, func() {
		acc := data[T](out)
		clear(acc)
		addRows(acc, data[T](partial))
	}
}

func buildAvgPool(b *build) (func(), error) {
	p, err := b.pooling(b.in(0).typ.Shape, b.out(0).typ.Shape, b.n.Attrs.(ir.PoolAttrs))
	if err != nil {
		return nil, err
	}
	if b.in(0).typ.DType == ir.Float64 {
		return avgPool[float64](b, p), nil
	}
	return avgPool[float32](b, p), nil
}

func avgPool[T float](b *build, p *pooling) func() {
	in, out := b.in(0), b.out(0)
	nx, ny := p.sizes()
	return p.images(b, in.typ.DType.Size(), func(_ *worker, image int) {
		x, y := data[T](in)[image*nx:(image+1)*nx], data[T](out)[image*ny:(image+1)*ny]
		clear(y)
		for row := range p.out[0] * p.out[1] {
			d, h := row/p.out[1], row%p.out[1]
			acc := y[p.rowOf(d, h):][:p.out[2]*p.channels]
			p.cells(d, h, func(at, lo, hi int) {
				vec.PixelsAdd(acc[lo*p.channels:], x[at:], hi-lo, p.channels, p.channels, p.stride[2]*p.channels)
			})
			average(p, acc, d, h)
		}
	})
}

func buildAvgPoolGrad(b *build) (func(), error) {
	a := b.n.Attrs.(ir.PoolGradAttrs)
	p, err := b.pooling(a.Shape, b.in(0).typ.Shape, a.Pool)
	if err != nil {
		return nil, err
	}
	if b.in(0).typ.DType == ir.Float64 {
		return avgPoolGrad[float64](b, p), nil
	}
	return avgPoolGrad[float32](b, p), nil
}

func avgPoolGrad[T float](b *build, p *pooling) func() {
	grad, out := b.in(0), b.out(0)
	nx, ny := p.sizes()
	return p.images(b, grad.typ.DType.Size(), func(w *worker, image int) {
		dx, dy := data[T](out)[image*nx:(image+1)*nx], data[T](grad)[image*ny:(image+1)*ny]
		share := scratchOf[T](w, p.out[2]*p.channels)
		clear(dx)
		for row := range p.out[0] * p.out[1] {
			d, h := row/p.out[1], row%p.out[1]
			copy(share, dy[p.rowOf(d, h):])
			average(p, share, d, h)
			p.cells(d, h, func(at, lo, hi int) {
				vec.PixelsAdd(dx[at:], share[lo*p.channels:], hi-lo, p.channels, p.stride[2]*p.channels, p.channels)
			})
		}
	})
}
