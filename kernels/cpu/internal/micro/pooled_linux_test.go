package micro

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// pooledTile makes a tile of random sizes and numbers, in memory that ends where its operands do.
func pooledTile(t *testing.T, rng *rand.Rand, rows, cols int) *Tile[float32] {
	tile := &Tile[float32]{
		Rows: rows, Cols: cols, K: 1 + rng.IntN(5), Segments: 1 + rng.IntN(3), Outer: 1 + rng.IntN(2), Lines: 1 + rng.IntN(4),
		ARow: rng.IntN(5), AK: 1 + rng.IntN(4), ASegment: rng.IntN(40), AOuter: rng.IntN(50), ALine: rng.IntN(60),
		BK: PadColumns[float32](cols) + rng.IntN(3), BSegment: rng.IntN(40), BOuter: rng.IntN(50), CRow: cols + rng.IntN(4), ReLU: rng.IntN(2) == 0,
	}
	tile.CLine = rows*tile.CRow + rng.IntN(5)
	reach := (tile.Outer-1)*tile.AOuter + (tile.Segments-1)*tile.ASegment + (tile.K-1)*tile.AK
	tile.A = guard.Copy(t, random[float32](rng, reach+(2*tile.Lines-1)*tile.ALine+(2*rows-1)*tile.ARow+1, 0), rng.IntN(2) == 0)
	tile.B = guard.Copy(t, random[float32](rng, tile.lastB()+PadColumns[float32](cols), 0), rng.IntN(2) == 0)
	tile.C = guard.Copy(t, random[float32](rng, (tile.Lines-1)*tile.CLine+(rows-1)*tile.CRow+cols, 0), rng.IntN(2) == 0)
	if rng.IntN(2) == 0 {
		tile.Bias = guard.Copy(t, random[float32](rng, cols, 0), rng.IntN(2) == 0)
	}
	return tile
}

// poolApart computes the tile with Run, and then the maxima of the result.
func poolApart(tile *Tile[float32]) []float32 {
	all := *tile
	all.Rows, all.Lines, all.CRow = 2*tile.Rows, 2*tile.Lines, tile.Cols
	all.CLine = all.Rows * all.CRow
	all.C = make([]float32, all.Lines*all.CLine)
	Run(&all)
	want := append([]float32(nil), tile.C...)
	for line := range tile.Lines {
		for r := range tile.Rows {
			for c := range tile.Cols {
				m := float32(math.Inf(-1))
				for i := range 4 {
					m = max(m, all.C[(2*line+i/2)*all.CLine+(2*r+i%2)*all.CRow+c])
				}
				want[line*tile.CLine+r*tile.CRow+c] = m
			}
		}
	}
	return want
}

// TestRunPooled: the maxima of windows are those of the sums of Run, also with NaN, and nothing else is written.
func TestRunPooled(t *testing.T) {
	forLevels(t, testRunPooled)
}

func testRunPooled(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for rows := 1; rows <= 15; rows++ {
		for cols := 1; cols <= 32; cols++ {
			tile := pooledTile(t, rng, rows, cols)
			if cols%5 == 0 {
				tile.A[rng.IntN(len(tile.A))] = float32(math.NaN())
			}
			want := poolApart(tile)
			if !RunPooled(tile) {
				require.False(t, isa.Active().Has(isa.Vectors256), "%s", describe(tile))
				continue
			}
			for i, w := range want {
				require.True(t, w == tile.C[i] || w != w && tile.C[i] != tile.C[i], "rows %d, cols %d, element %d: %v, expected %v", rows, cols, i, tile.C[i], w)
			}
		}
	}
}

// TestRunPooledRefuses: tiles without a kernel are left alone, and operands that are too short panic.
func TestRunPooledRefuses(t *testing.T) {
	forLevels(t, testRunPooledRefuses)
}

func testRunPooledRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	tile := pooledTile(t, rng, 3, 20)
	kernel := RunPooled(tile)
	require.Equal(t, isa.Active().Has(isa.Vectors256), kernel)
	for _, change := range []func(*Tile[float32]){
		func(u *Tile[float32]) { u.Accumulate = true },
		func(u *Tile[float32]) { u.K = 0 },
		func(u *Tile[float32]) { u.Lines = 0 },
		func(u *Tile[float32]) { u.B = slices.Clip(u.B[:u.lastB()+u.Cols]) }, // a whole vector cannot be read
	} {
		u := *tile
		change(&u)
		before := append([]float32(nil), u.C...)
		require.False(t, RunPooled(&u))
		require.Equal(t, before, u.C)
	}
	if !kernel {
		return
	}
	for _, change := range []func(*Tile[float32]){
		func(u *Tile[float32]) { u.A = u.A[:len(u.A)-1] },
		func(u *Tile[float32]) { u.C = u.C[:len(u.C)-1] },
		func(u *Tile[float32]) { u.Bias = make([]float32, 19) },
		func(u *Tile[float32]) { u.Cols = 33 },
		func(u *Tile[float32]) { u.CLine = -1 },
	} {
		u := *tile
		change(&u)
		require.Panics(t, func() { RunPooled(&u) })
	}
}
