package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Copies whose innermost axes form boxes of a few bytes: reversed rows of colours, small transposed planes, parts of
// short rows. Vectors rearrange the boxes of one axis.

// Boxes of at least leastWholeBox bytes without gaps on both sides are copied as rows. An axis is worth a call if its
// boxes have at least leastBoxes bytes together. Up to manyBoxes bytes, larger boxes that include the next axis save
// calls.
const (
	leastWholeBox = 32
	leastBoxes    = 512
	manyBoxes     = 4096
)

// Pieces of more than mostWhole bytes that are contiguous on both sides are copied as rows, in 0.5 to 0.8 of the time,
// if the pieces of one axis have at least leastInRows bytes together.
const (
	mostWhole   = 64
	leastInRows = 384
)

// inRows reports whether the copy consists of such pieces, of the given bytes each, along the axes from k on.
func (c *ndCopy) inRows(k, bytes int) bool {
	rows := 0
	for a := max(k-2, 0); a < k; a++ { // the axes that [ndCopy.run] may follow
		rows = max(rows, c.dims[a])
	}
	return bytes > mostWhole && rows*bytes >= leastInRows
}

// longBackwards reports whether the copy reverses rows that are long enough to be reversed one by one, which takes 0.75
// to 0.85 of the time. They must consist of whole vectors, or have few elements beyond these.
func (c *ndCopy) longBackwards() bool {
	k := len(c.dims) - 1
	bytes := c.dims[k] * c.size
	return c.dst[k] == c.size && c.src[k] == -c.size && c.size >= 2 && c.size <= 8 && (bytes >= 512 && bytes%64 == 0 || bytes >= 800)
}

// inPieces reports whether the copy consists of many pieces of 32 bytes in a row. Without the lookups of boxes these
// take two thirds of the time.
func (c *ndCopy) inPieces() bool {
	other, n := 0, c.dims[len(c.dims)-1]
	if c.tile >= 0 {
		other = c.dims[c.tile]
	}
	return c.size == 32 && min(n, other) < shortPlane && max(n, other) >= shortPlane
}

// findBoxes looks for boxes of a few bytes.
func (c *ndCopy) findBoxes() {
	bytes, whole := c.size, true
	if c.block != nil || c.groups != nil || c.longBackwards() || c.inPieces() {
		return
	}
	for k := len(c.dims) - 1; k > 0 && c.dst[k] == bytes; k-- {
		whole = whole && c.src[k] == bytes
		bytes *= c.dims[k]
		if whole && c.inRows(k, bytes) {
			return
		}
		a := k - 1
		if c.dst[a] != bytes || whole && bytes >= leastWholeBox || bytes*c.dims[a] < leastBoxes {
			continue
		}
		box := &ndCopy{size: c.size, dims: c.dims[k:], dst: c.dst[k:], src: c.src[k:]}
		if r := vec.NewRearranged(bytes, c.src[a], box.source); r != nil {
			c.boxes, c.inside = r, &ndCopy{size: c.size, dims: c.dims[a:], dst: c.dst[a:], src: c.src[a:], tile: -1}
			if bytes*c.dims[a] >= manyBoxes {
				return
			}
		}
	}
}

// source returns the offset in the source of byte i of the destination, which has no gaps.
func (c *ndCopy) source(i int) int {
	from := i % c.size
	i /= c.size
	for k := len(c.dims) - 1; k >= 0; k-- {
		from += i % c.dims[k] * c.src[k]
		i /= c.dims[k]
	}
	return from
}

// hasGaps reports whether the destination has gaps, or is not written from beginning to end.
func (c *ndCopy) hasGaps() bool {
	for k := range c.dims[1:] {
		if c.dst[k] != c.dims[k+1]*c.dst[k+1] {
			return true
		}
	}
	return false
}

// runInside is run with groups or boxes.
func (c *ndCopy) runInside(dst, src unsafe.Pointer, lo, hi int) {
	var o odometer
	dst, src = unsafe.Add(dst, lo*c.dst[0]), unsafe.Add(src, lo*c.src[0])
	n := c.inside.dims[0]
	o.n = copy(o.dims[:], c.dims[:len(c.dims)-len(c.inside.dims)])
	copy(o.dst[:], c.dst)
	copy(o.src[:], c.src)
	if o.n == 0 {
		n = hi - lo
	} else {
		o.dims[0] = hi - lo
	}
	bytes, gaps := n*c.inside.dst[0], c.hasGaps()
	for more := true; more; more = o.next() {
		d, s := unsafe.Add(dst, o.to), unsafe.Add(src, o.from)
		first, done := 0, 0
		if c.groups != nil {
			done = c.groups.Run(d, s, n)
		} else {
			room := 0
			if !gaps { // what lies beyond is written later
				room = (hi-lo)*c.dst[0] - o.to - bytes
			}
			first, done = c.boxes.Run(d, s, n, room)
		}
		if first > 0 {
			c.inside.run(d, s, 0, first)
		}
		if done < n {
			c.inside.run(d, s, done, n)
		}
	}
}
