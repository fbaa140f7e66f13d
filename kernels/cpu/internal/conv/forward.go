package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// ForwardScratch returns the number of elements of scratch memory that Forward needs.
func ForwardScratch[T Float](s *Shape, workers int) int {
	n := s.checked()
	if n.pointwise() {
		a := pointwiseForward[T](&n, nil, nil, nil, false, nil)
		return gemm.ScratchSize(&a, workers)
	}
	if isWide[T](&n) {
		w := forwardWide[T](&n)
		return w.size(volume(n.Kernel), workers)
	}
	if !packForward[T](&n) {
		return 0
	}
	width := micro.PanelWidth[T]()
	return volume(n.Kernel) * n.InChannels * ceil(n.OutChannels/n.Groups, width) * width
}

// forwardWide returns the geometry of a convolution along the width.
func forwardWide[T Float](s *Shape) wideCorrelation[T] {
	out := s.Out()
	height, width := s.forwardAxis(1, out), s.forwardAxis(2, out)
	return wideCorrelation[T]{wide: newWide[T](&height, &width, s.OutChannels, s.OutChannels/s.InChannels), on: true}
}

// packForward reports whether the kernel is repacked into panels; in place it is read in rows of OutChannels numbers.
func packForward[T Float](s *Shape) bool {
	width := micro.PanelWidth[T]()
	return !s.depthwise() && (s.Groups > 1 || s.OutChannels%width != 0 || s.OutChannels > 2*width)
}

// Forward computes y from x, the kernel and an optional bias (nil, or one number per output channel), and applies max(·, 0)
// if relu is set.
func Forward[T Float](p *pool.Pool, s *Shape, x, kernel, bias []T, relu bool, y, scratch []T) {
	n := s.checked()
	n.need("x", len(x), n.sizeX())
	n.need("kernel", len(kernel), n.sizeKernel())
	n.need("y", len(y), n.sizeY())
	n.need("scratch", len(scratch), ForwardScratch[T](&n, p.Size()))
	if bias != nil {
		n.need("bias", len(bias), n.OutChannels)
	}
	if n.pointwise() {
		runProduct(p, pointwiseForward(&n, x, kernel, bias, relu, y), scratch)
		return
	}
	c := getCorrelation[T]()
	c.outs = n.Out()
	for i := range c.axes {
		c.axes[i] = n.forwardAxis(i, c.outs)
	}
	c.batch, c.groups, c.depthwise = n.Batch, n.Groups, n.depthwise()
	c.in, c.inGroup = n.InChannels, n.InChannels/n.Groups
	c.out, c.outGroup = n.OutChannels, n.OutChannels/n.Groups
	c.x, c.y, c.w, c.bias, c.relu = x[:n.sizeX()], y[:n.sizeY()], kernel, bias, relu
	c.packed = packForward[T](&n)
	switch {
	case isWide[T](&n):
		c.wide = forwardWide[T](&n)
		c.wide.prepare(kernel, bias, scratch, volume(n.Kernel))
	case c.packed:
		k := getPacking[T]()
		k.dst, k.kernel = scratch, kernel
		k.rows = volume(n.Kernel) * c.inGroup
		k.columns, k.groups = c.outGroup, n.Groups
		k.out, k.shape, k.flip = n.OutChannels, n, false
		k.run(p)
		putPacking(k)
		c.w = scratch
	}
	c.run(p)
	putCorrelation(c)
}
