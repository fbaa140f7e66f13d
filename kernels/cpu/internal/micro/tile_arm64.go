package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// call is the argument block of the assembly, for one tile; internal/asmgen/micro knows its layout. Strides count
// bytes.
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
	flagContinue
)

const (
	maxVectors = 4
	edgeRows   = 6 // of a tile of one vector
)

// vector computes the columns [0, cols) in assembly. B may be read up to the next whole vector.
func vector[T Float](k *tile.Tile, t *Tile[T], cols int) {
	l := k.Lanes
	whole := cols / l * l
	computeColumns(k, t, whole, false)
	if whole == cols {
		return
	}
	// The last columns go through a buffer, because the assembly stores whole vectors.
	var sums [edgeRows * 4]T
	var c call
	fill(&c, t)
	c.flags, c.bias = 0, nil
	c.cRow = l * int(unsafe.Sizeof(sums[0]))
	for line := range max(t.Lines, 1) {
		for row := 0; row < t.Rows; row += edgeRows {
			rows := min(edgeRows, t.Rows-row)
			c.a, c.b, c.c = unsafe.Pointer(&t.A[line*t.ALine+row*t.ARow]), unsafe.Pointer(&t.B[line*t.BLine+whole]), unsafe.Pointer(&sums[0])
			dispatch(k.Family, 1, false, rows, &c)
			u := *t
			u.C = t.C[line*t.CLine:]
			if t.Bias != nil {
				u.Bias = t.Bias[line*t.BiasLine:]
			}
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
func vectorChannels[T Float](k *tile.Tile, t *Tile[T]) int {
	l := k.Lanes
	whole := t.Cols / l * l
	computeColumns(k, t, whole, true)
	return whole
}

// fill sets the fields that do not depend on the place of the tile.
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
	if t.Continue {
		c.flags |= flagContinue
	}
}

// computeColumns computes the columns [0, cols), which are whole vectors, tile by tile.
func computeColumns[T Float](k *tile.Tile, t *Tile[T], cols int, channels bool) {
	var c call
	fill(&c, t)
	l := k.Lanes
	for col := 0; col < cols; {
		vectors := maxVectors
		for vectors*l > cols-col {
			vectors /= 2
		}
		colA := 0
		if channels {
			colA = col
		}
		tiles := (t.Rows-1)/maxRows(k.Family, vectors, channels) + 1
		for line := range max(t.Lines, 1) {
			if t.Bias != nil {
				c.bias = unsafe.Pointer(&t.Bias[line*t.BiasLine+col])
			}
			for tile := range tiles {
				row, end := tile*t.Rows/tiles, (tile+1)*t.Rows/tiles
				c.a = unsafe.Pointer(&t.A[line*t.ALine+row*t.ARow+colA])
				c.b = unsafe.Pointer(&t.B[line*t.BLine+col])
				c.c = unsafe.Pointer(&t.C[line*t.CLine+row*t.CRow+col])
				dispatch(k.Family, vectors, channels, end-row, &c)
			}
		}
		col += vectors * l
	}
	runtime.KeepAlive(t)
}

// rowProduct adds x·b to dst and returns true, or returns false if it cannot.
func rowProduct[T Float](dst, x, b []T, stride int) bool {
	if !isa.Active().Has(isa.NEON) || unsafe.Sizeof(dst[0]) != 4 {
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

// transpose transposes the first columns and returns how many: none here.
func transpose[T Float](_, _ []T, _, _, _, _ int) int { return 0 }

// copyPanel packs a panel of whole rows and returns true, or returns false if it cannot, as here.
func copyPanel[T Float](_, _ []T, _, _ int) bool { return false }

// rowPanels adds the products of x and whole panels to dst and returns how many columns it computed: none, because here
// a panel is read like any other matrix.
func rowPanels[T Float](_, _, _ []T) int { return 0 }

func rowHalfPanels(_, _ []float32, _ []uint16, _ vec.Half) bool { return false }

func transposeShort[T Float](_, _ []T, _, _, _, _ int) int { return 0 }

// vectorRounded is only for processors with an instruction that rounds to bfloat16.
func vectorRounded(*tile.Tile, *Tile[float32], *Rounding) {}
