package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// How a copy whose outermost axis is contiguous in the source, while the innermost one is not, is divided among
// workers. Chunks of a few indices of the outermost axis would each take a part of every line of the source. They have
// a whole line of it, where it has so many; else another axis is the outermost one, or chunks have columns.

const (
	lineBytes   = 64
	leastChunks = 8 // of a line each
)

// line is how many elements of the source a cache line has.
func (c *ndCopy) line() int { return max(lineBytes/c.size, 1) }

// cutsLines reports whether chunks of so many indices of the outermost axis take parts of lines.
func (c *ndCopy) cutsLines(chunk int) bool {
	return c.tile == 0 && c.block == nil && c.groups == nil && c.boxes == nil && c.places == nil && chunk < min(c.line(), c.dims[0])
}

// longestBetween is the longest axis between the outermost and the innermost one, if that is long enough for chunks of
// its own; 0 for none.
func (c *ndCopy) longestBetween() (longest int) {
	for k := 1; k < len(c.dims)-1; k++ {
		if n := c.dims[k]; n >= leastChunks && (longest == 0 || n > c.dims[longest]) {
			longest = k
		}
	}
	return longest
}

// exchanged is the same copy with another axis as the outermost one.
func (c *ndCopy) exchanged(k int) *ndCopy {
	e := *c
	e.dims, e.dst, e.src = slices.Clone(c.dims), slices.Clone(c.dst), slices.Clone(c.src)
	for _, list := range [][]int{e.dims, e.dst, e.src} {
		list[0], list[k] = list[k], list[0]
	}
	if e.tile == 0 {
		e.tile = k
	}
	return &e
}

// moveColumns copies in chunks of the innermost axis, as many elements as fill lines of the destination.
func (b *build) moveColumns(c *ndCopy, dst, src *plan.Operand, dstOff, srcOff int) func() {
	last := len(c.dims) - 1
	columns := c.dims[last]
	piece := (grain(c.elements()/columns/2) + lineBytes - 1) / lineBytes * lineBytes
	part, rest := *c, *c
	part.dims, rest.dims = slices.Clone(c.dims), slices.Clone(c.dims)
	part.dims[last], rest.dims[last] = piece, (columns-1)%piece+1
	pieces := (columns + piece - 1) / piece
	return b.rt().parallel(pieces, 1, func(_ *worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			p := &part
			if i == pieces-1 {
				p = &rest
			}
			p.run(unsafe.Add(dst.Ptr(), dstOff+i*piece*c.dst[last]), unsafe.Add(src.Ptr(), srcOff+i*piece*c.src[last]), 0, c.dims[0])
		}
	})
}
