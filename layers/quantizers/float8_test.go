package quantizers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// TestRoundingToEightBits compares with the list of all numbers of each format, including subnormals, and with the
// midpoints between two.
func TestRoundingToEightBits(t *testing.T) {
	for _, f := range []quantizers.Float8{quantizers.E4M3, quantizers.E5M2} {
		var all []float64
		for exponent := f.Least - 1; ; exponent++ {
			for m := range 1 << f.Mantissa {
				v := math.Ldexp(1+float64(m)/float64(int(1)<<f.Mantissa), exponent)
				if exponent < f.Least {
					v = math.Ldexp(float64(m)/float64(int(1)<<f.Mantissa), f.Least)
				}
				if v <= f.Max {
					all = append(all, v)
				}
			}
			if math.Ldexp(1, exponent+1) > f.Max {
				break
			}
		}
		var x, want []float64
		for i, v := range all {
			x, want = append(x, v, -v), append(want, v, -v)
			if i+1 < len(all) {
				even := all[i+i%2] // the one whose last bit is 0
				x, want = append(x, (v+all[i+1])/2, v*0.51+all[i+1]*0.49, v*0.49+all[i+1]*0.51), append(want, even, v, all[i+1])
			}
		}
		x, want = append(x, 1e9, -1e9), append(want, f.Max, -f.Max)
		got := evaluate(t, func(in *ops.Tensor) *ops.Tensor { return f.Round(in) }, x)
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.Equal(t, want[i], got[i], "%v of %v", x[i], f)
		}
	}
}

func evaluate(t *testing.T, f func(*ops.Tensor) *ops.Tensor, x []float64) []float64 {
	t.Helper()
	g := ops.NewGraph("test")
	y := f(g.Input("x", ir.Float32, len(x)))
	g.Program().AddOutput("y", y.Value())
	in, err := reference.New(ir.Float32, ir.Shape{len(x)}, x...)
	require.NoError(t, err)
	out, err := reference.Run(g.Program(), []reference.Value{in})
	require.NoError(t, err)
	return out[0].F
}
