package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestI0InFloat32 compares with the series Σ (x²/4)ᵏ/k!², whose terms are all positive, on both sides of where the
// approximation changes.
func TestI0InFloat32(t *testing.T) {
	var xs []float64
	for x := -85.0; x < 85; x += 0.0078125 {
		xs = append(xs, x)
	}
	xs = append(xs, 1e-30, 5.9999995, 6, 6.0000005)
	got := opstest.EvalOn(t, "cpu", unary(ops.I0), opstest.Floats([]int{len(xs)}, xs...).As(ir.Float32))[0]
	for i, x := range xs {
		x = float64(float32(x))
		term, want := 1.0, 1.0
		for k := 1.0; term > want*1e-17; k++ {
			term *= x * x / 4 / (k * k)
			want += term
		}
		require.LessOrEqual(t, math.Abs(got.F[i]-want), 5e-7*want, "i0(%v) = %v, want %v", x, got.F[i], want)
	}
}
