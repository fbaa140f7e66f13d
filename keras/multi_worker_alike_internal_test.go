package keras

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Rates combined by the maximum of each byte are told apart, whatever they are, and workers without a rate do not
// count.
func TestRatesOfWorkers(t *testing.T) {
	rates := []float32{0, 1e-3, 0.1, 0.2, 255, -1}
	join := func(senders ...[]byte) []byte {
		out := make([]byte, 2*sumBytes)
		for _, b := range senders {
			for i := range out {
				out[i] = max(out[i], b[i])
			}
		}
		return out
	}
	sent := func(rate float32) []byte {
		b := make([]byte, 2*sumBytes)
		putSum(b, math.Float32bits(rate))
		return b
	}
	none := make([]byte, 2*sumBytes)
	require.True(t, oneSum(join(none, none)))
	for _, a := range rates {
		require.True(t, oneSum(join(none, sent(a))))
		for _, b := range rates {
			require.Equal(t, a == b, oneSum(join(sent(a), none, sent(b))), "%v and %v", a, b)
		}
	}
}

// TestApart: which differences are rounding and which are not, even beside NaN and infinities.
func TestApart(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		a, b    []float64
		where   int
		differs bool
	}{
		{[]float64{1, 2}, []float64{1, 2}, 0, false},
		{[]float64{1 + 0x1p-7, 1}, []float64{1, 1}, 0, false},
		{[]float64{1, 1 + 0x1p-6}, []float64{1, 1}, 1, true},
		{[]float64{0, 1e-9}, []float64{0, 0}, 1, true},
		{[]float64{nan, inf, -inf, 1 + 0x1p-9}, []float64{nan, inf, -inf, 1}, 3, false},
		{[]float64{nan, inf, -inf, 2}, []float64{nan, inf, -inf, 1}, 3, true},
		{[]float64{1, nan}, []float64{1, 1}, 1, true},
		{[]float64{1, 1}, []float64{1, nan}, 1, true},
		{[]float64{inf, 1}, []float64{-inf, 1}, 0, true},
		{[]float64{1, 1}, []float64{1, inf}, 1, true},
	} {
		array := func(values []float64) kernels.Array {
			a := kernels.NewArray(ir.Type{DType: ir.Float64, Shape: ir.Shape{len(values)}})
			require.NoError(t, a.SetFloat64s(0, values))
			return a
		}
		where, differs := apart(array(c.a), array(c.b))
		require.Equal(t, c.differs, differs, "%v %v", c.a, c.b)
		require.Equal(t, c.where, where, "%v %v", c.a, c.b)
	}
}
