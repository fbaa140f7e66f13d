package cpu

import (
	"math"
	"unsafe"

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

// average divides the pixels of output row (d, h) by the number of cells of their windows that lie inside the input.
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

// images returns a function that runs body for every image, with the given bytes of scratch memory.
func images(p *geometry.Pooling, b *build, scratch int, body func(w *worker, image int)) func() {
	b.rt().need(scratch)
	_, out := p.Sizes()
	return b.rt().parallel(p.Batch, grain(out*p.Cells()/4), func(w *worker, lo, hi int) {
		for image := lo; image < hi; image++ {
			body(w, image)
		}
	})
}

// imageLines returns a function that runs body for every line of the gather's result in every image.
func imageLines(p *geometry.Pooling, b *build, g *geometry.Gather, body func(w *worker, image, line int)) func() {
	_, out := p.Sizes()
	n := g.Lines()
	return b.rt().parallel(p.Batch*n, grain(out*p.Cells()/4/max(n, 1)), func(w *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			body(w, i/n, i%n)
		}
	})
}

func buildMaxPool(b *build) (func(), error) {
	if run := buildHalfMaxPool(b); run != nil {
		return run, nil
	}
	if halfOf[b.in(0).Typ.DType] != nil {
		return byExamplesOf(b, buildMaxPool)
	}
	p, err := b.pooling(b.in(0).Typ.Shape, b.out(0).Typ.Shape, b.n.Attrs.(ir.PoolAttrs))
	if err != nil {
		return nil, err
	}
	if b.in(0).Typ.DType == ir.Float64 {
		return maxPool[float64](b, p), nil
	}
	if t := newImageTiles(p, (*geometry.Pooling).Forward); t != nil && (!p.Halves2x2() || p.Channels == 1 || rowsUpTo(p, shortHalves)) {
		return t.build(b, p, unprepared, windowsMax[float32](p.Channels*t.lanes)), nil
	}
	return maxPool[float32](b, p), nil
}

// gathering computes the results of consecutive windows. to and from begin at the first window's result and source.
// cells is empty if all cells of the windows lie outside the source.
type gathering[T block.Float] func(w *geometry.Windows, to, from []T, cells []int)

func windowsMax[T block.Float](channels int) gathering[T] {
	return func(w *geometry.Windows, to, from []T, cells []int) {
		if len(cells) == 0 {
			fillWith(to[:w.Count*channels], T(math.Inf(-1)))
			return
		}
		vec.WindowsMax(to, from, cells, w.Count, channels, channels, w.Stride*channels)
	}
}

func windowsMean[T block.Float](channels int) gathering[T] {
	return func(w *geometry.Windows, to, from []T, cells []int) {
		if len(cells) == 0 {
			fillWith(to[:w.Count*channels], T(math.NaN())) // 0 / 0
			return
		}
		vec.WindowsSum(to, from, cells, w.Count, channels, channels, w.Stride*channels, 1/T(len(cells)))
	}
}

// windowsShares sums, for each pixel, the shares of the windows that contain it.
func windowsShares[T block.Float](channels int, scale T) gathering[T] {
	return func(w *geometry.Windows, to, from []T, cells []int) {
		if len(cells) > 0 {
			vec.WindowsSum(to, from, cells, w.Count, channels, w.Step*channels, w.Stride*channels, scale)
			return
		}
		for i := range w.Count {
			clear(to[i*w.Step*channels:][:channels])
		}
	}
}

func maxPool[T block.Float](b *build, p *geometry.Pooling) func() {
	in, out := b.in(0), b.out(0)
	nx, ny := p.Sizes()
	if p.Halves2x2() {
		return b.rt().parallel(p.Batch, grain(ny), func(_ *worker, lo, hi int) {
			vec.MaxPool2x2(plan.Data[T](out)[lo*ny:hi*ny], plan.Data[T](in)[lo*nx:hi*nx], hi-lo, p.In[1], p.In[2], p.Channels)
		})
	}
	if a := newAxisMaxima[T](p); a != nil {
		return a.build(b, p, 1, func([]T, int) {})
	}
	g, largest := p.Forward(), windowsMax[T](p.Channels)
	return imageLines(p, b, g, func(_ *worker, image, line int) {
		x, y := plan.Data[T](in)[image*nx:(image+1)*nx], plan.Data[T](out)[image*ny:(image+1)*ny]
		g.Each(line, func(w *geometry.Windows, to, from int, cells []int) { largest(w, y[to:], x[from:], cells) })
	})
}

func buildMaxPoolGrad(b *build) (func(), error) {
	if run := buildHalfMaxPoolGrad(b); run != nil {
		return run, nil
	}
	if halfOf[b.in(0).Typ.DType] != nil {
		return byExamplesOf(b, buildMaxPoolGrad)
	}
	p, err := b.pooling(b.in(0).Typ.Shape, b.in(1).Typ.Shape, b.n.Attrs.(ir.PoolAttrs))
	if err != nil {
		return nil, err
	}
	if b.in(0).Typ.DType == ir.Float64 {
		return maxPoolGrad[float64](b, p), nil
	}
	if p.Halves2x2() {
		return maxPoolGrad[float32](b, p), nil
	}
	if t := newImageTiles(p, (*geometry.Pooling).Forward); t != nil {
		return t.buildMaxGrad(b, p), nil
	}
	if p.Cells() >= longWindow || p.Channels <= fewChannels {
		return maxPoolGradSearch(b, p), nil
	}
	return maxPoolGrad[float32](b, p), nil
}

func maxPoolGrad[T block.Float](b *build, p *geometry.Pooling) func() {
	in, result, grad, out := b.in(0), b.in(1), b.in(2), b.out(0)
	nx, ny := p.Sizes()
	if p.Halves2x2() {
		relu := b.u.Fused != nil
		size := grain(4 * ny)
		add, finish := poolGradientSums[T](b, p, p.Batch, size)
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
	g := p.Forward()
	return images(p, b, p.Out[2]*p.Channels*in.Typ.DType.Size(), func(w *worker, image int) {
		x, dx := plan.Data[T](in)[image*nx:(image+1)*nx], plan.Data[T](out)[image*nx:(image+1)*nx]
		top, dy := plan.Data[T](result)[image*ny:(image+1)*ny], plan.Data[T](grad)[image*ny:(image+1)*ny]
		left, done := scratchOf[T](w, p.Out[2]*p.Channels), 0
		for row := range p.Out[0] * p.Out[1] {
			d, h := row/p.Out[1], row%p.Out[1]
			done = clearSources(g, dx, row, done)
			first := p.RowOf(d, h)
			copy(left, dy[first:])
			p.EachCell(d, h, func(at, lo, hi int) {
				vec.PixelsClaim(dx[at:], x[at:], left[lo*p.Channels:], top[first+lo*p.Channels:], hi-lo, p.Channels, p.Stride[2]*p.Channels, p.Channels)
			})
		}
		clear(dx[done:])
	})
}

// clearSources clears the elements that a line of windows will add to, and those before them, except the first done
// elements, which are clear already. It returns how many are clear then. Clearing line by line keeps them in the cache;
// clearing a whole image at once would not.
func clearSources[T block.Float](g *geometry.Gather, dx []T, line, done int) int {
	width, _ := g.Widths()
	if _, end := g.Sources(line); end*width > done {
		clear(dx[done : end*width])
		return end * width
	}
	return done
}

// longWindow is the number of cells from which on searching each window is faster than going through all windows for
// each cell.
const longWindow = 12

// maxPoolGradSearch searches each window for its maximum.
func maxPoolGradSearch(b *build, p *geometry.Pooling) func() {
	in, result, grad, out := b.in(0), b.in(1), b.in(2), b.out(0)
	nx, ny := p.Sizes()
	g, n := p.Forward(), p.Out[2]*p.Channels
	return images(p, b, n*in.Typ.DType.Size(), func(w *worker, image int) {
		x, dx := plan.Data[float32](in)[image*nx:(image+1)*nx], plan.Data[float32](out)[image*nx:(image+1)*nx]
		top, dy := plan.Data[float32](result)[image*ny:(image+1)*ny], plan.Data[float32](grad)[image*ny:(image+1)*ny]
		index, done := scratchOf[int32](w, n), 0
		for line := range g.Lines() {
			done = clearSources(g, dx, line, done)
			g.Each(line, func(w *geometry.Windows, to, from int, cells []int) {
				if len(cells) > 0 {
					vec.WindowsFirst(index, x[from:], top[to:], cells, w.Count, p.Channels, p.Channels, w.Stride*p.Channels)
					scatterGradients(dx[from:], dy[to:], index, 0, w.Count, p.Channels, w.Stride*p.Channels)
				}
			})
		}
		clear(dx[done:])
	})
}

// poolGradientSums sums the gradient over all axes except the channels, if the unit has such a sink. add adds one part
// of the given number (images, or rows of windows), and finish combines the chunks of parts.
func poolGradientSums[T block.Float](b *build, p *geometry.Pooling, parts, chunk int) (add func(dx []T, part int), finish func()) {
	if len(b.u.Sinks) == 0 {
		return func([]T, int) {}, func() {}
	}
	out := &b.Operands[b.Program.Nodes[b.u.Sinks[0]].Outputs[0]]
	partial := b.scratch(out.Typ.DType, (parts+chunk-1)/chunk*p.Channels)
	add = func(dx []T, part int) {
		k := part / chunk
		acc := plan.Data[T](partial)[k*p.Channels : (k+1)*p.Channels]
		if part%chunk == 0 {
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
	if t := newImageTiles(p, (*geometry.Pooling).Forward); t != nil {
		return t.build(b, p, unprepared, windowsMean[float32](p.Channels*t.lanes)), nil
	}
	return avgPool[float32](b, p), nil
}

func avgPool[T block.Float](b *build, p *geometry.Pooling) func() {
	if a := newAxisSums[T](p, p.ForwardAxes()); a != nil {
		return a.buildMean(b, p)
	}
	in, out := b.in(0), b.out(0)
	nx, ny := p.Sizes()
	g, mean := p.Forward(), windowsMean[T](p.Channels)
	return imageLines(p, b, g, func(_ *worker, image, line int) {
		x, y := plan.Data[T](in)[image*nx:(image+1)*nx], plan.Data[T](out)[image*ny:(image+1)*ny]
		g.Each(line, func(w *geometry.Windows, to, from int, cells []int) { mean(w, y[to:], x[from:], cells) })
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
	if t := newImageTiles(p, (*geometry.Pooling).Backward); t != nil && (!p.Tiles() || rowsUpTo(p, shortShares)) {
		return t.buildAvgGrad(b, p), nil
	}
	return avgPoolGrad[float32](b, p), nil
}

// avgPoolGrad sums, for each element of the input, the shares of the windows that contain it.
func avgPoolGrad[T block.Float](b *build, p *geometry.Pooling) func() {
	if p.Tiles() {
		return avgPoolGradTiles[T](b, p)
	}
	grad, out := b.in(0), b.out(0)
	nx, ny := p.Sizes()
	scale, full := 1/T(p.Cells()), p.Full()
	if !full {
		scale = 1
	}
	g, shares := p.Backward(), windowsShares(p.Channels, scale)
	axes := newAxisSums[T](p, p.BackwardAxes())
	if full && axes != nil {
		return axes.build(b, p, scale, func([]T, int) {})
	}
	if full {
		return imageLines(p, b, g, func(_ *worker, image, line int) {
			dx, share := plan.Data[T](out)[image*nx:(image+1)*nx], plan.Data[T](grad)[image*ny:(image+1)*ny]
			g.Each(line, func(w *geometry.Windows, to, from int, cells []int) { shares(w, dx[to:], share[from:], cells) })
		})
	}
	line := 0
	if axes != nil {
		line = axes.Padded
	}
	return images(p, b, (ny+line)*grad.Typ.DType.Size(), func(w *worker, image int) {
		scratch := scratchOf[T](w, ny+line)
		dx, share := plan.Data[T](out)[image*nx:(image+1)*nx], scratch[:ny]
		copy(share, plan.Data[T](grad)[image*ny:(image+1)*ny])
		for row := range p.Out[0] * p.Out[1] {
			d, h := row/p.Out[1], row%p.Out[1]
			average(p, share[p.RowOf(d, h):][:p.Out[2]*p.Channels], d, h)
		}
		for line := range g.Lines() {
			if axes != nil {
				axes.line(dx, share, scratch[ny:], line, scale)
				continue
			}
			g.Each(line, func(w *geometry.Windows, to, from int, cells []int) { shares(w, dx[to:], share[from:], cells) })
		}
	})
}

// avgPoolGradTiles is avgPoolGrad if each element belongs to one window. A line of shares is repeated across the
// windows, and then down.
func avgPoolGradTiles[T block.Float](b *build, p *geometry.Pooling) func() {
	grad, out := b.in(0), b.out(0)
	if out.N == 0 {
		return func() {}
	}
	size := grad.Typ.DType.Size()
	n, pixel := p.Out[2]*p.Channels, p.Channels*size
	across := newCopy(size, []int{p.Out[2], p.Window[2], p.Channels}, []int{p.Window[2] * pixel, pixel, size}, []int{pixel, 0, size})
	line, scale := p.In[2]*p.Channels, 1/T(p.Cells())
	b.rt().need(n * size)
	return b.rt().parallel(p.Batch*p.Out[0]*p.Out[1], grain(line*p.Window[0]*p.Window[1]), func(w *worker, lo, hi int) {
		shares := scratchOf[T](w, n)
		for row := lo; row < hi; row++ {
			vec.Scale(shares, plan.Data[T](grad)[row*n:(row+1)*n], scale)
			d, h := row/p.Out[1]*p.Window[0], row%p.Out[1]*p.Window[1] // counted over all examples
			dx := plan.Data[T](out)[(d*p.In[1]+h)*line:]
			across.run(unsafe.Pointer(unsafe.SliceData(dx)), unsafe.Pointer(unsafe.SliceData(shares)), 0, across.dims[0])
			for i := range p.Window[0] * p.Window[1] {
				if i > 0 {
					copy(dx[(i/p.Window[1]*p.In[1]+i%p.Window[1])*line:][:line], dx[:line])
				}
			}
		}
	})
}
