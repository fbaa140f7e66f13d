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
	scratch := b.scratch(x.typ.DType, conv.ForwardScratch[T](s, rt.pool.Size()))
	relu, bias := false, (*operand)(nil)
	if e := b.u.fused; e != nil {
		relu = e.relu
		if e.bias >= 0 {
			bias = &b.operands[e.bias]
		}
	}
	return func() {
		var vector []T
		if bias != nil {
			vector = data[T](bias)
		}
		conv.Forward(rt.pool, s, data[T](x), data[T](kernel), vector, relu, data[T](y), data[T](scratch))
	}
}

// convPool is a convolution with bias and relu whose result's 2x2 maxima are taken while an image is in the cache.
func convPool[T float](b *build, s *conv.Shape) func() {
	e := b.u.fused
	x, kernel, pooled := b.in(0), b.in(1), b.out(0)
	var bias *operand
	if e.bias >= 0 {
		bias = &b.operands[e.bias]
	}
	image := *s
	image.Batch = 1
	out := s.Out()
	nx, ny, np := x.n/s.Batch, out[1]*out[2]*s.OutChannels, pooled.n/s.Batch
	extra := conv.ForwardScratch[T](&image, 1)
	b.rt().need((ny + extra) * x.typ.DType.Size())
	return b.rt().parallel(s.Batch, grain(s.FLOPs()/s.Batch/16), func(w *worker, lo, hi int) {
		memory := scratchOf[T](w, ny+extra)
		for n := lo; n < hi; n++ {
			var vector []T
			if bias != nil {
				vector = data[T](bias)
			}
			c := memory[:ny]
			conv.Forward(nil, &image, data[T](x)[n*nx:(n+1)*nx], data[T](kernel), vector, e.relu, c, memory[ny:])
			vec.MaxPool2x2(data[T](pooled)[n*np:(n+1)*np], c, 1, out[1], out[2], s.OutChannels)
		}
	})
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
