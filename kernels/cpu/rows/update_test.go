package rows

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUpdates: first steps of the optimizers, which one can work out by hand, on elements in and beyond whole vectors.
func TestUpdates(t *testing.T) {
	const n = 37
	fill := func(v float32) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = v
		}
		return out
	}
	all := func(want float64, got []float32) {
		t.Helper()
		for i, v := range got {
			require.InDelta(t, want, v, 1e-6, "at %d", i)
		}
	}
	g := fill(2)

	w, a, b, c := fill(1), fill(5), fill(0), fill(0)
	Adagrad(w, a, g, 0.3, 0)
	all(9, a)
	all(1-0.3*2/3, w)

	w, a = fill(1), fill(0)
	Adam(w, a, b, g, 0.1, 0.5, 0.25, 1)
	all(1, a)
	all(1, b)
	all(1-0.1*1/(1+1), w)

	w, a = fill(1), fill(4)
	Momentum(w, a, g, 0.25, 0.5, false)
	all(1.5, a)
	all(2.5, w)
	Momentum(w, a, g, 0.25, 0.5, true)
	all(0.25, a)
	all(2.5+0.125-0.5, w)

	w, a, b = fill(1), fill(8), fill(6)
	RMSprop(w, a, b, c, g, 0.5, 0.5, 0.5, 4, 0.5) // 4 + 2 − 1² + 4 under the root
	all(6, a)
	all(1, c)
	all(3+1/math.Sqrt(9), b)
	all(1-3-1/math.Sqrt(9), w)
	RMSprop(w, a, nil, nil, fill(0), 0.5, 0.5, 0.5, 4, 0.5)
	all(3, a)
	all(1-3-1/math.Sqrt(9), w)

	w, a, b = fill(1), fill(0), fill(3)
	FTRL(w, a, b, g, 0.5, 1, 6, 0.5) // σ = 4
	all(4, a)
	all(3+2+0.5-4, b)
	all((1-1.5)/(2/0.5+6), w)
}
