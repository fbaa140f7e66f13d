package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/conv"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// convolution translates the shapes and attributes of a convolution.
func (b *build) convolution(x, kernel ir.Shape, a ir.ConvAttrs) (*conv.Shape, error) {
	s := convolutionOf(x, kernel, a)
	if s == nil {
		return nil, b.unsupported("%d spatial axes; at most 3 are supported", len(x)-2)
	}
	s.Part = b.part
	s.Remember()
	return s, s.Validate()
}

// convolutionOf is convolution without an error. It returns nil if there are more than three spatial axes.
func convolutionOf(x, kernel ir.Shape, a ir.ConvAttrs) *conv.Shape {
	n := len(x) - 2
	if n > 3 {
		return nil
	}
	return &conv.Shape{Batch: x[0], InChannels: x[n+1], OutChannels: kernel[n+1], In: geometry.Spatial(x[1:n+1], 1), Kernel: geometry.Spatial(kernel[:n], 1),
		Strides: geometry.Spatial(a.Strides, 1), Dilation: geometry.Spatial(a.Dilation, 1), PadLow: geometry.Spatial(a.PadLow, 0), PadHigh: geometry.Spatial(a.PadHigh, 0),
		Groups: a.Groups}
}

// sameImages is the [scan.SameImages] of convolutions. 16-bit convolutions are computed in parts anyway.
func sameImages(d ir.DType, x, kernel ir.Shape, a ir.ConvAttrs) bool {
	s := convolutionOf(x, kernel, a)
	return d != ir.Float32 || s == nil || s.SameInParts()
}

func buildConv(b *build) (func(), error) {
	if halfOf[b.in(0).Typ.DType] != nil {
		if !convolvesPairs(b) {
			if run, err := buildHalfImages(b); run != nil || err != nil {
				return run, err
			}
		}
		return byExamplesOf(b, buildConv)
	}
	s, err := b.convolution(b.in(0).Typ.Shape, b.kernel().Typ.Shape, b.n.Attrs.(ir.ConvAttrs))
	if err != nil {
		return nil, err
	}
	if b.in(0).Typ.DType == ir.Float64 {
		return convForward[float64](b, s), nil
	}
	return convForward[float32](b, s), nil
}

func convForward[T block.Float](b *build, s *conv.Shape) func() {
	tiles := tilesFor(b, s)
	if tiles == nil {
		tiles = trainingTiles(b, s, conv.NewSmallWinograd)
	}
	if tiles != nil {
		return convTiles(b, tiles)
	}
	if e := b.u.Fused; e != nil && e.Pool {
		return convPool[T](b, s)
	}
	x, kernel, y, rt := b.in(0), b.kernel(), b.out(0), b.rt()
	bias, relu := b.addedToProduct()
	if c := conv.NewMoments[T](s); c != nil {
		if m := b.gatherMoments(c.Rows(), s.OutChannels); m != nil {
			scratch, w := b.scratch(x.Typ.DType, c.Scratch(rt.pool.Size())), weightsOf[T](b, kernel, nil)
			return func() {
				weights, _ := w.read()
				var vector []T
				if bias != nil {
					vector = plan.Data[T](bias)
				}
				c.Forward(rt.pool, plan.Data[T](x), weights, vector, relu, plan.Data[T](y), plan.Data[T](scratch), plan.Data[float64](m.memory))
			}
		}
	}
	gather := func() {}
	if b.predicts && s.StridedPointwise() {
		x, s, gather = gatherPixels[T](b, x, s)
	}
	scratch := b.scratch(x.Typ.DType, conv.ForwardScratch[T](s, rt.pool.Size()))
	w := weightsOf[T](b, kernel, keptKernel[T](b, kernel, s))
	start, adds := b.startSum()
	return func() {
		gather()
		start()
		var vector []T
		if bias != nil {
			vector = plan.Data[T](bias)
		}
		run := conv.Forward[T]
		weights, packed := w.read()
		switch {
		case adds:
			conv.AddForward(rt.pool, s, plan.Data[T](x), weights, vector, relu, plan.Data[T](y), plan.Data[T](scratch), packed)
			return
		case packed:
			run = conv.ForwardPacked[T]
		}
		run(rt.pool, s, plan.Data[T](x), weights, vector, relu, plan.Data[T](y), plan.Data[T](scratch))
	}
}

// gatherPixels copies the pixels that a pointwise convolution reads, so that the convolution becomes one product. It
// returns the copy, the shape of the remaining convolution, and the loop that copies.
func gatherPixels[T block.Float](b *build, x *plan.Operand, s *conv.Shape) (*plan.Operand, *conv.Shape, func()) {
	dense, out, c := *s, s.Out(), s.InChannels
	dense.In, dense.Strides = out, [3]int{1, 1, 1}
	dense.Remember()
	row := out[2] * c
	to := b.scratch(x.Typ.DType, s.Batch*out[0]*out[1]*row)
	return to, &dense, b.rt().parallel(s.Batch*out[0]*out[1], grain(row/4), func(_ *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			plane, line := i/out[1], i%out[1]
			image, depth := plane/out[0], plane%out[0]
			from := plan.Data[T](x)[((image*s.In[0]+depth*s.Strides[0])*s.In[1]+line*s.Strides[1])*s.In[2]*c:]
			dst := plan.Data[T](to)[i*row : (i+1)*row]
			for at := 0; len(dst) > 0; at += s.Strides[2] * c {
				dst = dst[copy(dst[:c], from[at:]):]
			}
		}
	})
}

// keptKernel returns the form in which the convolution's kernel may be kept in panels, or nil.
func keptKernel[T block.Float](b *build, kernel *plan.Operand, s *conv.Shape) *form {
	rows, columns, packs := conv.KernelMatrix[T](s)
	if !packs {
		return nil
	}
	return b.kept(kernel, &form{off: kernel.Off, k: rows, n: columns, ld: columns})
}

// band is a range of rows of a convolution's images, treated as a convolution of its own.
type band[T block.Float] struct {
	shape         conv.Shape
	plan          *conv.Plan[T]
	x, y          int // offset of the band in an image of the input, and in one of the result's 2x2 maxima, in elements
	rows, columns int // of the convolution
}

const (
	bandFLOPs  = 1 << 17 // so that a band takes at least some microseconds
	bandPixels = 64      // so that a band is large compared with its kernel, which may be packed for each band
	wantBands  = 16      // of all images together
)

// newBands cuts the images of a convolution with 2x2 max-pooling into bands, enough to keep several workers busy.
func newBands[T block.Float](s *conv.Shape) []band[T] {
	out := s.Out()
	n := min((wantBands-1)/s.Batch+1, out[1]/2, max(s.FLOPs()/s.Batch/bandFLOPs, 1), max(out[1]*out[2]/bandPixels, 1))
	if extent := s.Dilation[1] * (s.Kernel[1] - 1); s.PadLow[1] > extent || s.PadHigh[1] > extent { // some rows see only padding
		n = 1
	}
	rows := out[1] / 2 // of maxima
	list := make([]band[T], n)
	for i := range list {
		first, end := 2*(i*rows/n), 2*((i+1)*rows/n)
		// The rows of the input that these rows read. Rows outside the image are padding.
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

// convPool is a convolution with bias and relu that computes the 2x2 maxima of a band of rows while the band is in the
// cache.
func convPool[T block.Float](b *build, s *conv.Shape) func() {
	e := b.u.Fused
	x, kernel, pooled := b.in(0), b.kernel(), b.out(0)
	var bias *plan.Operand
	if e.Bias >= 0 {
		bias = &b.Operands[e.Bias]
	}
	bands := newBands[T](s)
	from, rt := weightsOf[T](b, kernel, keptKernel[T](b, kernel, s)), b.rt()
	nx, np := x.N/s.Batch, pooled.N/s.Batch
	memory := 0
	for i := range bands {
		d := &bands[i]
		memory = max(memory, d.rows*d.columns*s.OutChannels+d.plan.Scratch())
	}
	rt.need(memory * x.Typ.DType.Size())
	chunk := max(bandFLOPs/max(s.FLOPs()/s.Batch/len(bands), 1), 1)
	var weights []T // of the current run
	packed := false
	loop := rt.parallel(s.Batch*len(bands), chunk, func(w *worker, lo, hi int) {
		scratch := scratchOf[T](w, memory)
		var vector []T
		if bias != nil {
			vector = plan.Data[T](bias)
		}
		for i := lo; i < hi; i++ {
			n, d := i/len(bands), &bands[i%len(bands)]
			size := d.rows / 2 * (d.columns / 2) * s.OutChannels
			image, maxima := plan.Data[T](x)[n*nx+d.x:(n+1)*nx], plan.Data[T](pooled)[n*np+d.y:n*np+d.y+size]
			if d.plan.RunPooled(image, weights, vector, e.Relu, maxima, scratch, packed) {
				continue
			}
			c := scratch[:d.rows*d.columns*s.OutChannels]
			d.plan.Run(image, weights, vector, e.Relu, c, scratch[len(c):], packed)
			vec.MaxPool2x2(maxima, c, 1, d.rows, d.columns, s.OutChannels)
		}
	})
	return func() {
		weights, packed = from.read()
		loop()
		weights = nil
	}
}

func buildConvInputGrad(b *build) (func(), error) {
	a := b.n.Attrs.(ir.ConvGradAttrs)
	s, err := b.convolution(a.Shape, b.in(1).Typ.Shape, a.Conv)
	if err != nil {
		return nil, err
	}
	if b.in(0).Typ.DType == ir.Float64 {
		return convInputGrad[float64](b, s), nil
	}
	if w := trainingTiles(b, s, conv.NewWinogradInputGradient); w != nil {
		return inputGradTiles(b, w), nil
	}
	return convInputGrad[float32](b, s), nil
}

func convInputGrad[T block.Float](b *build, s *conv.Shape) func() {
	dy, kernel, dx, rt := b.in(0), b.in(1), b.out(0), b.rt()
	bias, relu := b.addedToProduct()
	scratch := b.scratch(dy.Typ.DType, conv.TransposedScratch[T](s, rt.pool.Size(), bias != nil))
	return func() {
		var vector []T
		if bias != nil {
			vector = plan.Data[T](bias)
		}
		conv.Transposed(rt.pool, s, plan.Data[T](dy), plan.Data[T](kernel), vector, relu, plan.Data[T](dx), plan.Data[T](scratch))
	}
}

func buildConvKernelGrad(b *build) (func(), error) {
	a := b.n.Attrs.(ir.ConvGradAttrs)
	s, err := b.convolution(b.in(0).Typ.Shape, a.Shape, a.Conv)
	if err != nil {
		return nil, err
	}
	switch b.in(0).Typ.DType {
	case ir.Float64:
		return convKernelGrad[float64](b, s), nil
	case ir.BFloat16, ir.Float16:
		return halfConvKernelGrad(b, s), nil
	}
	return convKernelGrad[float32](b, s), nil
}

func convKernelGrad[T block.Float](b *build, s *conv.Shape) func() {
	x, dy, dkernel, rt := b.in(0), b.in(1), b.out(0), b.rt()
	scratch := b.scratch(dy.Typ.DType, conv.BackwardWeightsScratch[T](s, rt.pool.Size()))
	return func() {
		conv.BackwardWeights(rt.pool, s, plan.Data[T](x), plan.Data[T](dy), plan.Data[T](dkernel), plan.Data[T](scratch))
	}
}
