package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// Paddings. The result is written once, from beginning to end. The space around the elements is filled just before or
// after these are copied, while the memory nearby is in the cache.

// padPiece is how many bytes of a padding's result are finished at a time.
const padPiece = 16 << 10

// padded returns a function that fills a result with a value, except for the box of elements that c copies. The box
// begins to bytes into the result, its source from bytes into the operand.
func (b *build) padded(c *ndCopy, out, in, value *plan.Operand, to, from int) (func(), error) {
	if len(c.dims) > maxAxes {
		return nil, b.unsupported("moves data along %d axes; at most %d are supported", len(c.dims), maxAxes)
	}
	size := out.Typ.DType.Size()
	if c.elements() == 0 || out.N == 0 {
		return b.rt().parallel(out.N, 2*chunkWork, func(_ *worker, lo, hi int) {
			fillElement(unsafe.Add(out.Ptr(), lo*size), value.Ptr(), size, hi-lo)
		}), nil
	}
	n, whole := c.dims[0], c.dst[0]
	piece := min(max(padPiece/whole, 1), n)
	rows := c.inOrder()
	return b.rt().parallel((n+piece-1)/piece, grain(piece*whole/8), func(_ *worker, lo, hi int) {
		fill := func(first, end int) {
			if first < end {
				fillElement(unsafe.Add(out.Ptr(), first), value.Ptr(), size, (end-first)/size)
			}
		}
		for first := lo * piece; first < min(hi*piece, n); first += piece {
			last := min(first+piece, n)
			begin, end := to+first*whole, to+last*whole
			if first == 0 {
				fill(0, to)
			}
			if last == n {
				end = out.N * size
			}
			if rows {
				c.runFilling(out.Ptr(), unsafe.Add(in.Ptr(), from), begin, end, first, last, fill)
				continue
			}
			fill(begin, end)
			c.run(unsafe.Add(out.Ptr(), to), unsafe.Add(in.Ptr(), from), first, last)
		}
	}), nil
}

// paddedRow is the least size in bytes of a row that is worth a copy of its own. Shorter rows are faster together,
// after everything has been filled.
const paddedRow = 512

// inOrder reports whether the elements are rows without gaps that are long enough to be copied one by one.
func (c *ndCopy) inOrder() bool {
	last := len(c.dims) - 1
	return c.src[last] == c.size && c.dst[last] == c.size && c.dims[last]*c.size >= paddedRow
}

// runFilling copies the rows of outermost indices [lo, hi). The first one goes to offset begin. Behind each row it
// fills the gap up to the next row or to end. Rows that are equally far apart are copied together, and so are the gaps
// between them.
func (c *ndCopy) runFilling(dst, src unsafe.Pointer, begin, end, lo, hi int, fill func(first, end int)) {
	last := len(c.dims) - 1
	src = unsafe.Add(src, lo*c.src[0])
	bytes := c.dims[last] * c.size
	if last == 0 {
		bytes = (hi - lo) * c.size
		copyRows(unsafe.Add(dst, begin), src, 1, bytes, 0, 0)
		fill(begin+bytes, end)
		return
	}
	rows, to, from := c.dims[last-1], c.dst[last-1], c.src[last-1]
	var o odometer
	if last == 1 {
		rows = hi - lo
	} else {
		o.n = copy(o.dims[:], c.dims[:last-1])
		copy(o.dst[:], c.dst)
		copy(o.src[:], c.src)
		o.dims[0] = hi - lo
	}
	at, of := begin, 0
	for more := true; more; {
		copyRows(unsafe.Add(dst, at), unsafe.Add(src, of), rows, bytes, to, from)
		if gap := to - bytes; gap >= leastRow && rows > 2 {
			fill(at+bytes, at+to)
			copyRows(unsafe.Add(dst, at+to+bytes), unsafe.Add(dst, at+bytes), rows-2, gap, to, 0)
		} else {
			for k := range rows - 1 {
				fill(at+k*to+bytes, at+(k+1)*to)
			}
		}
		next := end
		if more = o.n > 0 && o.next(); more {
			next = begin + o.to
		}
		fill(at+(rows-1)*to+bytes, next)
		at, of = next, o.from
	}
}
