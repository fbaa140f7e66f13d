package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// vmLoad fills a register with the elements that an access pattern reads for a block.
type vmLoad struct {
	o       plan.Operand
	size    int
	ptr     uint8
	dims    []int
	strides []int // in bytes
	period  int   // length of a piece that repeats count times before the next one, 0 without repetitions
	count   int
	repeats *vec.Repeats // of elements along the innermost axis, or of whole pieces; nil for none
	pieces  bool         // whether pieces are the innermost axis and repeat along the next one
}

// findRepeats looks for contiguous elements or pieces that are repeated a few times each.
func (l *vmLoad) findRepeats() {
	n := len(l.dims)
	l.pieces = n > 2 && l.strides[n-1] == l.size && l.strides[n-2] == 0 && l.period == l.dims[n-1] && l.count == l.dims[n-2]
	if n > 1 && l.strides[n-1] == 0 && l.strides[n-2] == l.size && l.dims[n-1]*l.size <= 64 && !(l.size == 4 && l.dims[n-1] == 16) {
		l.repeats = vec.NewRepeats(l.size, l.dims[n-1])
	} else if l.pieces && l.strides[n-3] == l.period*l.size {
		l.repeats = vec.NewRepeats(l.period*l.size, l.count)
	}
}

// fill writes the elements [first, first+n) of the pattern.
func (l *vmLoad) fill(dst unsafe.Pointer, first, n int) {
	if len(l.dims) == 0 {
		fillElement(dst, l.o.Ptr(), l.size, n)
		return
	}
	for piece := l.period * l.count; n > 0 && l.period > 1; {
		m := l.wholePieces(dst, first, n) * piece
		if m == 0 { // up to the next piece
			m = min(n, piece-first%piece)
			l.walk(dst, first, min(m, l.period))
			repeatElements(plan.BytesAt(dst, m*l.size), l.period*l.size)
		}
		if n -= m; n > 0 {
			dst = unsafe.Add(dst, m*l.size)
		}
		first += m
	}
	l.walk(dst, first, n)
}

// fewPieces is the largest number of repetitions that are copied one by one.
const fewPieces = 16

// wholePieces fills whole pieces as long as they are the same distance apart, and returns how many it filled.
func (l *vmLoad) wholePieces(dst unsafe.Pointer, first, n int) int {
	k, piece, bytes := len(l.dims)-3, l.period*l.count, l.period*l.size
	if !l.pieces || first%piece != 0 || n < piece {
		return 0
	}
	src := unsafe.Add(l.o.Ptr(), l.offset(first))
	n = min(n/piece, l.dims[k]-first/piece%l.dims[k])
	switch {
	case l.repeats != nil:
		return l.repeats.Run(dst, src, n)
	case bytes > mostRow || l.count > fewPieces: // walk doubles its copies, which is faster for these
		return 0
	}
	for i := range n {
		moveRows(unsafe.Add(dst, i*l.count*bytes), unsafe.Add(src, i*l.strides[k]), l.count, bytes, bytes, 0)
	}
	return n
}

// holds reports whether the register still has what the block of n elements from first needs, because the block before,
// of the given full length, lay in the same repetitions.
func (l *vmLoad) holds(first, n, block int) bool {
	if l.period == 0 || block%l.period != 0 {
		return false
	}
	piece := l.period * l.count
	return (first-block)/piece == (first+n-1)/piece
}

// offset returns the offset of element i of the pattern, in bytes.
func (l *vmLoad) offset(i int) (at int) {
	for d := len(l.dims) - 1; d >= 0; d-- {
		at += i % l.dims[d] * l.strides[d]
		i /= l.dims[d]
	}
	return at
}

// walk is fill for patterns whose only repetitions are of single elements.
func (l *vmLoad) walk(dst unsafe.Pointer, first, n int) {
	// The coordinates of first give the address. From there it follows the innermost axis to its end, and so on.
	last := len(l.dims) - 1
	run, stride := l.dims[last], l.strides[last]
	var index [maxAxes]int
	at, rest, row := first%run, first/run, 0
	for d := last - 1; d >= 0; d-- {
		index[d] = rest % l.dims[d]
		row += index[d] * l.strides[d]
		rest /= l.dims[d]
	}
	for src := l.o.Ptr(); n > 0; at = 0 {
		from, rows, m := unsafe.Add(src, row+at*stride), 1, min(run-at, n)
		if whole := n / run; at > 0 || whole < 2 || last == 0 || index[last-1]+1 == l.dims[last-1] {
			l.row(dst, from, m)
		} else {
			rows = min(whole, l.dims[last-1]-index[last-1])
			l.rows(dst, from, rows)
			m *= rows
		}
		if n -= m; n == 0 {
			return
		}
		dst = unsafe.Add(dst, m*l.size)
		for d := last - 1; d >= 0; d-- {
			row += rows * l.strides[d]
			if index[d] += rows; index[d] < l.dims[d] {
				break
			}
			row -= l.dims[d] * l.strides[d]
			index[d], rows = 0, 1
		}
	}
}

// row fills part of a row of the innermost axis.
func (l *vmLoad) row(dst, src unsafe.Pointer, n int) {
	switch stride := l.strides[len(l.dims)-1]; stride {
	case l.size:
		copy(plan.BytesAt(dst, n*l.size), plan.BytesAt(src, n*l.size))
	case 0:
		fillElement(dst, src, l.size, n)
	default:
		gatherElements(dst, src, l.size, stride, n)
	}
}

// rows fills n whole rows of the innermost axis, which are neighbours along the next axis.
func (l *vmLoad) rows(dst, src unsafe.Pointer, n int) {
	last := len(l.dims) - 1
	run, from := l.dims[last], l.strides[last-1]
	bytes := run * l.size
	switch {
	case l.strides[last] == 0:
		l.fillRows(dst, src, n)
		return
	case l.strides[last] == l.size && bytes <= mostRow:
		moveRows(dst, src, n, bytes, bytes, from)
		return
	}
	for i := range n {
		l.row(unsafe.Add(dst, i*bytes), unsafe.Add(src, i*from), run)
	}
}

// fillRows is rows for rows that each repeat one number.
func (l *vmLoad) fillRows(dst, src unsafe.Pointer, n int) {
	last := len(l.dims) - 1
	run, from := l.dims[last], l.strides[last-1]
	bytes, done := run*l.size, 0
	if l.repeats != nil {
		done = l.repeats.Run(dst, src, n)
	}
	if done == n {
		return
	}
	dst, src, n = unsafe.Add(dst, done*bytes), unsafe.Add(src, done*from), n-done
	switch {
	case l.size == 4:
		vec.FillRows(block.View[uint32](dst, n*run), src, run, from)
	case bytes >= 8 && bytes <= fillPiece:
		fillShort(dst, src, l.size, n, bytes, bytes, from)
	case l.size == 1:
		fillShortRows[uint8](dst, src, n, run, from)
	case l.size == 2:
		fillShortRows[uint16](dst, src, n, run, from)
	default:
		for i := range n {
			fillElement(unsafe.Add(dst, i*bytes), unsafe.Add(src, i*from), l.size, run)
		}
	}
}

// fillShortRows fills rows of a few elements.
func fillShortRows[T any](dst, src unsafe.Pointer, n, run, from int) {
	y := block.View[T](dst, n*run)
	for i := range n {
		v := *(*T)(unsafe.Add(src, i*from))
		for j := range y[:run] {
			y[j] = v
		}
		y = y[run:]
	}
}

// repeatElements fills the rest of dst with copies of its first bytes.
func repeatElements(dst []byte, bytes int) {
	for n := bytes; n < len(dst); {
		n += copy(dst[n:], dst[:n])
	}
}
