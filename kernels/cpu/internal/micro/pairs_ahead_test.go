package micro

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPairsAskAhead: lines whose panels are so far apart that matrix registers prefetch the next one have the same bits
// as alone.
func TestPairsAskAhead(t *testing.T) {
	if !Matrices() {
		t.Skip("needs matrix registers (AMX), or an emulator of them (make amx)")
	}
	r := rand.New(rand.NewPCG(9, 30))
	const lines, far = 2, 1 << 17
	tile := Tile[float32]{Rows: 70, Cols: 32, K: 80, Segments: 1, Outer: 1, ARow: 80, AK: 1, BK: 32, BLine: far, CRow: 32, CLine: 70 * 32, Lines: lines, Pairs: true}
	tile.A, tile.B, tile.C = randomPairs(r, 70*80, 0), randomPairs(r, lines*far, 0), make([]float32, lines*70*32)
	Run(&tile)
	together := slices.Clone(tile.C)
	for line := range lines {
		one := tile
		one.Lines, one.B, one.C = 1, tile.B[line*far:], make([]float32, 70*32)
		Run(&one)
		require.Equal(t, one.C, together[line*one.CLine:][:len(one.C)], "line %d", line)
	}
}
