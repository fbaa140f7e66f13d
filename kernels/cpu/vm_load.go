package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"unsafe"
)

// vmLoad fills a register with what an operand's access pattern yields for a block.
type vmLoad struct {
	o       plan.Operand
	size    int
	ptr     uint8
	dims    []int
	strides []int // in bytes
	period  int   // length of a piece that repeats itself count times before the next one, 0 without
	count   int
}

// fill writes the elements [first, first+n) of the pattern.
func (l *vmLoad) fill(dst unsafe.Pointer, first, n int) {
	if len(l.dims) == 0 {
		fillElement(dst, l.o.Ptr(), l.size, n)
		return
	}
	for n > 0 && l.period > 0 {
		m := min(n, l.period*l.count-first%(l.period*l.count)) // up to the next piece
		if l.period == 1 {
			fillElement(dst, unsafe.Add(l.o.Ptr(), l.offset(first)), l.size, m)
		} else {
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

// holds reports whether the register still has what a block of n elements from first on needs, since the block before,
// of the given full length, was part of the same repetitions.
func (l *vmLoad) holds(first, n, block int) bool {
	if l.period == 0 || block%l.period != 0 {
		return false
	}
	piece := l.period * l.count
	return (first-block)/piece == (first+n-1)/piece
}

// offset is where element i of the pattern lies, in bytes.
func (l *vmLoad) offset(i int) (at int) {
	for d := len(l.dims) - 1; d >= 0; d-- {
		at += i % l.dims[d] * l.strides[d]
		i /= l.dims[d]
	}
	return at
}

// walk is fill without regard to repetitions.
func (l *vmLoad) walk(dst unsafe.Pointer, first, n int) {
	src := l.o.Ptr()
	last := len(l.dims) - 1
	run, stride := l.dims[last], l.strides[last]
	for n > 0 {
		// The coordinates of first give the address; then the innermost axis is followed to its end.
		at, rest := first%run, first/run
		from := unsafe.Add(src, at*stride)
		for d := last - 1; d >= 0; d-- {
			from = unsafe.Add(from, rest%l.dims[d]*l.strides[d])
			rest /= l.dims[d]
		}
		m := min(run-at, n)
		switch stride {
		case l.size:
			copy(plan.BytesAt(dst, m*l.size), plan.BytesAt(from, m*l.size))
		case 0:
			fillElement(dst, from, l.size, m)
		default:
			gatherElements(dst, from, l.size, stride, m)
		}
		if n -= m; n > 0 {
			dst = unsafe.Add(dst, m*l.size)
		}
		first += m
	}
}

// repeatElements fills the rest of dst with copies of its first bytes.
func repeatElements(dst []byte, bytes int) {
	for n := bytes; n < len(dst); {
		n += copy(dst[n:], dst[:n])
	}
}
