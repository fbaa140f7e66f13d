package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/conv"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// convolution translates the shapes and attributes of a convolution.
func (b *build) convolution(x, kernel ir.Shape, a ir.ConvAttrs) (*conv.Shape, error) {
	n := len(x) - 2
	if n > 3 {
		return nil, b.unsupported("%d spatial axes; at most 3 are supported", n)
	}
	s := &conv.Shape{Batch: x[0], InChannels: x[n+1], OutChannels: kernel[n+1], In: spatial(x[1:n+1], 1), Kernel: spatial(kernel[:n], 1),
		Strides: spatial(a.Strides, 1), Dilation: spatial(a.Dilation, 1), PadLow: spatial(a.PadLow, 0), PadHigh: spatial(a.PadHigh, 0),
		Groups: a.Groups}
	return s, s.Validate()
}

func buildConv(b *build) (func(), error) {
	s, err := b.convolution(b.in(0).typ.Shape, b.in(1).typ.Shape, b.n.Attrs.(ir.ConvAttrs))
	if err != nil {
		return nil, err
	}
	if b.in(0).typ.DType == ir.Float64 {
		return convForward[float64](b, s), nil
	}
	return convForward[float32](b, s), nil
}

func convForward[T float](b *build, s *conv.Shape) func() {
	if e := b.u.fused; e != nil && e.pool {
		return convPool[T](b, s)
	}
	x, kernel, y, rt := b.in(0), b.in(1), b.out(0), b.rt()
	bias, relu := b.addedToProduct()
	if c := conv.NewMoments[T](s); c != nil {
		if m := b.gatherMoments(c.Rows(), s.OutChannels); m != nil {
			scratch := b.scratch(x.typ.DType, c.Scratch(rt.pool.Size()))
			return func() {
				var vector []T
				if bias != nil {
					vector = data[T](bias)
				}
				c.Forward(rt.pool, data[T](x), data[T](kernel), vector, relu, data[T](y), data[T](scratch), data[float64](m.memory))
			}
		}
	}
	scratch := b.scratch(x.typ.DType, conv.ForwardScratch[T](s, rt.pool.Size()))
	kept := keptKernel[T](b, kernel, s)
	return func() {
		var vector []T
		if bias != nil {
			vector = data[T](bias)
		}
		run, weights := conv.Forward[T], data[T](kernel)
		if panels := panelsOf[T](kept, kernel, rt.pool); panels != nil {
			run, weights = conv.ForwardPacked[T], panels
		}
		run(rt.pool, s, data[T](x), weights, vector, relu, data[T](y), data[T](scratch))
	}
}

// keptKernel returns the form in which the kernel of a convolution may be kept in panels, or nil.
func keptKernel[T float](b *build, kernel *operand, s *conv.Shape) *form {
	rows, columns, packs := conv.KernelMatrix[T](s)
	if !packs {
		return nil
	}
	return b.kept(kernel, &form{off: kernel.off, k: rows, n: columns, ld: columns})
}

// band is a part of the rows of a convolution's images, seen as a convolution of its own.
type band[T float] struct {
	shape         conv.Shape
	plan          *conv.Plan[T]
	x, y          int // where it begins in an image of the input and of the result's 2x2 maxima, in elements
	rows, columns int // of the convolution
}

const (
	bandFLOPs  = 1 << 17 // a band takes some microseconds at least
	bandPixels = 64      // and is large beside its kernel, which may be packed for each
	wantBands  = 16      // of all images
)

// newBands cuts the images of a convolution whose 2x2 maxima are wanted into bands, as many as keep several workers busy.
func newBands[T float](s *conv.Shape) []band[T] {
	out := s.Out()
	n := min((wantBands-1)/s.Batch+1, out[1]/2, max(s.FLOPs()/s.Batch/bandFLOPs, 1), max(out[1]*out[2]/bandPixels, 1))
	if extent := s.Dilation[1] * (s.Kernel[1] - 1); s.PadLow[1] > extent || s.PadHigh[1] > extent { // some rows see padding alone
		n = 1
	}
	rows := out[1] / 2 // of maxima
	list := make([]band[T], n)
	for i := range list {
		first, end := 2*(i*rows/n), 2*((i+1)*rows/n)
		// The rows of the input that these rows see, of which those outside are padding.
		low := first*s.Strides[1] - s.PadLow[1]
		high := (end-1)*s.Strides[1] - s.PadLow[1] + s.Dilation[1]*(s.Kernel[1]-1) + 1
		from, until := min(max(low, 0), s.In[1]), max(min(high, s.In[1]), 0)
		b := band[T]{shape: *s, x: from * s.In[2] * s.InChannels, y: first / 2 * (out[2] / 2) * s.OutChannels, rows: end - first, columns: out[2]}
		b.shape.Batch, b.shape.In[1] = 1, max(until-from, 0)
		b.shape.PadLow[1], b.shape.PadHigh[1] = from-low, high-until
		b.plan = conv.NewPlan[T](&b.shape)
		list[i] = b
	}
	return list
}

// convPool is a convolution with bias and relu whose result's 2x2 maxima are taken while a band of rows is in the cache.
func convPool[T float](b *build, s *conv.Shape) func() {
	e := b.u.fused
	x, kernel, pooled := b.in(0), b.in(1), b.out(0)
	var bias *operand
	if e.bias >= 0 {
		bias = &b.operands[e.bias]
	}
	bands := newBands[T](s)
	kept, rt := keptKernel[T](b, kernel, s), b.rt()
	nx, np := x.n/s.Batch, pooled.n/s.Batch
	memory := 0
	for i := range bands {
		d := &bands[i]
		memory = max(memory, d.rows*d.columns*s.OutChannels+d.plan.Scratch())
	}
	rt.need(memory * x.typ.DType.Size())
	chunk := max(bandFLOPs/max(s.FLOPs()/s.Batch/len(bands), 1), 1)
	var weights []T // of the run that goes on
	packed := false
	loop := rt.parallel(s.Batch*len(bands), chunk, func(w *worker, lo, hi int) {
		scratch := scratchOf[T](w, memory)
		var vector []T
		if bias != nil {
			vector = data[T](bias)
		}
		for i := lo; i < hi; i++ {
			n, d := i/len(bands), &bands[i%len(bands)]
			size := d.rows / 2 * (d.columns / 2) * s.OutChannels
			image, maxima := data[T](x)[n*nx+d.x:(n+1)*nx], data[T](pooled)[n*np+d.y:n*np+d.y+size]
			if d.plan.RunPooled(image, weights, vector, e.relu, maxima, scratch, packed) {
				continue
			}
			c := scratch[:d.rows*d.columns*s.OutChannels]
			d.plan.Run(image, weights, vector, e.relu, c, scratch[len(c):], packed)
			vec.MaxPool2x2(maxima, c, 1, d.rows, d.columns, s.OutChannels)
		}
	})
	return func() {
		weights, packed = panelsOf[T](kept, kernel, rt.pool), true
		if weights == nil {
			weights, packed = data[T](kernel), false
		}
		loop()
		weights = nil
	}
}

func buildConvInputGrad(b *build) (func(), error) {
	a := b.n.Attrs.(ir.ConvGradAttrs)
	s, err := b.convolution(a.Shape, b.in(1).typ.Shape, a.Conv)
	if err != nil {
		return nil, err
	}
	if b.in(0).typ.DType == ir.Float64 {
		return convInputGrad[float64](b, s), nil
	}
	return convInputGrad[float32](b, s), nil
}

func convInputGrad[T float](b *build, s *conv.Shape) func() {
	dy, kernel, dx, rt := b.in(0), b.in(1), b.out(0), b.rt()
	scratch := b.scratch(dy.typ.DType, conv.BackwardDataScratch[T](s, rt.pool.Size()))
	return func() {
		conv.BackwardData(rt.pool, s, data[T](dy), data[T](kernel), data[T](dx), data[T](scratch))
	}
}

func buildConvKernelGrad(b *build) (func(), error) {
	a := b.n.Attrs.(ir.ConvGradAttrs)
	s, err := b.convolution(b.in(0).typ.Shape, a.Shape, a.Conv)
	if err != nil {
		return nil, err
	}
	if b.in(0).typ.DType == ir.Float64 {
		return convKernelGrad[float64](b, s), nil
	}
	return convKernelGrad[float32](b, s), nil
}

func convKernelGrad[T float](b *build, s *conv.Shape) func() {
	x, dy, dkernel, rt := b.in(0), b.in(1), b.out(0), b.rt()
	scratch := b.scratch(dy.typ.DType, conv.BackwardWeightsScratch[T](s, rt.pool.Size()))
	return func() {
		conv.BackwardWeights(rt.pool, s, data[T](x), data[T](dy), data[T](dkernel), data[T](scratch))
	}
}
