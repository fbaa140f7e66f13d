package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/conv"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Where the processor multiplies pairs of bfloat16, a convolution works on pairs along the axis that it sums over.
// These are neighbouring input channels for the convolution itself, and neighbouring output channels for the gradient
// of the input. For the gradient of the kernel they are the same pixel of two images, which are interleaved first. The
// code for float32 does all this with another tile.

// convolvesPairs reports whether the unit is a convolution or an input gradient that is computed in pairs.
func convolvesPairs(b *build) bool {
	if !convolvedInPairs(b.Program, b.n) || b.u.Fused != nil && b.u.Fused.Pool {
		return false
	}
	return b.n.Op != ir.Conv || !b.predicts || !b.constant(b.in(1)) || !prefersWinograd(b.Program, b.n)
}

const (
	winogradRatio     = 2.5 // from this ratio of a convolution's multiplications to Winograd's on, Winograd in float32 is faster than pairs
	winogradRatioWide = 2.1 // the same with at least wideChannels channels
	wideChannels      = 96

	winogradRatioWidest = 1.7 // the same with at least widestChannels channels (7 x 7 pixels), whose kernels exceed any second-level cache
	widestChannels      = 512
)

// prefersWinograd reports whether a convolution of a program that only predicts is faster in float32 by Winograd's
// algorithm than in pairs. This was measured on Zen 4, which multiplies pairs at twice the rate of float32. Matrix
// registers have eight times the rate of pairs, so with them it is false.
func prefersWinograd(p *ir.Program, n *ir.Node) bool {
	s := convolutionOf(p.Type(n.Inputs[0]).Shape, p.Type(n.Inputs[1]).Shape, n.Attrs.(ir.ConvAttrs))
	if s == nil || s.Validate() != nil || isa.Active().Has(isa.AMXBF16) {
		return false
	}
	w := conv.NewWinograd(s)
	if w == nil {
		return false
	}
	spared, channels := w.Spared(), min(s.InChannels, s.OutChannels)
	pays := spared >= winogradRatio || spared >= winogradRatioWide && channels >= wideChannels || spared >= winogradRatioWidest && channels >= widestChannels
	return pays && byWinogradHalves.Taken()
}

// floatsAt views memory as 32-bit numbers.
func floatsAt(p unsafe.Pointer, n int) []float32 { return unsafe.Slice((*float32)(p), n) }

// matrixBytes limits the memory of a chunk's examples, in 16 bits, and of their results in float32. It is half the
// second-level cache of processors with matrix registers.
const matrixBytes = 1 << 20

// chunkOfMatrices returns how many examples matrix registers convolve at a time. They should fit into the second-level
// cache, but all of them read the kernel, so they may be as large as the kernel. Larger numbers are rounded down to a
// multiple of what fills a tile.
func (e *byExamples) chunkOfMatrices() int {
	b := e.b
	bytes := max(2*b.in(0).N/e.batch+4*b.out(0).N/e.batch, 1)
	examples := max(max(matrixBytes, 2*b.in(1).N)/bytes, b.rt().pool.Size(), 1)
	switch {
	case examples >= e.batch:
		return e.batch
	case examples >= conv.MatrixRows:
		return examples / conv.MatrixRows * conv.MatrixRows
	}
	chunks := (e.batch + examples - 1) / examples
	return (e.batch + chunks - 1) / chunks
}

// convolvesRows reports whether rows of images may be convolved separately, which holds for 1x1 kernels in matrix
// registers. Otherwise an image with many channels would leave the cache before its results are rounded.
func convolvesRows(b *build) bool {
	x, kernel := b.in(0).Typ.Shape, b.in(1).Typ.Shape
	a, ok := b.n.Attrs.(ir.ConvAttrs)
	if !ok {
		gradient := b.n.Attrs.(ir.ConvGradAttrs)
		x, a = gradient.Shape, gradient.Conv
	}
	s := convolutionOf(x, kernel, a)
	return len(x) > 3 && s != nil && s.Pointwise() && micro.Matrices()
}

// chunkShape returns the shape of a chunk of the given number of examples of shape s. Rows count as one image: its
// pixels are contiguous, so they fill tiles.
func (e *byExamples) chunkShape(s ir.Shape, examples int) ir.Shape {
	s = s.Clone()
	if s[0] = examples; e.byRows {
		for i := range len(s) - 2 {
			s[i] = 1
		}
		s[len(s)-3] = examples
	}
	return s
}

// compilePairs returns the function that convolves a chunk of examples in pairs.
func (e *byExamples) compilePairs(examples int) (func(), error) {
	b := e.b
	x, kernel, y := e.inputs[0], b.in(1), e.outputs[0]
	taps, pool := kernel.Typ.Shape, b.rt().pool
	out, rows := taps[len(taps)-1], kernel.N/max(taps[len(taps)-1], 1)
	shape := func(s ir.Shape) ir.Shape { return e.chunkShape(s, examples) }
	if b.n.Op == ir.ConvInputGrad {
		a := b.n.Attrs.(ir.ConvGradAttrs)
		s, err := b.convolution(shape(a.Shape), taps, a.Conv)
		if err != nil {
			return nil, err
		}
		s.OutChannels, s.Pairs = s.OutChannels/2, true
		s.Remember()
		scratch := b.scratch(ir.Float32, conv.BackwardDataScratch[float32](s, pool.Size()))
		return func() {
			conv.BackwardData(pool, s, floatsAt(x.chunk.Ptr, examples*x.size/2), floatsAt(kernel.Ptr(), kernel.N/2), plan.Data[float32](y.wide), plan.Data[float32](scratch))
		}, nil
	}
	s, err := b.convolution(shape(x.o.Typ.Shape), taps, b.n.Attrs.(ir.ConvAttrs))
	if err != nil {
		return nil, err
	}
	s.InChannels, s.Pairs = s.InChannels/2, true
	s.Remember()
	scratch := b.scratch(ir.Float32, conv.ForwardScratch[float32](s, pool.Size()))
	if e.pairs == nil {
		e.pairs = &kernelPairs{}
		e.prepare = e.pairs.of(b, kernel, rows, out)
	}
	return func() {
		conv.Forward(pool, s, floatsAt(x.chunk.Ptr, examples*x.size/2), e.pairs.now, nil, false, plan.Data[float32](y.wide), plan.Data[float32](scratch))
	}, nil
}

// kernelPairs is a kernel in pairs of input channels, as of the current run.
type kernelPairs struct{ now []float32 }

// of returns the function that sets the pairs of a kernel, given as a matrix. If the kernel does not change, its buffer
// keeps the pairs.
func (p *kernelPairs) of(b *build, kernel *plan.Operand, rows, columns int) func() {
	kept := b.kept(kernel, &form{off: kernel.Off, k: rows, n: columns, ld: columns})
	scratch := b.scratch(ir.Uint32, kernel.N/2)
	return func() {
		if own := ownBuffer(kernel); own != nil && kept != nil {
			memory := own.inForm(&own.panels, kept, tile.BFloat16Pairs, 2*kernel.N, func(memory []byte) {
				from := unsafe.Slice((*uint16)(plan.PointerTo(own.own)), len(own.own)/2)[kept.off/2:]
				vec.PairRows(unsafe.Slice((*uint32)(plan.PointerTo(memory)), kernel.N/2), from, columns, rows/2, columns, columns)
			})
			if memory != nil {
				p.now = elementsOf[float32](memory)
				return
			}
		}
		vec.PairRows(plan.Data[uint32](scratch), plan.Data[uint16](kernel), columns, rows/2, columns, columns)
		p.now = floatsAt(scratch.Ptr(), scratch.N)
	}
}

// sumsPairs reports whether the gradient of a kernel is computed in pairs. dy must have a whole number of vectors of
// channels.
func sumsPairs(x, dy ir.Type, a ir.ConvAttrs) bool {
	return dy.DType == ir.BFloat16 && micro.Pairs() && a.Groups <= 1 && x.Shape.Size() > 0 && dy.Shape[len(dy.Shape)-1]%16 == 0
}

// halfConvKernelGrad is the gradient of a kernel from 16-bit floats.
func halfConvKernelGrad(b *build, s *conv.Shape) func() {
	x, dy, out := b.in(0), b.in(1), b.out(0)
	if x.N == 0 || dy.N == 0 || out.N == 0 {
		return func() { clear(plan.Data[uint16](out)) }
	}
	lone := s.Batch == 1 && !micro.Matrices() // half of each pair would be zero, and float32 has Winograd's products
	if sumsPairs(x.Typ, dy.Typ, b.n.Attrs.(ir.ConvGradAttrs).Conv) && !lone {
		return convKernelGradPairs(b, s)
	}
	return convKernelGradWidened(b, s)
}

// convKernelGradWidened widens a few images at a time and adds up their contributions. Their number depends on the
// shape alone, so that the order of the sums does too.
func convKernelGradWidened(b *build, s *conv.Shape) func() {
	out, batch, pool := b.out(0), s.Batch, b.rt().pool
	examples := min(max(halfBytes/max(4*(b.in(0).N+b.in(1).N)/batch, 1), 1), batch)
	x, dy := newHalfPort(b, b.in(0), batch, examples, false, false), newHalfPort(b, b.in(1), batch, examples, false, false)
	part, rest := *s, *s
	part.Batch, rest.Batch = examples, batch%examples
	part.Remember()
	rest.Remember()
	one, total := b.scratch(ir.Float32, out.N), b.scratch(ir.Float32, out.N)
	scratch := b.scratch(ir.Float32, max(conv.BackwardWeightsScratch[float32](&part, pool.Size()), conv.BackwardWeightsScratch[float32](&rest, pool.Size())))
	return func() {
		sums, more := plan.Data[float32](total), plan.Data[float32](one)
		clear(sums)
		for first := 0; first < batch; first += examples {
			n, shape := min(examples, batch-first), &part
			if n < examples {
				shape = &rest
			}
			for _, p := range [...]*halfPort{x, dy} {
				p.at(first, n)
				p.widen()
			}
			conv.BackwardWeights(pool, shape, plan.Data[float32](x.wide)[:n*x.size], plan.Data[float32](dy.wide)[:n*dy.size], more, plan.Data[float32](scratch))
			vec.Add(sums, sums, more)
		}
		x.half.NarrowSums(plan.Data[uint16](out), sums)
	}
}

// pairedBytes limits the memory of the images whose kernel gradient is computed at once, so that they stay in the
// second-level cache.
const pairedBytes = 1 << 20

// pairedImages holds a few images of o at a time, interleaved two by two. A single last image is paired with zeros.
type pairedImages struct {
	o     *plan.Operand
	size  int           // elements of an image
	pairs *plan.Operand // of the images [first, end)
	make  func()        // fills pairs

	first, end int
}

func newPairedImages(b *build, o *plan.Operand, images int) *pairedImages {
	size := o.N / o.Typ.Shape[0]
	return &pairedImages{o: o, size: size, pairs: b.scratch(ir.Uint32, (images+1)/2*size)}
}

// source returns the images and their number.
func (p *pairedImages) source() ([]uint16, int) {
	return plan.Data[uint16](p.o)[p.first*p.size : p.end*p.size], p.end - p.first
}

// pairImages interleaves images and keeps the order of their elements.
func pairImages(b *build, o *plan.Operand, most int) *pairedImages {
	p := newPairedImages(b, o, most)
	size := p.size
	p.make = b.rt().parallel((most+1)/2, grain(size/4), func(_ *worker, lo, hi int) {
		dst := plan.Data[uint32](p.pairs)
		src, images := p.source()
		if hi = min(hi, (images+1)/2); lo >= hi {
			return
		}
		vec.PairRows(dst[lo*size:], src[2*lo*size:], size, min(hi, images/2)-lo, size, size)
		if hi > images/2 {
			pairAlone(dst[images/2*size:], src[(images-1)*size:])
		}
	})
	return p
}

// pairAlone pairs numbers with zeros.
func pairAlone(dst []uint32, x []uint16) {
	vec.SmallsToInts(block.View[int32](unsafe.Pointer(unsafe.SliceData(dst)), len(x)), x)
}

// pairTurnedImages interleaves images and transposes them, a block of pixels at a time, as matrix registers need it.
func pairTurnedImages(b *build, o *plan.Operand, s *conv.Shape, most int) *pairedImages {
	const block = 64
	p := newPairedImages(b, o, most)
	channels, pixels, size := s.InChannels, s.TurnedPixels(), p.size
	row := pixels * channels
	b.rt().need(4 * block * channels)
	p.make = b.rt().parallel((most+1)/2*(size/row), grain(row/2), func(w *worker, lo, hi int) {
		dst, lines := plan.Data[float32](p.pairs), scratchOf[uint32](w, block*channels)
		src, images := p.source()
		for i := lo; i < min(hi, (images+1)/2*(size/row)); i++ {
			pair, at := i/(size/row), i%(size/row)*row
			for first := 0; first < pixels; first += block {
				n := min(block, pixels-first)
				from := src[2*pair*size+at+first*channels:]
				if 2*pair+1 < images {
					vec.PairRows(lines, from, n*channels, 1, n*channels, size)
				} else {
					pairAlone(lines, from[:n*channels])
				}
				micro.Transpose(dst[i*row+first:], floatsAt(unsafe.Pointer(unsafe.SliceData(lines)), n*channels), n, channels, pixels, channels)
			}
		}
	})
	return p
}

// convKernelGradPairs is the gradient of a kernel in pairs. It adds up the gradients of a few images at a time, whose
// number depends on the shape alone, so that the order of the sums does too.
func convKernelGradPairs(b *build, s *conv.Shape) func() {
	if run := convKernelGradStacked(b, s); run != nil {
		return run
	}
	batch := s.Batch
	s.Pairs = true
	if s.Turned = s.Turns(); micro.Matrices() && !s.Turned {
		s.Pairs = false // on processors with matrix registers, float32 vectors are faster then
		return convKernelGradWidened(b, s)
	}
	most := min(max(pairedBytes/max(2*(b.in(0).N+b.in(1).N)/batch, 1)/2*2, 2), batch)
	s.Batch = (most + 1) / 2
	var x *pairedImages
	if s.Turned {
		x = pairTurnedImages(b, b.in(0), s, most)
	} else {
		x = pairImages(b, b.in(0), most)
	}
	dy := pairImages(b, b.in(1), most)
	rest := *s
	rest.Batch = (batch%most + 1) / 2
	s.Remember()
	rest.Remember()
	out, pool := b.out(0), b.rt().pool
	gradient, part := b.scratch(ir.Float32, out.N), (*plan.Operand)(nil)
	if most < batch {
		part = b.scratch(ir.Float32, out.N)
	}
	scratch := b.scratch(ir.Float32, max(conv.BackwardWeightsScratch[float32](s, pool.Size()), conv.BackwardWeightsScratch[float32](&rest, pool.Size())))
	return func() {
		sums := plan.Data[float32](gradient)
		for first := 0; first < batch; first += most {
			x.first, x.end = first, min(first+most, batch)
			dy.first, dy.end = x.first, x.end
			x.make()
			dy.make()
			shape, to := s, sums
			if x.end-first < most {
				shape = &rest
			}
			if first > 0 {
				to = plan.Data[float32](part)
			}
			n := shape.Batch
			conv.BackwardWeights(pool, shape, floatsAt(x.pairs.Ptr(), n*x.size), floatsAt(dy.pairs.Ptr(), n*dy.size), to, plan.Data[float32](scratch))
			if first > 0 {
				vec.Add(sums, sums, to)
			}
		}
		vec.Float32ToBF16(plan.Data[uint16](out), sums)
	}
}
