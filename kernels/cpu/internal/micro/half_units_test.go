package micro

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// TestHalfUnits computes tiles of every number of columns, as on processors that compute vectors in halves and as on
// others. Both are as accurate as required, have the same bits, and change nothing outside C.
func TestHalfUnits(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		t.Run("float32", testHalfUnits[float32])
		t.Run("float64", testHalfUnits[float64])
	})
}

func testHalfUnits[T Float](t *testing.T) {
	for seed := range uint64(4 * PanelWidth[T]()) {
		var results [2][]T
		for i, on := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(51, seed))
			cols := 1 + int(seed)%PanelWidth[T]()
			tile := Tile[T]{Rows: 1 + rng.IntN(40), Cols: cols, K: 1 + rng.IntN(70), Segments: 1 + rng.IntN(2), Outer: 1, ARow: rng.IntN(5), AK: 1,
				ASegment: rng.IntN(40), BK: cols + rng.IntN(3), BSegment: rng.IntN(40), CRow: cols + rng.IntN(4), Accumulate: rng.IntN(2) == 0, ReLU: rng.IntN(3) == 0, FarA: rng.IntN(4) == 0}
			restore := isa.OverrideHalfUnits(on)
			testTile(t, rng, &tile, rng.IntN(2) == 0, rng.IntN(2)*PanelWidth[T]())
			restore()
			results[i] = tile.C
		}
		if require.Equal(t, results[0], results[1]); t.Failed() {
			return
		}
	}
}
