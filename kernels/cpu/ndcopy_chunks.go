package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// How workers share a copy if the outermost axis is contiguous in the source and the innermost one is not. Chunks of a
// few indices of the outermost axis would each read part of every cache line of the source. Chunks therefore have a
// whole line if there are enough lines. Otherwise another axis becomes the outermost one, or chunks are ranges of
// columns.

const (
	lineBytes   = 64
	leastChunks = 8 // of a line each
)

// line returns how many elements of the source a cache line has.
func (c *ndCopy) line() int { return max(lineBytes/c.size, 1) }

// cutsLines reports whether chunks of the given number of outermost indices read parts of lines.
func (c *ndCopy) cutsLines(chunk int) bool {
	return c.tile == 0 && c.block == nil && c.groups == nil && c.boxes == nil && c.places == nil && chunk < min(c.line(), c.dims[0])
}

// longestBetween returns the longest axis between the outermost and the innermost one, provided that it is long enough
// to be cut into chunks, else 0.
func (c *ndCopy) longestBetween() (longest int) {
	for k := 1; k < len(c.dims)-1; k++ {
		if n := c.dims[k]; n >= leastChunks && (longest == 0 || n > c.dims[longest]) {
			longest = k
		}
	}
	return longest
}

// exchanged returns the same copy with axis k as the outermost one.
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

// moveColumns copies in chunks along the innermost axis. Each chunk fills whole lines of the destination.
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
