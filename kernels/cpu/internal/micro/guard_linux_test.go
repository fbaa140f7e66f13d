package micro

import (
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestNothingOutsideIsTouched puts all operands next to unreadable memory.
func TestNothingOutsideIsTouched(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		testGuarded[float32](t)
		testGuarded[float64](t)
	})
}

func testGuarded[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for cols := 1; cols <= PanelWidth[T](); cols++ {
		rows := 1 + rng.IntN(16)
		const k = 11
		for _, atStart := range []bool{false, true} {
			tile := Tile[T]{Rows: rows, Cols: cols, K: k, Segments: 1, Outer: 1, ARow: k, AK: 1, BK: cols, CRow: cols, Accumulate: true}
			tile.A, tile.B = guard.Copy(t, random[T](rng, rows*k, 0), atStart), guard.Copy(t, random[T](rng, k*cols, 0), atStart)
			tile.C, tile.Bias = guard.Copy(t, random[T](rng, rows*cols, 0), atStart), guard.Copy(t, random[T](rng, cols, 0), atStart)
			Run(&tile)
			tile.AK, tile.ARow = cols, cols
			tile.A = guard.Copy(t, random[T](rng, (rows+k-1)*cols, 0), atStart)
			RunChannels(&tile)
			AddRowProduct(tile.C[:cols], guard.Copy(t, random[T](rng, k, 0), atStart), tile.B, cols)
			panel := guard.Copy(t, make([]T, k*PanelWidth[T]()), atStart)
			PackPanel(panel, tile.B, k, cols, cols, 1)
			PackPanel(panel, tile.B, k, cols, 1, k)
		}
	}
}
