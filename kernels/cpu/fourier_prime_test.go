package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestFourierLengths compares elements of transforms with compensated sums of the definition. Lengths are large primes,
// their products with small and with large numbers, prime powers, powers of two and smooth numbers; lines are single,
// interleaved or strewn. The bound grows with the logarithm of the length.
func TestFourierLengths(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(0))
	r := rand.New(rand.NewPCG(31, 2))
	smooth := func(most int, primes ...int) int {
		n := 1
		for {
			p := primes[r.IntN(len(primes))]
			if n*p > most {
				return n
			}
			n *= p
		}
	}
	lengths := []int{1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 257, 509, 521, 1021, 4099, 17 * 257, 257 * 257, 2 * 521, 3 * 1361, 263 * 269, 523 * 541, 7 * 7 * 7, 3 * 3 * 3 * 3 * 3 * 3 * 3, 1 << 14, 1 << 15, 100 * 2621, 2 * 8209}
	for range 12 {
		lengths = append(lengths, smooth(1+r.IntN(20000), 2, 2, 3, 5), smooth(2000, 2, 3, 11, 31, 521), 2+r.IntN(3000))
	}
	t.Run("a prime above 256 that is not the last step", func(t *testing.T) {
		fourierLength(t, r, ir.Fourier, ir.Float32, ir.Shape{1, 257 * 263, 17})
	})
	for i, n := range lengths {
		for _, op := range []ir.Op{ir.Fourier, ir.RealFourier} {
			d := []ir.DType{ir.Float32, ir.Float64}[(i+int(op))%2]
			most := max(600_000/n, 1)
			shape := ir.Shape{1 + r.IntN(min(most, []int{1, 7, 40, 700}[r.IntN(4)])), n}
			if op == ir.Fourier {
				shape = append(shape, 1+r.IntN(min(max(most/shape[0], 1), []int{1, 1, 3, 9, 70, 300}[r.IntN(6)])))
			}
			t.Run(fmt.Sprint(op, d, shape), func(t *testing.T) { fourierLength(t, r, op, d, shape) })
		}
	}
}

func fourierLength(t *testing.T, r *rand.Rand, op ir.Op, d ir.DType, shape ir.Shape) {
	n, inner := shape[1], 1
	if op == ir.Fourier {
		inner = shape[2]
	}
	p := ir.New("length")
	var in []ir.Value
	var inputs []reference.Value
	for range map[ir.Op]int{ir.Fourier: 2, ir.RealFourier: 1}[op] {
		elements := make([]float64, shape.Size())
		for i := range elements {
			elements[i] = float64(float32(r.NormFloat64()))
		}
		v, err := reference.New(d, shape, elements...)
		require.NoError(t, err)
		in, inputs = append(in, p.AddInput("x", v.Type)), append(inputs, v)
	}
	out, err := p.Add("", op, ir.FourierAttrs{Axis: 1, Length: n}, in...)
	require.NoError(t, err)
	for _, v := range out {
		p.AddOutput("y", v)
	}
	goruntime.GOMAXPROCS(1)
	got := runOnce(t, p, inputs, false)
	goruntime.GOMAXPROCS(2)
	require.Equal(t, got, runOnce(t, p, inputs, false), "by two workers")
	unit := map[ir.DType]float64{ir.Float32: 0x1p-24, ir.Float64: 0x1p-53}[d]
	bound := unit * (8 + 3*math.Log2(float64(n))) * math.Sqrt(2*float64(n))
	bins := got[0].Type.Shape[1]
	for range 24 {
		line, column, k := r.IntN(shape[0]), r.IntN(inner), r.IntN(bins)
		if r.IntN(4) == 0 {
			k = []int{0, bins - 1}[r.IntN(2)]
		}
		var sums [2]compensated
		for j := range n {
			sin, cos := ir.SincosTurn(j*k%n, n)
			at := (line*n+j)*inner + column
			sums[0].add(inputs[0].F[at] * cos)
			sums[1].add(-inputs[0].F[at] * sin)
			if len(inputs) == 2 {
				sums[0].add(inputs[1].F[at] * sin)
				sums[1].add(inputs[1].F[at] * cos)
			}
		}
		at := (line*bins+k)*inner + column
		for part := range sums {
			if want := sums[part].value(); !(math.Abs(want-got[part].F[at]) <= bound) {
				t.Fatalf("element %d of line %d, column %d, part %d is %v, want %v within %v", k, line, column, part, got[part].F[at], want, bound)
			}
		}
	}
}

// compensated is a sum together with its rounding error.
type compensated struct{ sum, lost float64 }

func (c *compensated) add(x float64) {
	sum := c.sum + x
	of := sum - c.sum
	c.lost += (c.sum - (sum - of)) + (x - of)
	c.sum = sum
}

func (c *compensated) value() float64 { return c.sum + c.lost }
