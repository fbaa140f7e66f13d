package micro

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContinue: a sum that is computed in parts has the bits of the whole, for every height of tiles.
func TestContinue(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		t.Run("float32", testContinue[float32])
		t.Run("float64", testContinue[float64])
	})
}

func testContinue[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	width := PanelWidth[T]()
	for rows := 3; rows <= 29; rows++ {
		for range 5 {
			cols, k := width, 2+rng.IntN(60)
			whole := Tile[T]{
				A: random[T](rng, rows*k, 0), B: random[T](rng, width*k, 0), C: random[T](rng, rows*(cols+2), 0),
				Rows: rows, Cols: cols, K: k, Segments: 1, Outer: 1, ARow: k, AK: 1, BK: width, CRow: cols + 2,
				FetchC: rng.IntN(2) == 0,
			}
			part := whole
			part.C = append([]T(nil), whole.C...)
			Run(&whole)
			cut := 1 + rng.IntN(k-1)
			part.K = cut
			Run(&part)
			part.A, part.B = whole.A[cut:], whole.B[cut*width:]
			part.K, part.Continue = k-cut, true
			Run(&part)
			require.Equal(t, whole.C, part.C, "%d rows, %d columns, %d of %d products", rows, cols, cut, k)
		}
	}
}
