package cpu

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

const maxAxes = 12

// ndCopy copies a box of elements between two strided layouts. Strides are in bytes. They may be negative or, for the
// source, 0.
type ndCopy struct {
	size     int // bytes of an element, or of a few that are contiguous on both sides
	dims     []int
	dst, src []int
	tile     int // the axis along which the source is contiguous if that is not the innermost one, else -1

	repeated int     // the axis along which block is repeated
	block    *ndCopy // nil for none
	batch    *ndCopy // copies several blocks side by side; nil for none
	together int     // number of those blocks

	groups *vec.Repeats    // repeats groups of a few bytes; nil for none
	boxes  *vec.Rearranged // rearranges boxes of a few bytes; nil for none
	inside *ndCopy         // with groups or boxes: copies along their axis and the axes inside; with places: along the axes inside

	places []int32 // of the source's elements of a box, relative to the lowest; nil for none
	lowest int     // bytes
}

// newCopy merges axes that can be stepped through as one, and orders the others by the destination.
func newCopy(size int, dims, dst, src []int) *ndCopy {
	c := &ndCopy{size: size, tile: -1}
	for i, n := range dims {
		if n == 1 {
			continue
		}
		if k := len(c.dims) - 1; k >= 0 && c.dst[k] == dst[i]*n && c.src[k] == src[i]*n {
			c.dims[k], c.dst[k], c.src[k] = c.dims[k]*n, dst[i], src[i]
			continue
		}
		c.dims, c.dst, c.src = append(c.dims, n), append(c.dst, dst[i]), append(c.src, src[i])
	}
	if len(c.dims) == 0 {
		c.dims, c.dst, c.src = []int{1}, []int{size}, []int{size}
	}
	c.widen()
	c.findTile()
	c.findRepeated()
	c.findGroups()
	c.findBoxes()
	c.findPlaces()
	return c
}

func (c *ndCopy) findTile() {
	c.tile = -1
	if last := len(c.dims) - 1; c.src[last] != c.size && c.src[last] != 0 && c.dst[last] == c.size {
		c.tile = slices.Index(c.src, c.size)
	}
	if c.tile >= 0 && len(c.dims) > 2 && max(c.dims[c.tile], c.dims[len(c.dims)-1]) < shortPlane {
		c.tile = -1 // planes of a few elements: other axes give longer loops
	}
}

// widen turns a short contiguous innermost axis into one large element, because a call would take longer than the copy.
func (c *ndCopy) widen() {
	last := len(c.dims) - 1
	bytes := c.dims[last] * c.size
	if last == 0 || c.dst[last] != c.size || c.src[last] != c.size || bytes > 32 || bits.OnesCount(uint(bytes)) != 1 {
		return
	}
	c.size, c.dims, c.dst, c.src = bytes, c.dims[:last], c.dst[:last], c.src[:last]
}

// These are structs because the compiler copies arrays with a call. Pieces have more than four fields, so that an
// assignment between two places in memory goes through vector registers. With fewer fields it goes field by field
// through general registers, which takes twice as long.
type (
	words2  struct{ a, b uint64 }
	words4  struct{ a, b, c, d uint64 }
	piece16 struct{ a, b, c, d, e, f, g, h uint16 }
	piece32 struct{ a, b, c, d, e, f, g, h uint32 }
)

// elements returns the number of elements copied.
func (c *ndCopy) elements() int {
	n := 1
	for _, d := range c.dims {
		n *= d
	}
	return n
}

// run copies indices [lo, hi) of the outermost axis.
func (c *ndCopy) run(dst, src unsafe.Pointer, lo, hi int) {
	inner := len(c.dims) - 1
	switch {
	case c.block != nil:
		c.runRepeated(dst, src, lo, hi)
		return
	case c.groups != nil || c.boxes != nil:
		c.runInside(dst, src, lo, hi)
		return
	case c.places != nil:
		c.runPlaces(dst, src, lo, hi)
		return
	case c.tile >= 0:
		c.runTiled(dst, src, lo, hi)
		return
	}
	dst, src = unsafe.Add(dst, lo*c.dst[0]), unsafe.Add(src, lo*c.src[0])
	if inner == 0 {
		c.row(dst, src, hi-lo)
		return
	}
	var o odometer
	o.n = copy(o.dims[:], c.dims[:inner])
	copy(o.dst[:], c.dst)
	copy(o.src[:], c.src)
	o.dims[0] = hi - lo
	contiguous := c.src[inner] == c.size && c.dst[inner] == c.size
	// If rows are short, a call for each would cost more than the row, so the two innermost axes share one loop.
	short := c.dims[inner] < shortBox && !(contiguous && c.dims[inner] > 4 && c.dims[inner]*c.size >= leastRow)
	short = short || c.src[inner] == 0 && c.dst[inner] == c.size && c.size < 16 && c.dims[inner]*c.size <= shortFill
	bytes := c.dims[inner] * c.size
	rows := contiguous && !short && bytes >= leastRow && bytes <= mostRow
	backwards := c.src[inner] == -c.size && c.dst[inner] == c.size && !short
	if swapped := (rows || backwards) && o.longestLast(); swapped && rows {
		c.runRows(dst, src, &o, bytes)
		return
	} else if short {
		o.longLast()
	}
	n := 1
	if short || rows || backwards {
		o.n--
		n = o.dims[o.n]
	}
	for more := true; more; more = o.next() {
		d, s := unsafe.Add(dst, o.to), unsafe.Add(src, o.from)
		switch {
		case rows:
			copyRows(d, s, n, bytes, o.dst[o.n], o.src[o.n])
		case backwards:
			reverseRows(d, s, c.size, n, c.dims[inner], o.dst[o.n], o.src[o.n])
		case short:
			c.box(d, s, n, o.dst[o.n], o.src[o.n])
		default:
			c.row(d, s, c.dims[inner])
		}
	}
}

// rowsPiece is how many bytes of rows are copied along one axis before a shorter one is advanced, so that repeated or
// neighbouring rows are still in the cache.
const rowsPiece = 16 << 10

// runRows copies rows whose last two axes, the second of which is the longer one, are copied piece by piece.
func (c *ndCopy) runRows(dst, src unsafe.Pointer, o *odometer, bytes int) {
	o.n -= 2
	few, n := o.n, o.n+1
	piece := max(rowsPiece/(bytes*o.dims[few]), 8)
	for more := true; more; more = o.next() {
		for first := 0; first < o.dims[n]; first += piece {
			m := min(piece, o.dims[n]-first)
			d, s := o.to+first*o.dst[n], o.from+first*o.src[n]
			for range o.dims[few] {
				copyRows(unsafe.Add(dst, d), unsafe.Add(src, s), m, bytes, o.dst[n], o.src[n])
				d, s = d+o.dst[few], s+o.src[few]
			}
		}
	}
}

// odometer steps through the outer axes of a copy.
type odometer struct {
	n                     int // number of axes
	dims, dst, src, index [maxAxes]int
	to, from              int // offsets in bytes
}

// next advances to the next index and reports whether there is one.
func (o *odometer) next() bool {
	for k := o.n - 1; k >= 0; k-- {
		o.to, o.from = o.to+o.dst[k], o.from+o.src[k]
		if o.index[k]++; o.index[k] < o.dims[k] {
			return true
		}
		o.to, o.from = o.to-o.dims[k]*o.dst[k], o.from-o.dims[k]*o.src[k]
		o.index[k] = 0
	}
	return false
}

// longestLast swaps the last two axes if the last one makes a short loop, and reports whether it did.
func (o *odometer) longestLast() bool {
	if i := o.n - 1; i > 0 && o.dims[i] < 8 && o.dims[i-1] > o.dims[i] {
		for _, list := range []*[maxAxes]int{&o.dims, &o.dst, &o.src} {
			list[i-1], list[i] = list[i], list[i-1]
		}
		return true
	}
	return false
}

// longLast swaps the last axis, if it makes a short loop, with the innermost other axis that makes a long one.
func (o *odometer) longLast() {
	last := o.n - 1
	if o.dims[last] >= 8 {
		return
	}
	for i := last - 1; i >= 0; i-- {
		if o.dims[i] >= 16 {
			for _, list := range []*[maxAxes]int{&o.dims, &o.dst, &o.src} {
				list[i], list[last] = list[last], list[i]
			}
			return
		}
	}
}

// shortBox is the length of the innermost axis below which the two innermost axes are copied together.
const shortBox = 16

// shortFill is the largest size in bytes of a row that repeats one element for which several rows are filled together.
const shortFill = 256

// box copies n rows along the innermost axis.
func (c *ndCopy) box(dst, src unsafe.Pointer, n, dstRow, srcRow int) {
	switch c.size {
	case 1:
		copyBox[uint8](c, dst, src, n, dstRow, srcRow)
	case 2:
		copyBox[uint16](c, dst, src, n, dstRow, srcRow)
	case 4:
		copyBox[uint32](c, dst, src, n, dstRow, srcRow)
	case 8:
		copyBox[uint64](c, dst, src, n, dstRow, srcRow)
	case 16:
		copyBox[piece16](c, dst, src, n, dstRow, srcRow)
	default:
		copyBox[piece32](c, dst, src, n, dstRow, srcRow)
	}
}

// copyNarrow copies n rows of two to four elements.
func copyNarrow[T any](dst, src unsafe.Pointer, m, n, dstRow, srcRow, dstCol, srcCol int) {
	switch m {
	case 2:
		for d, s := 0, 0; n > 0; d, s, n = d+dstRow, s+srcRow, n-1 {
			row, of := unsafe.Add(dst, d), unsafe.Add(src, s)
			*(*T)(row) = *(*T)(of)
			*(*T)(unsafe.Add(row, dstCol)) = *(*T)(unsafe.Add(of, srcCol))
		}
	case 3:
		for d, s := 0, 0; n > 0; d, s, n = d+dstRow, s+srcRow, n-1 {
			row, of := unsafe.Add(dst, d), unsafe.Add(src, s)
			*(*T)(row) = *(*T)(of)
			*(*T)(unsafe.Add(row, dstCol)) = *(*T)(unsafe.Add(of, srcCol))
			*(*T)(unsafe.Add(row, 2*dstCol)) = *(*T)(unsafe.Add(of, 2*srcCol))
		}
	default:
		for d, s := 0, 0; n > 0; d, s, n = d+dstRow, s+srcRow, n-1 {
			row, of := unsafe.Add(dst, d), unsafe.Add(src, s)
			*(*T)(row) = *(*T)(of)
			*(*T)(unsafe.Add(row, dstCol)) = *(*T)(unsafe.Add(of, srcCol))
			*(*T)(unsafe.Add(row, 2*dstCol)) = *(*T)(unsafe.Add(of, 2*srcCol))
			*(*T)(unsafe.Add(row, 3*dstCol)) = *(*T)(unsafe.Add(of, 3*srcCol))
		}
	}
}

func copyBox[T any](c *ndCopy, dst, src unsafe.Pointer, n, dstRow, srcRow int) {
	last := len(c.dims) - 1
	m, dstCol, srcCol := c.dims[last], c.dst[last], c.src[last]
	if srcCol == 0 && dstCol == c.size && m >= 2 && m <= 4 && dstRow == m*c.size && srcRow == c.size && (m == 2 || c.size == 4 || c.size == 8) {
		repeatEach[T](dst, src, m, n)
		return
	}
	if m <= 4 {
		copyNarrow[T](dst, src, m, n, dstRow, srcRow, dstCol, srcCol)
		return
	}
	if srcCol == c.size && dstCol == c.size {
		moveRows(dst, src, n, m*c.size, dstRow, srcRow)
		return
	}
	if srcCol == 0 && dstCol == c.size { // each element is repeated
		if c.size <= 8 && m*c.size >= 8 {
			fillShort(dst, src, c.size, n, m*c.size, dstRow, srcRow)
			return
		}
		for i := range n {
			v, to := *(*T)(unsafe.Add(src, i*srcRow)), block.View[T](unsafe.Add(dst, i*dstRow), m)
			for j := range to {
				to[j] = v
			}
		}
		return
	}
	for i := range n {
		d, s := unsafe.Add(dst, i*dstRow), unsafe.Add(src, i*srcRow)
		for j := range m {
			*(*T)(unsafe.Add(d, j*dstCol)) = *(*T)(unsafe.Add(s, j*srcCol))
		}
	}
}

// repeatEach repeats each of n contiguous elements m times, with m from two to four.
func repeatEach[T any](dst, src unsafe.Pointer, m, n int) {
	if size := int(unsafe.Sizeof(*new(T))); size == 4 || size == 8 {
		from := [4]unsafe.Pointer{src, src, src, src}
		interleaveFrom(dst, from[:m], size, 0, n)
		return
	}
	from, to := block.View[T](src, n), block.View[[2]T](dst, n)
	for i, v := range from {
		to[i] = [2]T{v, v}
	}
}

// row copies n elements along the innermost axis.
func (c *ndCopy) row(dst, src unsafe.Pointer, n int) {
	last := len(c.dims) - 1
	switch {
	case c.dst[last] != c.size:
		scatterElements(dst, src, c.size, c.dst[last], c.src[last], n)
	case c.src[last] == c.size:
		vec.Copy(plan.BytesAt(dst, n*c.size), plan.BytesAt(src, n*c.size))
	case c.src[last] == 0:
		fillElement(dst, src, c.size, n)
	default:
		gatherElements(dst, src, c.size, c.src[last], n)
	}
}

// scatterElements copies n elements between places with arbitrary distances in bytes.
func scatterElements(dst, src unsafe.Pointer, size, dstStride, srcStride, n int) {
	switch size {
	case 1:
		scatterStrided[uint8](dst, src, dstStride, srcStride, n)
	case 2:
		scatterStrided[uint16](dst, src, dstStride, srcStride, n)
	case 4:
		scatterStrided[uint32](dst, src, dstStride, srcStride, n)
	case 8:
		scatterStrided[uint64](dst, src, dstStride, srcStride, n)
	case 16:
		scatterStrided[piece16](dst, src, dstStride, srcStride, n)
	default:
		scatterStrided[piece32](dst, src, dstStride, srcStride, n)
	}
}

func scatterStrided[T any](dst, src unsafe.Pointer, dstStride, srcStride, n int) {
	d, s := 0, 0
	for ; n >= 2; n -= 2 { // two at a time take half the time
		*(*T)(unsafe.Add(dst, d)) = *(*T)(unsafe.Add(src, s))
		*(*T)(unsafe.Add(dst, d+dstStride)) = *(*T)(unsafe.Add(src, s+srcStride))
		d, s = d+2*dstStride, s+2*srcStride
	}
	if n > 0 {
		*(*T)(unsafe.Add(dst, d)) = *(*T)(unsafe.Add(src, s))
	}
}

// tileSize is the edge of the square blocks in which transposed planes are copied.
const tileSize = 16

// runTiled copies planes of the tile axis and the innermost axis in square blocks, so that both sides use whole cache
// lines.
func (c *ndCopy) runTiled(dst, src unsafe.Pointer, lo, hi int) {
	if c.src[len(c.dims)-1] > 0 && linesConflict(c.size, c.dims[len(c.dims)-1], c.dst[c.tile]) {
		var apart transposedBlock // declared once: clearing it takes as long as copying a small plane
		c.planes(dst, src, lo, hi, &apart)
	} else {
		c.planes(dst, src, lo, hi, nil)
	}
}

// planes is runTiled with memory for a block, which some planes need.
func (c *ndCopy) planes(dst, src unsafe.Pointer, lo, hi int, apart *transposedBlock) {
	inner := len(c.dims) - 1
	var index, limit [maxAxes]int
	for k := range inner {
		limit[k] = c.dims[k]
	}
	index[0], limit[0] = lo, hi
	rowsFrom, rowsTo := 0, c.dims[c.tile]
	if c.tile == 0 {
		rowsFrom, rowsTo = lo, hi
	}
	for {
		d, s := dst, src
		for k := range inner {
			if k != c.tile {
				d, s = unsafe.Add(d, index[k]*c.dst[k]), unsafe.Add(s, index[k]*c.src[k])
			}
		}
		c.plane(d, s, rowsFrom, rowsTo, apart)
		k := inner - 1
		for ; k >= 0; k-- {
			if k == c.tile {
				continue
			}
			if index[k]++; index[k] < limit[k] {
				break
			}
			index[k] = 0 // axis 0 runs out last, and the loop ends then
		}
		if k < 0 {
			return
		}
	}
}

// shortPlane is the number of rows or columns below which a plane is copied row by row.
const shortPlane = 8

func (c *ndCopy) plane(dst, src unsafe.Pointer, rowsFrom, rowsTo int, apart *transposedBlock) {
	inner := len(c.dims) - 1
	rows, cols, dstRow, srcCol := rowsTo-rowsFrom, c.dims[inner], c.dst[c.tile], c.src[inner]
	switch {
	case rows < shortPlane: // rows of the destination
		for r := rowsFrom; r < rowsTo; r++ {
			gatherElements(unsafe.Add(dst, r*dstRow), unsafe.Add(src, r*c.size), c.size, srcCol, cols)
		}
		return
	case cols <= 4 && dstRow == cols*c.size && c.size <= 8:
		var from [4]unsafe.Pointer
		for q := range cols {
			from[q] = unsafe.Add(src, q*srcCol)
		}
		interleaveFrom(unsafe.Add(dst, rowsFrom*dstRow), from[:cols], c.size, rowsFrom, rows)
		return
	case cols < shortPlane:
		dst, src = unsafe.Add(dst, rowsFrom*dstRow), unsafe.Add(src, rowsFrom*c.size)
		for q := range cols {
			scatterElements(unsafe.Add(dst, q*c.size), unsafe.Add(src, q*srcCol), c.size, dstRow, c.size, rows)
		}
		return
	case c.size == 4 && dstRow > 0 && srcCol > 0:
		transposePlane[float32](unsafe.Add(dst, rowsFrom*dstRow), unsafe.Add(src, rowsFrom*4), rows, cols, dstRow/4, srcCol/4, apart)
		return
	case c.size == 8 && dstRow > 0 && srcCol > 0:
		transposePlane[float64](unsafe.Add(dst, rowsFrom*dstRow), unsafe.Add(src, rowsFrom*8), rows, cols, dstRow/8, srcCol/8, apart)
		return
	case c.size == 2 && !bigEndian && dstRow > 0 && srcCol > 0 && turnsPairs(rows, cols):
		transposePairs(unsafe.Add(dst, rowsFrom*dstRow), unsafe.Add(src, rowsFrom*2), rows, cols, dstRow/2, srcCol/2)
		return
	case c.size <= 2 && !bigEndian:
		transposeParts(unsafe.Add(dst, rowsFrom*dstRow), unsafe.Add(src, rowsFrom*c.size), c.size, rows, cols, dstRow, srcCol)
		return
	}
	switch c.size {
	case 1:
		copyPlane[uint8](c, dst, src, rowsFrom, rowsTo)
	case 2:
		copyPlane[uint16](c, dst, src, rowsFrom, rowsTo)
	case 4:
		copyPlane[uint32](c, dst, src, rowsFrom, rowsTo)
	case 8:
		copyPlane[uint64](c, dst, src, rowsFrom, rowsTo)
	case 16:
		copyPlane[piece16](c, dst, src, rowsFrom, rowsTo)
	default:
		copyPlane[piece32](c, dst, src, rowsFrom, rowsTo)
	}
}

// copyPlane transposes a plane through a small block on the stack. Every cache line of either side is then touched only
// once, even if lines a power of two apart would evict each other from the cache.
func copyPlane[T any](c *ndCopy, dst, src unsafe.Pointer, rowsFrom, rowsTo int) {
	inner := len(c.dims) - 1
	dstRow, srcCol := c.dst[c.tile], c.src[inner]
	var tile [tileSize][tileSize]T
	for q := 0; q < c.dims[inner]; q += tileSize {
		cols := min(tileSize, c.dims[inner]-q)
		for r := rowsFrom; r < rowsTo; r += tileSize {
			rows := min(tileSize, rowsTo-r)
			for j := range cols {
				copy(tile[j][:rows], block.View[T](unsafe.Add(src, r*c.size+(q+j)*srcCol), rows))
			}
			for i := range rows {
				d := block.View[T](unsafe.Add(dst, (r+i)*dstRow+q*c.size), cols)
				for j := range d {
					d[j] = tile[j][i]
				}
			}
		}
	}
}
