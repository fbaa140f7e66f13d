package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Loops over a few elements at a time, where a call for each row or a store for each element would take longer than the
// memory.

// Rows of this many bytes are copied by [copyRows] where there are several.
const (
	leastRow = 32
	mostRow  = 1024
)

// copyRows copies n rows of leastRow bytes or more that lie to bytes apart, from rows that lie from bytes apart.
func copyRows(dst, src unsafe.Pointer, n, bytes, to, from int) {
	if bytes == 64 {
		for range n {
			v, w := *(*words4)(src), *(*words4)(unsafe.Add(src, 32))
			*(*words4)(dst), *(*words4)(unsafe.Add(dst, 32)) = v, w
			dst, src = unsafe.Add(dst, to), unsafe.Add(src, from)
		}
		return
	}
	if bytes > 256 {
		for range n {
			copy(plan.BytesAt(dst, bytes), plan.BytesAt(src, bytes))
			dst, src = unsafe.Add(dst, to), unsafe.Add(src, from)
		}
		return
	}
	last := bytes - 32 // the last piece may overlap the one before
	for range n {
		for at := 0; at < last; at += 32 {
			v := *(*words4)(unsafe.Add(src, at))
			*(*words4)(unsafe.Add(dst, at)) = v
		}
		v := *(*words4)(unsafe.Add(src, last))
		*(*words4)(unsafe.Add(dst, last)) = v
		dst, src = unsafe.Add(dst, to), unsafe.Add(src, from)
	}
}

// moveRows is copyRows of rows of any length.
func moveRows(dst, src unsafe.Pointer, n, bytes, to, from int) {
	switch {
	case bytes >= leastRow:
		copyRows(dst, src, n, bytes, to, from)
	case bytes >= 16: // two pieces, which may overlap
		for range n {
			head, tail := *(*words2)(src), *(*words2)(unsafe.Add(src, bytes-16))
			*(*words2)(dst), *(*words2)(unsafe.Add(dst, bytes-16)) = head, tail
			dst, src = unsafe.Add(dst, to), unsafe.Add(src, from)
		}
	case bytes >= 8:
		for range n {
			head, tail := *(*uint64)(src), *(*uint64)(unsafe.Add(src, bytes-8))
			*(*uint64)(dst), *(*uint64)(unsafe.Add(dst, bytes-8)) = head, tail
			dst, src = unsafe.Add(dst, to), unsafe.Add(src, from)
		}
	case bytes >= 4:
		for range n {
			head, tail := *(*uint32)(src), *(*uint32)(unsafe.Add(src, bytes-4))
			*(*uint32)(dst), *(*uint32)(unsafe.Add(dst, bytes-4)) = head, tail
			dst, src = unsafe.Add(dst, to), unsafe.Add(src, from)
		}
	default:
		for range n {
			for k := range bytes {
				*(*uint8)(unsafe.Add(dst, k)) = *(*uint8)(unsafe.Add(src, k))
			}
			dst, src = unsafe.Add(dst, to), unsafe.Add(src, from)
		}
	}
}

// fillElement repeats the element at src n times.
func fillElement(dst, src unsafe.Pointer, size, n int) {
	bytes := n * size
	if size > 8 || bytes < 32 {
		fillEach(dst, src, size, n)
		return
	}
	word := wordOf(src, size)
	v := words4{word, word, word, word}
	first := min(bytes, fillPiece)
	for at := 0; at < first-32; at += 32 {
		*(*words4)(unsafe.Add(dst, at)) = v
	}
	*(*words4)(unsafe.Add(dst, first-32)) = v
	for at := first; at < bytes; at += first { // copies of what is in the first-level cache
		copy(plan.BytesAt(unsafe.Add(dst, at), min(first, bytes-at)), plan.BytesAt(dst, first))
	}
}

// wordOf fills a word with copies of an element.
func wordOf(src unsafe.Pointer, size int) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(src)) * 0x0101010101010101
	case 2:
		return uint64(*(*uint16)(src)) * 0x0001000100010001
	case 4:
		return uint64(*(*uint32)(src)) * 0x0000000100000001
	}
	return *(*uint64)(src)
}

// fillShort fills n rows of 8 bytes or more with an element each.
func fillShort(dst, src unsafe.Pointer, size, n, bytes, to, from int) {
	last := bytes - 8 // the last word may overlap the one before
	for range n {
		word := wordOf(src, size)
		for at := 0; at < last; at += 8 {
			*(*uint64)(unsafe.Add(dst, at)) = word
		}
		*(*uint64)(unsafe.Add(dst, last)) = word
		dst, src = unsafe.Add(dst, to), unsafe.Add(src, from)
	}
}

// fillPiece is how many bytes are stored one vector after another before they are copied.
const fillPiece = 4096

func fillEach(dst, src unsafe.Pointer, size, n int) {
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
	if stride == -size && n >= 8 {
		m := vec.Reversed(dst, src, size, n)
		dst, src, n = unsafe.Add(dst, m*size), unsafe.Add(src, -m*size), n-m
	}
	if stride > size && stride%size == 0 && n >= 8 {
		m := vec.Strided(dst, src, size, stride/size, n)
		dst, src, n = unsafe.Add(dst, m*size), unsafe.Add(src, m*stride), n-m
	}
	switch size {
	case 1:
		if stride == -1 {
			m := n &^ 7
			reverseBytes(dst, src, m)
			dst, src, n = unsafe.Add(dst, m), unsafe.Add(src, -m), n-m
		}
		gatherStrided[uint8](dst, src, stride, n)
	case 2:
		m := 0
		if stride == -2 {
			m = n &^ 3
			reverseHalves(dst, src, m)
		}
		gatherStrided[uint16](unsafe.Add(dst, 2*m), unsafe.Add(src, m*stride), stride, n-m)
	case 4:
		m := n &^ 7
		if stride == -4 {
			reverseWords(dst, src, m)
		} else {
			gatherWords(dst, src, stride, m)
		}
		gatherStrided[uint32](unsafe.Add(dst, 4*m), unsafe.Add(src, m*stride), stride, n-m)
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

// reverseBytes stores n bytes, a multiple of eight, that end with the one at src, the last one first.
func reverseBytes(dst, src unsafe.Pointer, n int) {
	for i := 0; i < n; i += 8 {
		*(*uint64)(unsafe.Add(dst, i)) = bits.ReverseBytes64(*(*uint64)(unsafe.Add(src, -i-7)))
	}
}

// reverseHalves stores n elements of 16 bits, a multiple of four, that end with the one at src, the last one first.
func reverseHalves(dst, src unsafe.Pointer, n int) {
	for i := 0; i < 2*n; i += 8 {
		v := bits.RotateLeft64(*(*uint64)(unsafe.Add(src, -i-6)), 32)
		*(*uint64)(unsafe.Add(dst, i)) = v>>16&0x0000ffff0000ffff | v&0x0000ffff0000ffff<<16
	}
}

// reverseWords stores n elements of 32 bits, a multiple of eight, that end with the one at src, the last one first.
func reverseWords(dst, src unsafe.Pointer, n int) {
	for i := 4*n - 32; i >= 0; i -= 32 { // what is read goes up, as far as rows follow each other
		s := *(*words4)(unsafe.Add(src, -i-28))
		s.a, s.b, s.c, s.d = bits.RotateLeft64(s.d, 32), bits.RotateLeft64(s.c, 32), bits.RotateLeft64(s.b, 32), bits.RotateLeft64(s.a, 32)
		*(*words4)(unsafe.Add(dst, i)) = s
	}
}

// pair is two elements as they lie in memory.
func pair(first, second uint32) uint64 {
	if bigEndian {
		first, second = second, first
	}
	return uint64(first) | uint64(second)<<32
}

var one = uint16(1)

// bigEndian tells how the processor stores numbers.
var bigEndian = *(*uint8)(unsafe.Pointer(&one)) == 0

// gatherWords is gatherStrided of a multiple of eight elements of 32 bits, two of which are stored together.
func gatherWords(dst, src unsafe.Pointer, stride, n int) {
	for i := 0; i < 4*n; i += 16 {
		p, q := unsafe.Add(src, stride), unsafe.Add(src, 2*stride)
		r := unsafe.Add(q, stride)
		*(*words2)(unsafe.Add(dst, i)) = words2{pair(*(*uint32)(src), *(*uint32)(p)), pair(*(*uint32)(q), *(*uint32)(r))}
		src = unsafe.Add(q, 2*stride)
	}
}
