package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// Broadcasts along axes that are not the innermost one: what is repeated is put together once, and copied from there,
// where it lies in one piece.

// mostRepeated is how many bytes are copied from what was just written, as long as that is in the second-level cache.
const mostRepeated = 256 << 10

// findRepeated looks for the outermost axis along which a block in one piece is repeated, that consists of several.
func (c *ndCopy) findRepeated() {
	last := len(c.dims) - 1
	bytes := c.size
	for k := last; k > 0 && c.dst[k] == bytes; k-- {
		bytes *= c.dims[k]
		if bytes > mostRepeated {
			return
		}
		if a := k - 1; c.src[a] == 0 && c.dst[a] == bytes && !(k == last && c.src[k] == c.size) {
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
	write := func(dst, src unsafe.Pointer, n int) {
		c.block.run(dst, src, 0, c.block.dims[0])
		for i := 1; i < n; i++ {
			copy(plan.BytesAt(unsafe.Add(dst, i*bytes), bytes), plan.BytesAt(dst, bytes))
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
