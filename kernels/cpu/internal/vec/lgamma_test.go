package vec

import (
	"math"
	"testing"
)

// TestLgammaOfSpecialNumbers: results are those of C, in place, for any number of elements.
func TestLgammaOfSpecialNumbers(t *testing.T) {
	inf := float32(math.Inf(1))
	x := []float32{1, 2, 0, float32(math.Copysign(0, -1)), -1, -7, inf, -inf, float32(math.NaN())}
	want := []float32{0, 0, inf, inf, inf, inf, inf, inf, float32(math.NaN())}
	forLevels(t, func(t *testing.T) {
		for i, v := range x {
			for _, n := range []int{1, 9, lgammaPiece + 9} {
				got := make([]float32, n)
				for j := range got {
					got[j] = 3.5
				}
				got[n-1] = v
				Lgamma(got, got)
				if y := got[n-1]; y != want[i] && (y == y || want[i] == want[i]) {
					t.Errorf("Lgamma(%v) = %v, not %v, at the end of %d numbers", v, y, want[i], n)
				}
			}
		}
	})
}
