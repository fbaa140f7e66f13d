package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// These are broadcasts along axes other than the innermost one. The block that is repeated is assembled once in the
// destination and then copied from there, where it is contiguous.

// mostRepeated limits the bytes of a block, so that it is still in the second-level cache of most processors when it is
// copied.
const mostRepeated = 512 << 10

// Blocks that are contiguous on both sides are also assembled from copies if they have less than shortRun bytes and are
// repeated at least manyRuns times. Otherwise they are copied one by one.
const (
	shortRun = 64 // bytes
	manyRuns = 8
)

// findRepeated looks for the outermost axis along which a contiguous block of the destination is repeated. The block
// must consist of several pieces, or be short.
func (c *ndCopy) findRepeated() {
	last := len(c.dims) - 1
	bytes := c.size
	for k := last; k > 0 && c.dst[k] == bytes; k-- {
		bytes *= c.dims[k]
		if bytes == 0 || bytes > mostRepeated {
			break // what was found further inside is used
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
		c.block.findGroups()
		c.block.findBoxes()
		c.findBatch()
	}
}

// Small blocks that are repeated a few times are assembled many at a time, outside the result.
const (
	batchBytes = 4 << 10
	leastBatch = 4 // blocks
	fewRepeats = 16
)

// findBatch looks for a batch of blocks, from several indices of the axis before the repeated one.
func (c *ndCopy) findBatch() {
	a, bytes := c.repeated-1, c.dst[c.repeated]
	if a < 0 || bytes < leastRow || bytes > mostRow || c.dims[c.repeated] > fewRepeats || c.dims[a] < leastBatch {
		return
	}
	n := min(c.dims[a], batchBytes/bytes)
	c.batch, c.together = newCopy(c.size, append([]int{n}, c.block.dims...), append([]int{bytes}, c.block.dst...), append([]int{c.src[a]}, c.block.src...)), n
}

// runBatches is run with a batch.
func (c *ndCopy) runBatches(dst, src unsafe.Pointer, lo, hi int) {
	var o odometer
	memory := batches.Get()
	pieces := unsafe.Pointer(memory)
	a, bytes := c.repeated-1, c.dst[c.repeated]
	per := c.batch.dims[0] / c.together // indices of its first axis for each block
	dst, src = unsafe.Add(dst, lo*c.dst[0]), unsafe.Add(src, lo*c.src[0])
	o.n = copy(o.dims[:], c.dims[:a])
	copy(o.dst[:], c.dst)
	copy(o.src[:], c.src)
	n := c.dims[a]
	if a == 0 {
		n = hi - lo
	} else {
		o.dims[0] = hi - lo
	}
	for more := true; more; more = o.next() {
		for first := 0; first < n; first += c.together {
			m := min(c.together, n-first)
			c.batch.run(pieces, unsafe.Add(src, o.from+first*c.src[a]), 0, m*per)
			for i := range c.dims[c.repeated] {
				copyRows(unsafe.Add(dst, o.to+first*c.dst[a]+i*bytes), pieces, m, bytes, c.dst[a], bytes)
			}
		}
	}
	batches.Put(memory)
}

// batches recycles the memory in which batches are assembled.
var batches pool.Recycler[[batchBytes]byte]

// findGroups looks for groups of a few bytes, contiguous on both sides, each of which is repeated.
func (c *ndCopy) findGroups() {
	k, bytes := len(c.dims)-1, c.size
	if k > 0 && c.src[k] == bytes && c.dst[k] == bytes {
		bytes *= c.dims[k]
		k--
	}
	if c.block != nil || c.tile >= 0 || k < 1 || c.src[k] != 0 || c.dst[k] != bytes || c.src[k-1] != bytes || c.dst[k-1] != bytes*c.dims[k] {
		return
	}
	if c.groups = vec.NewRepeats(bytes, c.dims[k]); c.groups != nil {
		c.inside = &ndCopy{size: c.size, dims: c.dims[k-1:], dst: c.dst[k-1:], src: c.src[k-1:], tile: -1}
	}
}

// runRepeated is run with a block.
func (c *ndCopy) runRepeated(dst, src unsafe.Pointer, lo, hi int) {
	if c.batch != nil {
		c.runBatches(dst, src, lo, hi)
		return
	}
	bytes := c.dst[c.repeated]
	most := max(fillPiece/bytes, 1) * bytes
	write := func(dst, src unsafe.Pointer, n int) {
		c.block.run(dst, src, 0, c.block.dims[0])
		for have := bytes; have < n*bytes; { // copies everything that is there so far, up to a limit
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
