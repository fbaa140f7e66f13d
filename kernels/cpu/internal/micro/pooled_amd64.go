package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

const hasPooled = true

// maxWindows is the largest number of windows for which internal/asmgen/micro makes a function.
const maxWindows = 3

// pooled computes the tile with AVX-512.
func pooled[T Float](t *Tile[T]) {
	var c call
	fill(&c, t)
	l := lanes[T](isa.AVX512)
	vectors := (t.Cols + l - 1) / l
	c.mask = 1<<(t.Cols-(vectors-1)*l) - 1
	c.b, c.pair = unsafe.Pointer(&t.B[0]), c.aLine
	c.aLine *= 2
	if t.Bias != nil {
		c.bias = unsafe.Pointer(&t.Bias[0])
	}
	// All tiles get the same number of windows or one more.
	tiles := (t.Rows-1)/maxWindows + 1
	windows, more := t.Rows/tiles, t.Rows%tiles
	first := 0
	for _, part := range [2]struct{ tiles, windows int }{{more, windows + 1}, {tiles - more, windows}} {
		c.tiles, c.aTile, c.cTile = part.tiles, 2*part.windows*c.aRow, part.windows*c.cRow
		perCall := maxCallFlops / (8 * vectors * l * max(part.tiles, 1) * part.windows * t.K * t.Segments * t.Outer) // lines
		for line := 0; line < t.Lines && part.tiles > 0; line += c.lines {
			c.lines = min(max(perCall, 1), t.Lines-line)
			c.a = unsafe.Pointer(&t.A[2*line*t.ALine+2*first*t.ARow])
			c.c = unsafe.Pointer(&t.C[line*t.CLine+first*t.CRow])
			if vectors == 2 {
				callF32AVX512PooledV2(part.windows, &c)
			} else {
				callF32AVX512PooledV1(part.windows, &c)
			}
		}
		first += part.tiles * part.windows
	}
	runtime.KeepAlive(t)
}
