package conv

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// pointwise reports whether the convolution is one matrix product: a 1x1 kernel that visits every position.
//
//go:noinline
func (s *Shape) pointwise() bool {
	one, zero := [3]int{1, 1, 1}, [3]int{}
	return s.Kernel == one && s.Strides == one && s.PadLow == zero && s.PadHigh == zero && s.Groups == 1 && !s.Pairs
}

// StridedPointwise reports whether the convolution would be one matrix product if the pixels that it sees were
// contiguous: its kernel is 1x1 and its strides skip pixels.
func (s *Shape) StridedPointwise() bool {
	n := s.normal()
	n.Strides = [3]int{1, 1, 1}
	return n.pointwise() && s.normal().Strides != n.Strides && s.sizeY() > 0 && s.InChannels > 0
}

// pointwiseWeights reports whether package gemm computes the kernel gradient. Its product has no partial results, so
// the kernel must be large enough for many chunks.
func (s *Shape) pointwiseWeights() bool {
	return s.pointwise() && s.InChannels*s.OutChannels >= 1<<14
}

func (s *Shape) pixels() int { return s.Batch * volume(s.In) }

func pointwiseForward[T Float](s *Shape, x, kernel, bias []T, relu bool, y []T) gemm.Args[T] {
	return gemm.Args[T]{M: s.pixels(), N: s.OutChannels, K: s.InChannels, A: x, B: kernel, C: y, Bias: bias, ReLU: relu}
}

func pointwiseData[T Float](s *Shape, dy, kernel, dx []T) gemm.Args[T] {
	return gemm.Args[T]{M: s.pixels(), N: s.InChannels, K: s.OutChannels, A: dy, B: kernel, TransB: true, C: dx}
}

func pointwiseGradient[T Float](s *Shape, x, dy, dkernel []T) gemm.Args[T] {
	return gemm.Args[T]{M: s.InChannels, N: s.OutChannels, K: s.pixels(), A: x, TransA: true, B: dy, C: dkernel}
}

// Pointwise reports whether [AddForward] can compute the convolution, because it is one matrix product.
func (s *Shape) Pointwise() bool {
	n := s.normal()
	return n.pointwise()
}

// AddForward is [Forward], or [ForwardPacked] if packed is set, that adds its result to y: y = max(y + x·kernel + bias,
// 0) with relu.
func AddForward[T Float](p *pool.Pool, s *Shape, x, kernel, bias []T, relu bool, y, scratch []T, packed bool) {
	n := s.checked(ofForward)
	a := pointwiseForward(&n, x, kernel, bias, relu, y)
	a.Packed, a.Accumulate = packed, true
	runProduct(p, a, scratch)
}

// runProduct runs a matrix product. It copies the arguments so that they stay on the caller's stack.
func runProduct[T Float](p *pool.Pool, a gemm.Args[T], scratch []T) { gemm.Run(p, &a, scratch) }

// productScratch is the scratch memory of a matrix product whose B may be packed.
func productScratch[T Float](a gemm.Args[T], workers int) int {
	size := gemm.ScratchSize(&a, workers)
	a.Packed = true
	return max(size, gemm.ScratchSize(&a, workers))
}
