package reference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestFourierIsItsDefinition compares the decomposed transforms, which backends without kernels of their own compute,
// with sums of the definition in float64: of all lengths up to 40, of primes below and above those that are products of
// matrices, their doubles, products and squares. The inverse transform is the one with the parts exchanged.
func TestFourierIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	lengths := []int{64, 100, 127, 251, 17 * 17, 257, 2 * 131, 263, 331, 499, 2 * 257, 3 * 263, 521}
	for n := 1; n <= 40; n++ {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		for _, d := range []ir.DType{ir.Float64, ir.Float32} {
			t.Run(fmt.Sprint(d, n), func(t *testing.T) { fourierIsItsDefinition(t, rng, d, n) })
		}
	}
	t.Run("along the first axis", func(t *testing.T) {
		re, im := complexLines(rng, 2*263, 1), complexLines(rng, 2*263, 1)
		a, shape := ir.FourierAttrs{Axis: 0, Length: 263}, ir.Shape{263, 2}
		got := decomposed(t, ir.Fourier, a, tensor(t, ir.Float64, shape, re...), tensor(t, ir.Float64, shape, im...))
		for column := range 2 {
			part := func(x []float64) (y []float64) {
				for i := column; i < len(x); i += 2 {
					y = append(y, x[i])
				}
				return y
			}
			want := transformOf(part(re), part(im), -1)
			requireLine(t, want[0], part(got[0].F), 1e-12)
			requireLine(t, want[1], part(got[1].F), 1e-12)
		}
	})
}

func fourierIsItsDefinition(t *testing.T, rng *rand.Rand, d ir.DType, n int) {
	const lines = 2
	bound := map[ir.DType]float64{ir.Float64: 1e-14, ir.Float32: 3e-6}[d] * math.Sqrt(float64(n)) * (2 + math.Log2(float64(n)))
	re, im := complexLines(rng, n, lines), complexLines(rng, n, lines)
	a, shape := ir.FourierAttrs{Axis: 1, Length: n}, ir.Shape{lines, n}
	x, y := tensor(t, d, shape, re...), tensor(t, d, shape, im...)
	forward, backward, real := decomposed(t, ir.Fourier, a, x, y), decomposed(t, ir.Fourier, a, y, x), decomposed(t, ir.RealFourier, a, x)
	// Hermitian lines are transforms of real ones, but for imaginary parts that those have not: they are ignored.
	bins := ir.Shape{lines, a.Bins()}
	half, other := complexLines(rng, a.Bins(), lines), complexLines(rng, a.Bins(), lines)
	hermitian := decomposed(t, ir.HermitianFourier, a, tensor(t, d, bins, half...), tensor(t, d, bins, other...))
	for line := range lines {
		of := func(x []float64, n int) []float64 { return x[line*n : (line+1)*n] }
		want := transformOf(of(re, n), of(im, n), -1)
		requireLine(t, want[0], of(forward[0].F, n), bound)
		requireLine(t, want[1], of(forward[1].F, n), bound)
		want = transformOf(of(re, n), of(im, n), 1)
		requireLine(t, want[0], of(backward[1].F, n), bound)
		requireLine(t, want[1], of(backward[0].F, n), bound)
		want = transformOf(of(re, n), make([]float64, n), -1)
		requireLine(t, want[0][:a.Bins()], of(real[0].F, a.Bins()), bound)
		requireLine(t, want[1][:a.Bins()], of(real[1].F, a.Bins()), bound)
		whole := [2][]float64{make([]float64, n), make([]float64, n)}
		for k := range n {
			switch {
			case k == 0 || 2*k == n:
				whole[0][k] = of(half, a.Bins())[k]
			case 2*k < n:
				whole[0][k], whole[1][k] = of(half, a.Bins())[k], of(other, a.Bins())[k]
			default:
				whole[0][k], whole[1][k] = of(half, a.Bins())[n-k], -of(other, a.Bins())[n-k]
			}
		}
		requireLine(t, transformOf(whole[0], whole[1], 1)[0], of(hermitian[0].F, n), bound)
	}
}

// decomposed runs one op's decomposition, without kernels of the interpreter's own for it.
func decomposed(t *testing.T, op ir.Op, attrs ir.Attrs, in ...Value) []Value {
	t.Helper()
	p, err := ir.Expand(single(t, op, attrs, in...), nil)
	require.NoError(t, err)
	for _, n := range p.Nodes {
		require.False(t, n.Op.IsComposite(), n.Op)
	}
	out, err := Run(p, in)
	require.NoError(t, err)
	return out
}

// complexLines draws numbers that float32 has.
func complexLines(rng *rand.Rand, n, lines int) []float64 {
	x := make([]float64, n*lines)
	for i := range x {
		x[i] = float64(float32(rng.NormFloat64()))
	}
	return x
}

// transformOf is Σ_t x[t]·exp(sign·2πi·kt/n), term by term.
func transformOf(re, im []float64, sign float64) (y [2][]float64) {
	n := len(re)
	for k := range n {
		var sumRe, sumIm float64
		for t := range n {
			sin, cos := math.Sincos(sign * 2 * math.Pi * float64(k*t%n) / float64(n))
			sumRe += re[t]*cos - im[t]*sin
			sumIm += re[t]*sin + im[t]*cos
		}
		y[0], y[1] = append(y[0], sumRe), append(y[1], sumIm)
	}
	return y
}

func requireLine(t *testing.T, want, got []float64, bound float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for k, w := range want {
		if !(math.Abs(got[k]-w) <= bound) {
			t.Fatalf("element %d is %v, want %v within %v", k, got[k], w, bound)
		}
	}
}
