package vec

import (
	"math"
	"testing"
)

// TestCellAccuracy sweeps the sums of gates and compares the gates of both cells with float64.
func TestCellAccuracy(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		const n = 1 << 14
		z, carry, gates, next, h := make([]float32, 4*n), make([]float32, n), make([]float32, 4*n), make([]float32, n), make([]float32, n)
		for _, limit := range []float64{0.01, 1, 10, 86} {
			for i := range n {
				x := float32(limit * (2*float64(i)/(n-1) - 1))
				for g := range 4 {
					z[g*n+i] = x
				}
			}
			var worst [2]float64 // of sigmoid, of tanh
			note := func(which int, got float32, want float64) {
				e := math.Abs(float64(got)-want) / math.Abs(want)
				if want == 0 {
					e = math.Abs(float64(got))
				}
				if e != e {
					e = math.Inf(1)
				}
				worst[which] = max(worst[which], e)
			}
			sigmoid := func(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }
			LstmCell(h, next, gates, z, carry)
			for i := range n {
				for _, g := range []int{0, 1, 3} {
					note(0, gates[g*n+i], sigmoid(z[i]))
				}
				note(1, gates[2*n+i], math.Tanh(float64(z[i])))
			}
			GruCell(next, gates[:3*n], z[:3*n], make([]float32, 3*n), carry)
			for i := range n {
				note(0, gates[i], sigmoid(z[i]))
				note(0, gates[n+i], sigmoid(z[i]))
				note(1, gates[2*n+i], math.Tanh(float64(z[i])))
			}
			t.Logf("up to %g: sigmoid %.2g, tanh %.2g", limit, worst[0], worst[1])
			if !(worst[0] <= 3e-7) || !(worst[1] <= 4e-7) {
				t.Errorf("up to %g: relative errors of sigmoid %.3g, of tanh %.3g", limit, worst[0], worst[1])
			}
		}
	})
}
