package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
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
		l.walk(dst, first, min(m, l.period))
		repeatElements(plan.BytesAt(dst, m*l.size), l.period*l.size)
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

// fillElement repeats the element at src n times.
func fillElement(dst, src unsafe.Pointer, size, n int) {
	switch size {
	case 1:
		fillWith(block.View[uint8](dst, n), *(*uint8)(src))
	case 2:
		fillWith(block.View[uint16](dst, n), *(*uint16)(src))
	case 4:
		fillWith(block.View[uint32](dst, n), *(*uint32)(src))
	case 8:
		fillWith(block.View[uint64](dst, n), *(*uint64)(src))
	case 16:
		fillWith(block.View[words2](dst, n), *(*words2)(src))
	default:
		fillWith(block.View[words4](dst, n), *(*words4)(src))
	}
}

// fillWith repeats v. Beyond the first elements, copies of what is there already are faster than single stores.
func fillWith[T any](dst []T, v T) {
	first := min(len(dst), 32)
	for i := range first {
		dst[i] = v
	}
	for n := first; n < len(dst); {
		n += copy(dst[n:], dst[:n])
	}
}

// gatherElements copies n elements that lie stride bytes apart.
func gatherElements(dst, src unsafe.Pointer, size, stride, n int) {
	switch size {
	case 1:
		gatherStrided[uint8](dst, src, stride, n)
	case 2:
		gatherStrided[uint16](dst, src, stride, n)
	case 4:
		gatherStrided[uint32](dst, src, stride, n)
	case 8:
		gatherStrided[uint64](dst, src, stride, n)
	case 16:
		gatherStrided[words2](dst, src, stride, n)
	default:
		gatherStrided[words4](dst, src, stride, n)
	}
}

func gatherStrided[T any](dst, src unsafe.Pointer, stride, n int) {
	d := block.View[T](dst, n)
	for i := range d {
		d[i] = *(*T)(unsafe.Add(src, i*stride))
	}
}
