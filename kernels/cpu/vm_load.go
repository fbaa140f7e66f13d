package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
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
	repeats *vec.Repeats // of single elements, each count times; nil for none
}

// fill writes the elements [first, first+n) of the pattern.
func (l *vmLoad) fill(dst unsafe.Pointer, first, n int) {
	if len(l.dims) == 0 {
		fillElement(dst, l.o.Ptr(), l.size, n)
		return
	}
	if l.period == 1 && len(l.dims) == 2 {
		if l.repeats != nil {
			l.fillRepeats(dst, first, n)
			return
		}
		switch {
		case l.size == 4:
			l.fillRows(dst, first, n)
			return
		case l.count >= shortRow:
		case l.size == 1:
			fillShortRows[uint8](l, dst, first, n)
			return
		case l.size == 2:
			fillShortRows[uint16](l, dst, first, n)
			return
		case l.size == 8:
			fillShortRows[uint64](l, dst, first, n)
			return
		}
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

// fillRepeats is fill for elements that lie side by side, each of which is repeated.
func (l *vmLoad) fillRepeats(dst unsafe.Pointer, first, n int) {
	row, at := first/l.count, first%l.count
	src := unsafe.Add(l.o.Ptr(), row*l.size)
	if at > 0 { // the rest of a row
		m := min(n, l.count-at)
		fillElement(dst, src, l.size, m)
		if n -= m; n == 0 {
			return
		}
		dst, src = unsafe.Add(dst, m*l.size), unsafe.Add(src, l.size)
	}
	for done := l.repeats.Run(dst, src, n/l.count); done*l.count < n; done++ {
		fillElement(unsafe.Add(dst, done*l.count*l.size), unsafe.Add(src, done*l.size), l.size, min(l.count, n-done*l.count))
	}
}

// shortRow is the length of rows from which on a call for each of them pays.
const shortRow = 64

// fillShortRows is fill for rows of one number each, which are short.
func fillShortRows[T any](l *vmLoad, dst unsafe.Pointer, first, n int) {
	row, at := first/l.count, first%l.count
	for y := block.View[T](dst, n); len(y) > 0; row++ {
		v, m := *(*T)(unsafe.Add(l.o.Ptr(), row*l.strides[0])), min(l.count-at, len(y))
		for i := range y[:m] {
			y[i] = v
		}
		y, at = y[m:], 0
	}
}

// fillRows is fill for rows of one number each.
func (l *vmLoad) fillRows(dst unsafe.Pointer, first, n int) {
	row, at := first/l.count, first%l.count
	src := unsafe.Add(l.o.Ptr(), row*l.strides[0])
	if at > 0 { // the rest of a row
		m := min(n, l.count-at)
		fillElement(dst, src, 4, m)
		if n -= m; n == 0 {
			return
		}
		dst, src = unsafe.Add(dst, 4*m), unsafe.Add(src, l.strides[0])
	}
	whole := n / l.count
	vec.FillRows(block.View[uint32](dst, whole*l.count), src, l.count, l.strides[0])
	if n -= whole * l.count; n > 0 {
		fillElement(unsafe.Add(dst, 4*whole*l.count), unsafe.Add(src, whole*l.strides[0]), 4, n)
	}
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
	// The coordinates of first give the address; then the innermost axis is followed to its end, and so on.
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
		from, m := unsafe.Add(src, row+at*stride), min(run-at, n)
		switch stride {
		case l.size:
			copy(plan.BytesAt(dst, m*l.size), plan.BytesAt(from, m*l.size))
		case 0:
			fillElement(dst, from, l.size, m)
		default:
			gatherElements(dst, from, l.size, stride, m)
		}
		if n -= m; n == 0 {
			return
		}
		dst = unsafe.Add(dst, m*l.size)
		for d := last - 1; d >= 0; d-- {
			row += l.strides[d]
			if index[d]++; index[d] < l.dims[d] {
				break
			}
			row -= l.dims[d] * l.strides[d]
			index[d] = 0
		}
	}
}

// repeatElements fills the rest of dst with copies of its first bytes.
func repeatElements(dst []byte, bytes int) {
	for n := bytes; n < len(dst); {
		n += copy(dst[n:], dst[:n])
	}
}
