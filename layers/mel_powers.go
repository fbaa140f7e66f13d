package layers

import (
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// powers returns the squared absolute values of the transforms of the pieces, (batch, time, fft/2+1).
func (l *MelSpectrogram) powers(x *ops.Tensor, fft, stride, length int) *ops.Tensor {
	var re, im *ops.Tensor
	if bins := fft/2 + 1; takesProduct(fft) {
		spectrum := l.product(x, fft, stride, length)
		re, im = ops.SliceAxis(spectrum, -1, 0, bins), ops.SliceAxis(spectrum, -1, bins, 2*bins)
	} else {
		re, im = ops.STFT(x, ops.STFTOptions{SequenceLength: length, SequenceStride: stride, FFTLength: fft, Window: l.Window})
	}
	return ops.Add(ops.Square(re), ops.Square(im))
}

// takesProduct reports whether a product with the matrix of a transform of length n is faster than the transform
// itself. It is if n is small, or has large prime factors for its size. The numbers are microseconds for 65536 numbers
// in pieces, measured on Zen 4; a product must save some of them. Up to mostProduct the matrix stays in the caches.
func takesProduct(n int) bool {
	const mostProduct = 1024
	if n > mostProduct {
		return false
	}
	length, weight := n/2, 1.0 // a transform of an even length is a complex one of half of it, and else of all
	if n%2 > 0 {
		length, weight = n, 1.75
	}
	transform := 103 + 700/float64(n)
	for _, p := range ir.FourierFactors(length) {
		switch {
		case p > ir.LargestFourierPrime: // by convolutions
			transform += 700
		case p > 4:
			transform += weight * (27 + 2.2*float64(p))
		}
	}
	return transform > 0.83*(120+1.05*float64(n))
}

// product computes the transforms as a convolution of x, the real parts before the imaginary ones. The gradient of a
// convolution with such a large stride takes several times as long as that of a product with the pieces.
func (l *MelSpectrogram) product(x *ops.Tensor, fft, stride, length int) *ops.Tensor {
	x = ops.PadMode(x, []int{0, fft / 2}, []int{0, fft / 2}, "reflect")
	columns := 2 * (fft/2 + 1)
	waves := ops.Constant(x, x.DType(), []int{fft, columns}, l.waves(fft, length))
	return ops.CustomGradient(func(xs ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
		y := ops.Conv(ops.ExpandDims(xs[0], -1), ops.Reshape(waves, fft, 1, columns), ops.ConvOptions{Strides: []int{stride}}) // (batch, time, columns)
		return []*ops.Tensor{y}, func(dys []*ops.Tensor) []*ops.Tensor {
			same := ops.Matmul(ops.ExtractSequences(xs[0], fft, stride), waves)
			return ops.VJP([]*ops.Tensor{same}, dys, xs[0])
		}
	}, x)[0]
}

// waves returns the windowed cosines and then sines of all frequencies, for each sample of a piece.
func (l *MelSpectrogram) waves(fft, length int) []float64 {
	share := 0.5
	if l.Window == "hamming" {
		share = 0.54
	}
	bins := fft/2 + 1
	out := make([]float64, fft*2*bins)
	begin := (fft - length) / 2
	for k := range length {
		window := 1.0
		if length > 1 {
			window = share - (1-share)*math.Cos(2*math.Pi*float64(k)/float64(length))
		}
		at := begin + k
		for f := range bins {
			sin, cos := ir.SincosTurn(at*f%fft, fft)
			out[at*2*bins+f], out[at*2*bins+bins+f] = window*cos, -window*sin
		}
	}
	return out
}
