package ops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

func init() {
	addCase("fft2", true, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		re, im := ops.FFT2(in[0], in[1])
		return []*ops.Tensor{re, im}
	}, opstest.Normal(1, 2, 3, 4), opstest.Normal(2, 2, 3, 4))
	addCase("ifft2 of a large prime", false, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		re, im := ops.IFFT2(in[0], in[1])
		return []*ops.Tensor{re, im}
	}, opstest.Normal(3, 1, 257), opstest.Normal(4, 1, 257))
	for _, n := range []int{5, 6} {
		addCase(fmt.Sprint("rfft of ", n), true, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			re, im := ops.RFFT(in[0], n)
			return []*ops.Tensor{re, im}
		}, opstest.Normal(5, 2, n))
		addCase(fmt.Sprint("irfft of ", n), true, binary(func(a, b *ops.Tensor) *ops.Tensor { return ops.IRFFT(a, b, n) }),
			opstest.Normal(6, 2, n/2+1), opstest.Normal(7, 2, n/2+1))
	}
}

// TestFourierAgainstItsDefinition: for lengths with small factors, and with large ones, which require a convolution.
func TestFourierAgainstItsDefinition(t *testing.T) {
	for _, n := range []int{1, 2, 30, 128, 251, 257, 526} {
		const rows = 3
		x := opstest.Normal(n, rows, n)
		bins := n/2 + 1
		re, im := opstest.Floats([]int{rows, bins}, make([]float64, rows*bins)...), opstest.Floats([]int{rows, bins}, make([]float64, rows*bins)...)
		for i := range rows * bins {
			for k := range n {
				s, c := math.Sincos(2 * math.Pi * float64(i%bins*k%n) / float64(n))
				v := x.F[i/bins*n+k]
				re.F[i], im.F[i] = re.F[i]+v*c, im.F[i]-v*s
			}
		}
		got := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			a, b := ops.RFFT(in[0], 0)
			c, d := ops.FFT(in[0], ops.ZerosLike(in[0]))
			return []*ops.Tensor{a, b, ops.SliceAxis(c, -1, 0, bins), ops.SliceAxis(d, -1, 0, bins), ops.IRFFT(a, b, n)}
		}, x)
		for i, want := range []opstest.Array{re, im, re, im, x} {
			opstest.Near(t, fmt.Sprint("result ", i, " of length ", n), got[i], want, 1e-9, 1e-9*float64(n))
		}
	}
}
