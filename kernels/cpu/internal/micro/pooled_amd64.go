package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

const hasPooled = true

// maxWindows is the most windows of a tile for which internal/asmgen/micro generates a function.
func maxWindows(wide bool, vectors int) int {
	if !wide && vectors == 1 {
		return 6
	}
	return 3
}

// pooled computes the tile in assembly. B may be read up to the next whole vector.
func pooled[T Float](t *Tile[T]) {
	var c call
	fill(&c, t)
	c.pair = c.aLine
	c.aLine *= 2
	k := best[T]()
	l := k.Lanes
	lines := t.Lines
	if t.Cols > 2*l { // write all columns of a line before the next line, so that cache lines are filled at once
		lines = 1
	}
	for line := 0; line < t.Lines; line += lines {
		for col := 0; col < t.Cols; {
			vectors := 1
			if t.Cols-col > l {
				vectors = 2
			}
			n := min(vectors*l, t.Cols-col)
			pooledColumns(k, t, &c, line, line+lines, col, n, vectors)
			col += n
		}
	}
	runtime.KeepAlive(t)
}

// pooledColumns computes the n columns from col on of the lines [firstLine, endLine). n fills the given number of
// vectors; the last one may be incomplete.
func pooledColumns[T Float](k *tile.Tile, t *Tile[T], c *call, firstLine, endLine, col, n, vectors int) {
	wide := k.Family == familyF32AVX512
	last := n - (vectors-1)*k.Lanes
	c.mask = 1<<last - 1
	c.flags &^= flagMasked
	if last < k.Lanes {
		c.flags |= flagMasked
	}
	c.maskTable = unsafe.Pointer(&laneMasks[8-min(last, 8)])
	c.b = unsafe.Pointer(&t.B[col])
	if t.Bias != nil {
		c.bias = unsafe.Pointer(&t.Bias[col])
	}
	// Tiles differ by at most one window.
	tiles := (t.Rows-1)/maxWindows(wide, vectors) + 1
	windows, more := t.Rows/tiles, t.Rows%tiles
	first := 0
	for _, part := range [2]struct{ tiles, windows int }{{more, windows + 1}, {tiles - more, windows}} {
		c.tiles, c.aTile, c.cTile = part.tiles, 2*part.windows*c.aRow, part.windows*c.cRow
		perCall := maxCallFlops / (8 * n * max(part.tiles, 1) * part.windows * t.K * t.Segments * t.Outer) // lines
		for line := firstLine; line < endLine && part.tiles > 0; line += c.lines {
			c.lines = min(max(perCall, 1), endLine-line)
			c.a = unsafe.Pointer(&t.A[2*line*t.ALine+2*first*t.ARow])
			c.c = unsafe.Pointer(&t.C[line*t.CLine+first*t.CRow+col])
			switch {
			case wide && vectors == 2:
				callF32AVX512PooledV2(part.windows, c)
			case wide:
				callF32AVX512PooledV1(part.windows, c)
			case vectors == 2:
				callF32AVX2PooledV2(part.windows, c)
			default:
				callF32AVX2PooledV1(part.windows, c)
			}
		}
		first += part.tiles * part.windows
	}
}
