package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// Broadcasts along axes that are not the innermost one: what is repeated is put together once, and copied from there,
// where it lies in one piece.

// mostRepeated is how many bytes are copied from what was just written, as long as that is in the second-level cache.
const mostRepeated = 256 << 10

// shortRun and manyRuns say which blocks in one piece on both sides are put together from copies too: short ones that
// are repeated often, which otherwise are copied one by one.
const (
	shortRun = 64 // bytes
	manyRuns = 8
)

// findRepeated looks for the outermost axis along which a block in one piece is repeated, that consists of several, or
// is short.
func (c *ndCopy) findRepeated() {
	last := len(c.dims) - 1
	bytes := c.size
	for k := last; k > 0 && c.dst[k] == bytes; k-- {
		bytes *= c.dims[k]
		if bytes == 0 || bytes > mostRepeated {
			return
		}
		run := k == last && c.src[k] == c.size && !(bytes < shortRun && c.dims[k-1] >= manyRuns)
		if a := k - 1; c.src[a] == 0 && c.dst[a] == bytes && !run {
			c.repeated = a
			c.block = &ndCopy{size: c.size, dims: c.dims[k:], dst: c.dst[k:], src: c.src[k:]}
		}
	}
	if c.block != nil {
		c.block.findTile()
		c.block.findRepeated()
	}
}

// runRepeated is run where there is a block.
func (c *ndCopy) runRepeated(dst, src unsafe.Pointer, lo, hi int) {
	bytes := c.dst[c.repeated]
	most := max(fillPiece/bytes, 1) * bytes
	write := func(dst, src unsafe.Pointer, n int) {
		c.block.run(dst, src, 0, c.block.dims[0])
		for have := bytes; have < n*bytes; { // copies of all that is there, up to some
			piece := min(have, most, n*bytes-have)
			copy(plan.BytesAt(unsafe.Add(dst, have), piece), plan.BytesAt(dst, piece))
			have += piece
		}
	}
	dst, src = unsafe.Add(dst, lo*c.dst[0]), unsafe.Add(src, lo*c.src[0])
	if c.repeated == 0 {
		write(dst, src, hi-lo)
		return
	}
	var o odometer
	o.n = copy(o.dims[:], c.dims[:c.repeated])
	copy(o.dst[:], c.dst)
	copy(o.src[:], c.src)
	o.dims[0] = hi - lo
	for more := true; more; more = o.next() {
		write(unsafe.Add(dst, o.to), unsafe.Add(src, o.from), c.dims[c.repeated])
	}
}
