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

// visit calls f for every output cell of one image with the offsets of its real input cells, which are listed in cells.
func (p *pooling) visit(cells []int32, f func(out int, cells []int32)) {
	out := 0
	for d := range p.out[0] {
		d0, d1 := p.interval(0, d)
		for h := range p.out[1] {
			h0, h1 := p.interval(1, h)
			for w := range p.out[2] {
				w0, w1 := p.interval(2, w)
				list := cells[:0]
				for i := d0; i < d1; i++ {
					for j := h0; j < h1; j++ {
						for k := w0; k < w1; k++ {
							list = append(list, int32(((i*p.in[1]+j)*p.in[2]+k)*p.channels))
						}
					}
				}
				f(out, list)
				out += p.channels
			}
		}
	}
}

// images returns a function that runs body for blocks of images with scratch memory for a window's cells.
func (p *pooling) images(b *build, body func(cells []int32, image int)) func() {
	window := p.window[0] * p.window[1] * p.window[2]
	b.rt().need(window * 4)
	_, out := p.sizes()
	return b.rt().parallel(p.batch, grain(out*window), func(w *worker, lo, hi int) {
		for image := lo; image < hi; image++ {
			body(scratchOf[int32](w, window), image)
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
	return p.images(b, func(cells []int32, image int) {
		x, y := data[T](in)[image*nx:(image+1)*nx], data[T](out)[image*ny:(image+1)*ny]
		p.visit(cells, func(at int, cells []int32) {
			acc := y[at : at+p.channels]
			fillWith(acc, T(math.Inf(-1)))
			for _, c := range cells {
				vec.Max(acc, acc, x[c:int(c)+p.channels])
			}
		})
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
	return p.images(b, func(cells []int32, image int) {
		x, dx := data[T](in)[image*nx:(image+1)*nx], data[T](out)[image*nx:(image+1)*nx]
		dy := data[T](grad)[image*ny : (image+1)*ny]
		clear(dx)
		p.visit(cells, func(at int, cells []int32) {
			for c := range p.channels {
				best := -1
				for _, cell := range cells {
					i := int(cell) + c
					if best < 0 || x[i] > x[best] || x[i] != x[i] && x[best] == x[best] {
						best = i
					}
				}
				if best >= 0 {
					dx[best] += dy[at+c]
				}
			}
		})
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
	return p.images(b, func(cells []int32, image int) {
		x, y := data[T](in)[image*nx:(image+1)*nx], data[T](out)[image*ny:(image+1)*ny]
		p.visit(cells, func(at int, cells []int32) {
			acc := y[at : at+p.channels]
			clear(acc)
			for _, c := range cells {
				vec.Add(acc, acc, x[c:int(c)+p.channels])
			}
			vec.Scale(acc, acc, 1/T(len(cells)))
		})
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
	return p.images(b, func(cells []int32, image int) {
		dx, dy := data[T](out)[image*nx:(image+1)*nx], data[T](grad)[image*ny:(image+1)*ny]
		clear(dx)
		p.visit(cells, func(at int, cells []int32) {
			share := 1 / T(len(cells))
			for _, c := range cells {
				vec.Axpy(dx[c:int(c)+p.channels], share, dy[at:at+p.channels])
			}
		})
	})
}
