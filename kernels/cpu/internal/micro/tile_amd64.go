package micro

import (
	"math"
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

// call is the argument block of the assembly, whose layout internal/asmgen/micro knows. Strides count bytes.
type call struct {
	a, b, c, bias              unsafe.Pointer
	k, segments, outer         int
	aRow, aK, aSegment, aOuter int
	bK, bSegment, bOuter       int
	cRow                       int
	tiles                      int // tiles of the function's rows, one below the other
	aTile, cTile               int // from one tile to the next
	mask                       uint64
	maskTable                  unsafe.Pointer
	flags                      int
	lines                      int
	aLine, cLine               int
	next                       uintptr        // what to prefetch: a row of two vectors,
	nextStep                   int            // the next row, at that distance, and so on,
	nextEvery                  int            // after that many products each
	pair                       int            // from the first line of a window to the second
	bLine, biasLine            int            // functions of channels and of windows do not use them
	roundedBias                unsafe.Pointer // see vectorRounded

	base unsafe.Pointer // C, and the size of its numbers; not read by the assembly
	size int
}

const (
	flagAccumulate = 1 << iota
	flagReLU
	flagMasked   // the last vector of a row is incomplete; AVX2 only, since AVX-512 always uses mask
	flagFetchC   // prefetch the tile of C while the last products are added
	flagContinue // the sums start from C
	flagRounded  // C is bfloat16
)

// fetchSums is the most products that are left when the assembly prefetches C: enough for C to arrive.
const fetchSums = 36

// laneMasks holds, at index 8−n, the mask of the first n of 8 lanes of 32 bits; lanes of 64 bits count twice.
var laneMasks = [16]int32{-1, -1, -1, -1, -1, -1, -1, -1}

// maxCallFlops bounds the time of one assembly call to about 100 µs: the garbage collector cannot interrupt it.
const maxCallFlops = 8 << 20

// vector computes the columns [0, cols) in assembly. B may be read up to the next whole vector.
func vector[T Float](k *tile.Tile, t *Tile[T], cols int) {
	var c call
	fill(&c, t)
	l := k.Lanes
	var half *tile.Tile
	if k.Needs.Has(isa.Vectors512) && isa.HalfUnits() && !t.FarA && (cols-1)%l < l/2 {
		half = narrower(k)
	}
	for col := 0; col < cols; {
		use, vectors := k, 1
		switch rest := cols - col; {
		case half != nil && rest <= l/2 && t.fillsHalf(rest, l):
			use = half
		case half != nil && rest <= l+l/2 && rest > l && t.fillsHalf(rest-l, l): // one, and half of one
		case rest > 3*l && 4*l == PanelWidth[T]() && fitsWholePanels(t.Rows):
			vectors = 4
		case rest > l:
			vectors = 2
		}
		n := min(vectors*use.Lanes, cols-col)
		runColumns(use, t, &c, col, n, vectors, false)
		col += n
	}
	runtime.KeepAlive(t)
}

// fitsWholePanels reports whether tiles of that many rows and a whole panel (four vectors) are better than tiles of two
// vectors. Those have at most six rows; with these numbers of rows some would be low, with too few sums to keep the
// multiply-adds busy. With many rows, the loads from the second-level cache matter more.
func fitsWholePanels(rows int) bool { return rows < 16 && (rows-1)%6 < 3 }

// vectorRounded computes a tile and stores its sums as bfloat16.
func vectorRounded(k *tile.Tile, t *Tile[float32], r *Rounding) {
	t.checkVectors(k.Lanes)
	var c call
	fill(&c, t)
	c.base, c.size, c.cRow, c.flags = unsafe.Pointer(&r.C[0]), 2, 2*r.Row, flagRounded
	if r.ReLU {
		c.flags |= flagReLU
	}
	vectors := (t.Cols + k.Lanes - 1) / k.Lanes
	if r.Bias != nil {
		if cap(r.Bias) < vectors*k.Lanes {
			panic("micro: a bias has incomplete vectors")
		}
		c.roundedBias = unsafe.Pointer(&r.Bias[0])
	}
	runColumns(k, t, &c, 0, t.Cols, vectors, false)
	runtime.KeepAlive(t)
	runtime.KeepAlive(r)
}

// maskedSums is the length of sums from which on it costs little that AVX2 takes long to store a part of a vector.
const maskedSums = 48

// fillsHalf reports whether that many columns, at most half a vector of lanes, take less time in a vector of half the
// length, if that is multiplied in half the time.
func (t *Tile[T]) fillsHalf(cols, lanes int) bool {
	return 2*cols == lanes || t.K*t.Segments*t.Outer >= maskedSums
}

// vectorChannels computes whole vectors of columns in assembly and returns how many columns it computed.
func vectorChannels[T Float](k *tile.Tile, t *Tile[T]) int {
	var c call
	fill(&c, t)
	col := 0
	for {
		rest := t.Cols - col
		switch l := k.Lanes; {
		case rest >= 2*l:
			runColumns(k, t, &c, col, 2*l, 2, true)
			col += 2 * l
		case rest >= l && maxRows(k.Family, 1, true) > 0:
			runColumns(k, t, &c, col, l, 1, true)
			col += l
		default:
			if k = narrower(k); k != nil { // half a vector, or two halves of one
				continue
			}
			runtime.KeepAlive(t)
			return col
		}
	}
}

// fill sets the fields that do not depend on the columns.
func fill[T Float](c *call, t *Tile[T]) {
	size := int(unsafe.Sizeof(t.A[0]))
	c.base, c.size = unsafe.Pointer(unsafe.SliceData(t.C)), size
	c.k, c.segments, c.outer = t.K, t.Segments, t.Outer
	c.aRow, c.aK, c.aSegment, c.aOuter = t.ARow*size, t.AK*size, t.ASegment*size, t.AOuter*size
	c.bK, c.bSegment, c.bOuter = t.BK*size, t.BSegment*size, t.BOuter*size
	c.cRow = t.CRow * size
	c.aLine, c.cLine, c.bLine = t.ALine*size, t.CLine*size, t.BLine*size
	if t.FetchC && t.K > fetchSums {
		c.flags |= flagFetchC
	}
	if t.Accumulate {
		c.flags |= flagAccumulate
	}
	if t.ReLU {
		c.flags |= flagReLU
	}
	if t.Continue {
		c.flags |= flagContinue
	}
}

// runColumns computes the n columns from col on, in all rows. n fills the given number of vectors; the last one may be
// incomplete.
func runColumns[T Float](k *tile.Tile, t *Tile[T], c *call, col, n, vectors int, channels bool) {
	l := k.Lanes
	size := int(unsafe.Sizeof(t.A[0]))
	last := n - (vectors-1)*l
	if c.mask = 1<<last - 1; c.flags&flagRounded != 0 {
		c.mask = 1<<n - 1
	}
	c.flags &^= flagMasked
	if last < l {
		c.flags |= flagMasked
	}
	c.maskTable = unsafe.Pointer(&laneMasks[8-min(last*size/4, 8)])
	if t.Bias != nil {
		c.biasLine = t.BiasLine * size
	}
	colA := 0
	if channels {
		colA = col
	}
	// Tiles differ by at most one row.
	tiles := (t.Rows-1)/maxRows(k.Family, vectors, channels) + 1
	rows, more := t.Rows/tiles, t.Rows%tiles
	c.nextEvery = math.MaxInt
	if col < len(t.Next) { // as many rows as a tile has products, spread over all tiles
		c.next, c.nextStep, c.nextEvery = uintptr(unsafe.Pointer(&t.Next[col])), c.bK, tiles*max(t.Lines, 1)
		if t.NextEvery != 0 {
			c.nextEvery = t.NextEvery * tiles
		}
		if t.NextStep != 0 {
			c.nextStep = t.NextStep * size
		}
	}
	if more > 0 {
		runTiles(k, t, c, 0, colA, col, rows+1, more, n, vectors, channels)
	}
	runTiles(k, t, c, more*(rows+1), colA, col, rows, tiles-more, n, vectors, channels)
}

// runTiles computes tiles of equal height from a row on, in every line. It makes as few calls as the time limit of a
// call allows.
func runTiles[T Float](k *tile.Tile, t *Tile[T], c *call, row, colA, col, height, tiles, n, vectors int, channels bool) {
	c.aTile, c.cTile = height*c.aRow, height*c.cRow
	lines := max(t.Lines, 1)
	perCall := max(maxCallFlops/(2*height*n*t.K*t.Segments*t.Outer), 1) // tiles
	c.tiles = min(tiles, perCall)
	c.lines = 1
	if c.tiles == tiles && (t.BLine == 0 || !channels) {
		c.lines = min(lines, perCall/tiles)
	}
	for line := 0; line < lines; line += c.lines {
		c.lines = min(c.lines, lines-line)
		for tile := 0; tile < tiles; tile += c.tiles {
			c.tiles = min(perCall, tiles-tile)
			c.a = unsafe.Pointer(&t.A[line*t.ALine+(row+tile*height)*t.ARow+colA])
			c.b = unsafe.Pointer(&t.B[line*t.BLine+col])
			c.c = unsafe.Add(c.base, line*c.cLine+(row+tile*height)*c.cRow+col*c.size)
			if t.Bias != nil {
				c.bias = unsafe.Pointer(&t.Bias[line*t.BiasLine+col])
			}
			dispatch(k.Family, vectors, channels, height, c)
			c.next += uintptr(c.tiles * c.lines * t.K * t.Segments * t.Outer / c.nextEvery * c.nextStep)
		}
	}
}
