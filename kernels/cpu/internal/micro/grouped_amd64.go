package micro

import (
	"math/bits"
	"runtime"
	"unsafe"
)

const hasGrouped = true

// groupedCall is the argument block of the assembly; internal/asmgen/micro knows its layout. Strides count bytes.
type groupedCall struct {
	a, b, c, bias, indices unsafe.Pointer
	inputs                 int
	aRow, bK, cRow         int
	segments               int
	aSegment, bSegment     int
	outer                  int
	aOuter, bOuter         int
	tiles, aTile, cTile    int
	lines, aLine, cLine    int
	flags                  int
	vectors, bVector       int
}

const groupedReLU = 1

// placesOf holds, for groups of 2, 4 and 8 channels and for each input i of a group, the source lane for each lane: the
// lane of input i in the group that the lane belongs to.
var placesOf = func() (places [3][widestGroups][16]int32) {
	for p := range places {
		size := 2 << p
		for i := range size {
			for lane := range 16 {
				places[p][i][lane] = int32(lane/size*size + i)
			}
		}
	}
	return places
}()

// places returns the places for groups of the given size.
func places(size int) unsafe.Pointer {
	return unsafe.Pointer(&placesOf[bits.Len(uint(size))-2])
}

// maxGroupedRows is the most rows of a tile for which internal/asmgen/micro generates a function.
func maxGroupedRows(wide bool) int {
	if wide {
		return 14
	}
	return 10
}

func runGrouped[T Float](g *Grouped[T]) {
	c := groupedCall{indices: places(g.Size), inputs: g.Size, aRow: 4 * g.ARow, bK: 4 * g.BK, cRow: 4 * g.CRow,
		segments: g.Segments, aSegment: 4 * g.ASegment, bSegment: 4 * g.BSegment, outer: g.Outer, aOuter: 4 * g.AOuter, bOuter: 4 * g.BOuter,
		aLine: 4 * g.ALine, cLine: 4 * g.CLine, bVector: 4 * g.BVector}
	if g.ReLU {
		c.flags = groupedReLU
	}
	wide := g.Lanes == 16
	// Tiles differ by at most one row.
	tiles := (g.Rows-1)/maxGroupedRows(wide) + 1
	rows, more := g.Rows/tiles, g.Rows%tiles
	perLine := 2 * g.Lanes * g.Taps * g.Size * g.Segments * g.Outer * g.Rows
	lines := min(max(maxCallFlops/perLine, 1), g.Lines)
	vectors := max(maxCallFlops/(perLine*lines), 1)
	first := 0
	for _, part := range [2]struct{ tiles, rows int }{{more, rows + 1}, {tiles - more, rows}} {
		c.tiles, c.aTile, c.cTile = part.tiles, part.rows*c.aRow, part.rows*c.cRow
		for v := 0; v < g.Vectors && part.tiles > 0; v += vectors {
			for line := 0; line < g.Lines; line += lines {
				c.lines, c.vectors = min(lines, g.Lines-line), min(vectors, g.Vectors-v) // the assembly counts vectors down and moves the pointers
				c.a, c.b = unsafe.Pointer(&g.A[line*g.ALine+first*g.ARow+v*g.Lanes]), unsafe.Pointer(&g.B[v*g.BVector])
				c.c = unsafe.Pointer(&g.C[line*g.CLine+first*g.CRow+v*g.Lanes])
				if g.Bias != nil {
					c.bias = unsafe.Pointer(&g.Bias[v*g.Lanes])
				}
				callGrouped(wide, g.Taps, part.rows, &c)
			}
		}
		first += part.tiles * part.rows
	}
	runtime.KeepAlive(g)
}

func callGrouped(wide bool, taps, rows int, c *groupedCall) {
	switch {
	case wide && taps == 3:
		callGrouped3AVX512(rows, c)
	case wide:
		callGrouped1AVX512(rows, c)
	case taps == 3:
		callGrouped3AVX2(rows, c)
	default:
		callGrouped1AVX2(rows, c)
	}
}

// groupedSumsCall is the argument block of the assembly of sums; internal/asmgen/micro knows its layout. Strides count
// bytes.
type groupedSumsCall struct {
	a, b, c, indices       unsafe.Pointer
	pixels, aPixel, bPixel int
	lines, aLine, bLine    int
	cTap, cInput           int
	flags                  int
	vectors                int
}

func runGroupedSums[T Float](g *GroupedSums[T]) {
	c := groupedSumsCall{indices: places(g.Size), pixels: g.Pixels, aPixel: 4 * g.APixel, bPixel: 4 * g.BPixel,
		aLine: 4 * g.ALine, bLine: 4 * g.BLine, cTap: 4 * g.CTap, cInput: 4 * g.CInput, flags: slideFlags(g.Left, g.Right, false)}
	wide := g.Lanes == 16
	perLine := 2 * g.Lanes * g.Taps * g.Size * g.Pixels
	lines := min(max(maxCallFlops/perLine, 1), g.Lines)
	vectors := max(maxCallFlops/(perLine*lines), 1)
	for v := 0; v < g.Vectors; v += vectors {
		for line := 0; line < g.Lines; line += lines {
			c.lines, c.vectors = min(lines, g.Lines-line), min(vectors, g.Vectors-v)
			c.a, c.b = unsafe.Pointer(&g.A[line*g.ALine+v*g.Lanes]), unsafe.Pointer(&g.B[line*g.BLine+v*g.Lanes])
			c.c = unsafe.Pointer(&g.C[v*g.Lanes])
			switch {
			case wide && g.Taps == 3:
				callGroupedSums3AVX512(g.Size, &c)
			case wide:
				callGroupedSums1AVX512(g.Size, &c)
			case g.Taps == 3:
				callGroupedSums3AVX2(g.Size, &c)
			default:
				callGroupedSums1AVX2(g.Size, &c)
			}
		}
	}
	runtime.KeepAlive(g)
}
