package collective

import (
	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/kernels/ir"
)

// plan describes an all-reduce to the algorithms. Chunk c of n is the part of the elements that rank c begins with in
// the ring. Chunk sizes differ by at most one element; for large data by at most one cache line, and all chunks but the
// last end at a line's end.
//
// The order of additions of an element in chunk c is x[c] + x[c+1] + ... + x[c+n-1] (ranks modulo n), whatever the
// transport: so the result has the same bits on all workers and on every run.
type plan struct {
	op     Reduction
	dtype  ir.DType
	narrow bool // float32 travels as bfloat16: sums are rounded before each hop, and at the end
	rank   int
	n      int
	count  int // elements
}

// units returns the size in bytes of the units that chunks consist of, and their number; the last unit may be shorter.
func (p *plan) units() (size, count int) {
	size = p.dtype.Size()
	bytes := p.count * size
	if bytes >= p.n*longPayload {
		size = cacheLine
	}
	return size, (bytes + size - 1) / size
}

const cacheLine = 64 // bytes, a multiple of all elements

// chunk returns the range of bytes of chunk c.
func (p *plan) chunk(c int) (from, to int) {
	size, count := p.units()
	base, more := count/p.n, count%p.n
	first := c*base + min(c, more)
	last := first + base
	if c < more {
		last++
	}
	return first * size, min(last*size, p.count*p.dtype.Size())
}

// chunkOf returns the chunk of the element at a byte offset.
func (p *plan) chunkOf(offset int) int {
	size, count := p.units()
	unit, base, more := offset/size, count/p.n, count%p.n
	if long := more * (base + 1); unit < long {
		return unit / (base + 1)
	} else {
		return more + (unit-long)/base
	}
}

// finish turns a complete sum into the result.
func (p *plan) finish(data []byte) {
	if p.op == Mean {
		numbers.Divide(p.dtype, data, p.n)
	}
	if p.narrow {
		roundBFloat16(numbers.View[float32](data))
	}
}

// segment is one message of the ring: a part of a chunk in one of the 2(n-1) rounds.
type segment struct {
	round int // 0..n-2: reduce-scatter; n-1..2n-3: all-gather
	index int // of the segment in the chunk
}

// ring is the state machine of a pipelined ring all-reduce: reduce-scatter, then all-gather. It holds no data. Each
// worker sends to the next rank and receives from the one before; a segment is sent on as soon as it has been received
// and added, without waiting for the rest of its chunk. Segments may be taken in any order.
type ring struct {
	plan
	segment int // bytes, a multiple of the element size
	sent    int // of the own chunk in round 0
	left    int // segments still to be received
	total   int // segments to be received in all
}

// segmentBytes returns how many bytes of the data a message of about the given size carries, so that it fills whole
// HTTP/2 frames. It is a little more than the size, so that a chunk whose size is a power of two leaves no remainder.
func (p *plan) segmentBytes(size int) int {
	if size >= slotBytes {
		size = (size/slotBytes+1)*slotBytes - prefixBytes - headerSize
		if size >= longPayload {
			size -= longHeader - headerSize
		}
	}
	if p.narrow {
		size *= 2
	}
	return size
}

// lead is the number of segments of the first round that are sent ahead of those received.
const lead = 3

func newRing(p plan, segmentBytes int) *ring {
	r := &ring{plan: p, segment: max(segmentBytes/p.dtype.Size(), 1) * p.dtype.Size()}
	for round := range 2 * (p.n - 1) {
		r.left += r.segments(r.incoming(round))
	}
	r.total = r.left
	return r
}

func modulo(a, n int) int { return ((a % n) + n) % n }

// outgoing and incoming return the chunk that is sent and received in a round.
func (r *ring) outgoing(round int) int {
	if round < r.n-1 {
		return modulo(r.rank-round, r.n)
	}
	return modulo(r.rank+1-(round-(r.n-1)), r.n)
}

func (r *ring) incoming(round int) int {
	if round < r.n-1 {
		return modulo(r.rank-round-1, r.n)
	}
	return modulo(r.rank-(round-(r.n-1)), r.n)
}

func (r *ring) segments(chunk int) int {
	from, to := r.chunk(chunk)
	return (to - from + r.segment - 1) / r.segment
}

// span returns the range of bytes of a segment of a chunk.
func (r *ring) span(chunk, index int) (from, to int) {
	low, high := r.chunk(chunk)
	from = low + index*r.segment
	return from, min(from+r.segment, high)
}

// next returns a segment of this worker's own chunk to send, if one is due.
func (r *ring) next() (segment, bool) {
	if r.sent >= r.segments(r.rank) || r.sent >= (r.total-r.left)/(2*(r.n-1))+lead {
		return segment{}, false
	}
	r.sent++
	return segment{0, r.sent - 1}, true
}

// done reports whether everything has been received.
func (r *ring) done() bool { return r.left == 0 }

// valid reports whether a segment may arrive now.
func (r *ring) valid(s segment) bool {
	return s.round >= 0 && s.round < 2*(r.n-1) && s.index >= 0 && s.index < r.segments(r.incoming(s.round))
}

// accept says what to do with a received segment: where it belongs, whether it is to be added (else copied), whether
// the sum is then complete, and whether to send it on as segment onward.
func (r *ring) accept(s segment) (from, to int, add, complete, forward bool, onward segment) {
	from, to = r.span(r.incoming(s.round), s.index)
	add = s.round < r.n-1
	complete = s.round == r.n-2
	forward = s.round+1 < 2*(r.n-1)
	r.left--
	return from, to, add, complete, forward, segment{s.round + 1, s.index}
}
