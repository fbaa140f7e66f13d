package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// call is the argument block of the assembly, one tile; internal/asmgen/neon knows its layout. Strides count bytes.
type call struct {
	a, b, c, bias              unsafe.Pointer
	k, segments, outer         int
	aRow, aK, aSegment, aOuter int
	bK, bSegment, bOuter       int
	cRow                       int
	flags                      int
}

const (
	flagAccumulate = 1 << iota
	flagReLU
)

const (
	maxVectors     = 4
	maxRows        = 6
	maxRowsChannel = 4
)

// vector computes the columns [0, cols) in assembly. B may be read up to the next whole vector.
func vector[T Float](level isa.Level, t *Tile[T], cols int) {
	l := lanes[T](level)
	whole := cols / l * l
	computeColumns(level, t, whole, false)
	if whole == cols {
		return
	}
	// The last columns go through a buffer, because the assembly stores whole vectors.
	var sums [maxRows * 4]T
	var c call
	fill(&c, t)
	c.flags, c.bias = 0, nil
	c.cRow = l * int(unsafe.Sizeof(sums[0]))
	for line := range max(t.Lines, 1) {
		for row := 0; row < t.Rows; row += maxRows {
			rows := min(maxRows, t.Rows-row)
			c.a, c.b, c.c = unsafe.Pointer(&t.A[line*t.ALine+row*t.ARow]), unsafe.Pointer(&t.B[whole]), unsafe.Pointer(&sums[0])
			dispatch(int(unsafe.Sizeof(sums[0])), 1, false, rows, &c)
			u := *t
			u.C = t.C[line*t.CLine:]
			for r := range rows {
				for i := whole; i < cols; i++ {
					u.put(row+r, i, sums[r*l+i-whole])
				}
			}
		}
	}
	runtime.KeepAlive(t)
}

// vectorChannels computes whole vectors of columns in assembly and returns how many columns it computed.
func vectorChannels[T Float](level isa.Level, t *Tile[T]) int {
	l := lanes[T](level)
	whole := t.Cols / l * l
	computeColumns(level, t, whole, true)
	return whole
}

// fill sets what does not depend on the place of the tile.
func fill[T Float](c *call, t *Tile[T]) {
	size := int(unsafe.Sizeof(t.A[0]))
	c.k, c.segments, c.outer = t.K, t.Segments, t.Outer
	c.aRow, c.aK, c.aSegment, c.aOuter = t.ARow*size, t.AK*size, t.ASegment*size, t.AOuter*size
	c.bK, c.bSegment, c.bOuter = t.BK*size, t.BSegment*size, t.BOuter*size
	c.cRow = t.CRow * size
	if t.Accumulate {
		c.flags |= flagAccumulate
	}
	if t.ReLU {
		c.flags |= flagReLU
	}
}

// computeColumns computes the columns [0, cols), whole vectors, tile by tile.
func computeColumns[T Float](level isa.Level, t *Tile[T], cols int, channels bool) {
	var c call
	fill(&c, t)
	l, size, most := lanes[T](level), int(unsafe.Sizeof(t.A[0])), maxRows
	if channels {
		most = maxRowsChannel
	}
	for col := 0; col < cols; {
		vectors := maxVectors
		for vectors*l > cols-col {
			vectors /= 2
		}
		c.b = unsafe.Pointer(&t.B[col])
		if t.Bias != nil {
			c.bias = unsafe.Pointer(&t.Bias[col])
		}
		colA := 0
		if channels {
			colA = col
		}
		tiles := (t.Rows-1)/most + 1
		for line := range max(t.Lines, 1) {
			for tile := range tiles {
				row, end := tile*t.Rows/tiles, (tile+1)*t.Rows/tiles
				c.a = unsafe.Pointer(&t.A[line*t.ALine+row*t.ARow+colA])
				c.c = unsafe.Pointer(&t.C[line*t.CLine+row*t.CRow+col])
				dispatch(size, vectors, channels, end-row, &c)
			}
		}
		col += vectors * l
	}
	runtime.KeepAlive(t)
}

// dispatch calls the assembly for a tile of the given kind.
func dispatch(size, vectors int, channels bool, rows int, c *call) {
	kind := vectors >> 1
	if channels {
		kind += 3
	}
	if size == 8 {
		kind += 6
	}
	switch kind {
	case 0:
		callF32NEONV1(rows, c)
	case 1:
		callF32NEONV2(rows, c)
	case 2:
		callF32NEONV4(rows, c)
	case 3:
		callF32NEONChannelsV1(rows, c)
	case 4:
		callF32NEONChannelsV2(rows, c)
	case 5:
		callF32NEONChannelsV4(rows, c)
	case 6:
		callF64NEONV1(rows, c)
	case 7:
		callF64NEONV2(rows, c)
	case 8:
		callF64NEONV4(rows, c)
	case 9:
		callF64NEONChannelsV1(rows, c)
	case 10:
		callF64NEONChannelsV2(rows, c)
	case 11:
		callF64NEONChannelsV4(rows, c)
	}
}

// rowProduct adds x·b to dst; it reports whether it did.
func rowProduct[T Float](dst, x, b []T, stride int) bool {
	if isa.Active() != isa.NEON || unsafe.Sizeof(dst[0]) != 4 {
		return false
	}
	cols, rows := len(dst)/16*16, len(x)/4*4
	if cols > 0 && rows > 0 {
		perCall := max(rowProductElements/cols/4*4, 4)
		for k := 0; k < rows; k += perCall {
			callRowProduct(unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[k]), unsafe.Pointer(&b[k*stride]), uintptr(min(perCall, rows-k)/4), uintptr(cols/16), uintptr(4*stride))
		}
	} else {
		rows = 0
	}
	for k, v := range x {
		from := 0
		if k < rows {
			from = cols
		}
		row := b[k*stride:][:len(dst)]
		for c := from; c < len(dst); c++ {
			dst[c] += v * row[c]
		}
	}
	runtime.KeepAlive(b)
	return true
}

// transpose stores the first columns of a transpose; it returns how many.
func transpose[T Float](_, _ []T, _, _, _, _ int) int { return 0 }

// copyPanel packs a panel of whole rows; it reports whether it did.
func copyPanel[T Float](_, _ []T, _, _ int) bool { return false }

// rowPanels adds the products of x with whole panels to dst and returns how many columns it has computed: none, a panel is as good as any
// other matrix.
func rowPanels[T Float](_, _, _ []T) int { return 0 }
