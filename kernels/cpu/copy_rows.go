package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Loops over a few elements at a time. Here a call for each row, or a store for each element, would take longer than
// moving the memory.

// Several rows of this many bytes are copied by [copyRows].
const (
	leastRow = 32
	mostRow  = 1024
)

// copyRows copies n rows of leastRow bytes or more. Destination rows are to bytes apart, source rows from bytes apart.
// Like all loops over rows it counts bytes, because a pointer that moves from row to row would end beyond the memory,
// where the garbage collector must not see one.
func copyRows(dst, src unsafe.Pointer, n, bytes, to, from int) {
	if bytes >= vec.LeastCopied && n > 1 && vec.CopyRows(dst, src, n, bytes, to, from) {
		return
	}
	if bytes == 64 {
		for d, s := 0, 0; n > 0; d, s, n = d+to, s+from, n-1 {
			row, of := unsafe.Add(dst, d), unsafe.Add(src, s)
			*(*piece32)(row) = *(*piece32)(of)
			*(*piece32)(unsafe.Add(row, 32)) = *(*piece32)(unsafe.Add(of, 32))
		}
		return
	}
	if bytes > 256 {
		for d, s := 0, 0; n > 0; d, s, n = d+to, s+from, n-1 {
			vec.Copy(plan.BytesAt(unsafe.Add(dst, d), bytes), plan.BytesAt(unsafe.Add(src, s), bytes))
		}
		return
	}
	last := bytes - 32 // the last piece may overlap the previous one
	for d, s := 0, 0; n > 0; d, s, n = d+to, s+from, n-1 {
		row, of := unsafe.Add(dst, d), unsafe.Add(src, s)
		for at := 0; at < last; at += 32 {
			*(*piece32)(unsafe.Add(row, at)) = *(*piece32)(unsafe.Add(of, at))
		}
		*(*piece32)(unsafe.Add(row, last)) = *(*piece32)(unsafe.Add(of, last))
	}
}

// moveRows is copyRows for rows of any length.
func moveRows(dst, src unsafe.Pointer, n, bytes, to, from int) {
	switch {
	case bytes >= leastRow:
		copyRows(dst, src, n, bytes, to, from)
	case bytes == 16:
		for d, s := 0, 0; n > 0; d, s, n = d+to, s+from, n-1 {
			*(*piece16)(unsafe.Add(dst, d)) = *(*piece16)(unsafe.Add(src, s))
		}
	case bytes >= 16:
		moveEnds[piece16](dst, src, n, bytes-16, to, from)
	case bytes >= 8:
		moveEnds[uint64](dst, src, n, bytes-8, to, from)
	case bytes >= 4:
		moveEnds[uint32](dst, src, n, bytes-4, to, from)
	case bytes >= 2:
		moveEnds[uint16](dst, src, n, bytes-2, to, from)
	case bytes == 1:
		moveEnds[uint8](dst, src, n, 0, to, from)
	}
}

// moveEnds copies n rows in two pieces each. The second one begins at byte last and may overlap the first.
func moveEnds[T uint8 | uint16 | uint32 | uint64 | piece16](dst, src unsafe.Pointer, n, last, to, from int) {
	if last == 0 {
		for d, s := 0, 0; n > 0; d, s, n = d+to, s+from, n-1 {
			*(*T)(unsafe.Add(dst, d)) = *(*T)(unsafe.Add(src, s))
		}
		return
	}
	for d, s := 0, 0; n > 0; d, s, n = d+to, s+from, n-1 {
		*(*T)(unsafe.Add(dst, d)) = *(*T)(unsafe.Add(src, s))
		*(*T)(unsafe.Add(dst, d+last)) = *(*T)(unsafe.Add(src, s+last))
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
	if word == 0 && bytes <= fillPiece {
		clear(plan.BytesAt(dst, bytes))
		return
	}
	v := words4{word, word, word, word}
	first := min(bytes, fillPiece)
	for at := 0; at < first-32; at += 32 {
		*(*words4)(unsafe.Add(dst, at)) = v
	}
	*(*words4)(unsafe.Add(dst, first-32)) = v
	for at := first; at < bytes; at += first { // copies what is in the first-level cache
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

// fillShort fills n rows of 8 bytes or more, each with one repeated element.
func fillShort(dst, src unsafe.Pointer, size, n, bytes, to, from int) {
	if size == 4 && to == bytes && from >= 0 && bytes >= leastFill {
		vec.FillRows(block.View[uint32](dst, n*(bytes/4)), src, bytes/4, from)
		return
	}
	if bytes >= 32 {
		fillPieces(dst, src, size, n, bytes, to, from)
		return
	}
	last := bytes - 8 // the last word may overlap the previous one
	for d, s := 0, 0; n > 0; d, s, n = d+to, s+from, n-1 {
		row, word := unsafe.Add(dst, d), wordOf(unsafe.Add(src, s), size)
		for at := 0; at < last; at += 8 {
			*(*uint64)(unsafe.Add(row, at)) = word
		}
		*(*uint64)(unsafe.Add(row, last)) = word
	}
}

// leastFill is the length in bytes from which on a kernel fills rows.
const leastFill = 64

// fillPieces is fillShort for rows of 32 bytes or more.
func fillPieces(dst, src unsafe.Pointer, size, n, bytes, to, from int) {
	last := bytes - 32 // the last piece may overlap the previous one
	for d, s := 0, 0; n > 0; d, s, n = d+to, s+from, n-1 {
		row, word := unsafe.Add(dst, d), wordOf(unsafe.Add(src, s), size)
		v := words4{word, word, word, word}
		for at := 0; at < last; at += 32 {
			*(*words4)(unsafe.Add(row, at)) = v
		}
		*(*words4)(unsafe.Add(row, last)) = v
	}
}

// fillPiece is how many bytes are stored vector by vector before they are copied.
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

// fillWith repeats v. After the first elements, copying what is there is faster than single stores.
func fillWith[T any](dst []T, v T) {
	first := min(len(dst), 32)
	for i := range first {
		dst[i] = v
	}
	for n := first; n < len(dst); {
		n += copy(dst[n:], dst[:n])
	}
}

// gatherElements copies n elements that are stride bytes apart.
func gatherElements(dst, src unsafe.Pointer, size, stride, n int) {
	done := 0
	switch {
	case n < 8:
	case stride == size:
		vec.Copy(plan.BytesAt(dst, n*size), plan.BytesAt(src, n*size))
		return
	case stride == -size:
		done = vec.Reversed(dst, src, size, n)
	case stride > size && stride%size == 0:
		done = vec.Strided(dst, src, size, stride/size, n)
	}
	if n -= done; n == 0 {
		return // a pointer to the next element may be beyond the memory
	}
	dst, src = unsafe.Add(dst, done*size), unsafe.Add(src, done*stride)
	done = 0
	switch size {
	case 1:
		if stride == -1 {
			done = n &^ 7
			reverseBytes(dst, src, done)
		}
		gatherStrided[uint8](dst, src, stride, done, n)
	case 2:
		if stride == -2 {
			done = n &^ 3
			reverseHalves(dst, src, done)
		}
		gatherStrided[uint16](dst, src, stride, done, n)
	case 4:
		if done = n &^ 7; stride == -4 {
			reverseWords(dst, src, done)
		} else {
			gatherWords(dst, src, stride, done)
		}
		gatherStrided[uint32](dst, src, stride, done, n)
	case 8:
		gatherStrided[uint64](dst, src, stride, 0, n)
	case 16:
		gatherStrided[piece16](dst, src, stride, 0, n)
	default:
		gatherStrided[piece32](dst, src, stride, 0, n)
	}
}

// gatherStrided copies elements [first, n).
func gatherStrided[T any](dst, src unsafe.Pointer, stride, first, n int) {
	d := block.View[T](dst, n)
	for i := first; i < len(d); i++ {
		d[i] = *(*T)(unsafe.Add(src, i*stride))
	}
}

// reverseRows copies rows of n elements in reverse. src is the last element of the first row.
func reverseRows(dst, src unsafe.Pointer, size, rows, n, to, from int) {
	for r := range rows {
		d, s := unsafe.Add(dst, r*to), unsafe.Add(src, r*from)
		if done := vec.Reversed(d, s, size, n); done < n {
			gatherElements(unsafe.Add(d, done*size), unsafe.Add(s, -done*size), size, -size, n-done)
		}
	}
}

// reverseBytes copies in reverse n bytes, a multiple of eight, of which src is the last.
func reverseBytes(dst, src unsafe.Pointer, n int) {
	for i := 0; i < n; i += 8 {
		*(*uint64)(unsafe.Add(dst, i)) = bits.ReverseBytes64(*(*uint64)(unsafe.Add(src, -i-7)))
	}
}

// reverseHalves copies in reverse n 16-bit elements, a multiple of four, of which src is the last.
func reverseHalves(dst, src unsafe.Pointer, n int) {
	for i := 0; i < 2*n; i += 8 {
		v := bits.RotateLeft64(*(*uint64)(unsafe.Add(src, -i-6)), 32)
		*(*uint64)(unsafe.Add(dst, i)) = v>>16&0x0000ffff0000ffff | v&0x0000ffff0000ffff<<16
	}
}

// reverseWords copies in reverse n 32-bit elements, a multiple of eight, of which src is the last.
func reverseWords(dst, src unsafe.Pointer, n int) {
	for i := 4*n - 32; i >= 0; i -= 32 { // reads go up as long as rows are consecutive
		s := *(*words4)(unsafe.Add(src, -i-28))
		s.a, s.b, s.c, s.d = bits.RotateLeft64(s.d, 32), bits.RotateLeft64(s.c, 32), bits.RotateLeft64(s.b, 32), bits.RotateLeft64(s.a, 32)
		*(*words4)(unsafe.Add(dst, i)) = s
	}
}

// pair combines two elements in the order of memory.
func pair(first, second uint32) uint64 {
	if bigEndian {
		first, second = second, first
	}
	return uint64(first) | uint64(second)<<32
}

var one = uint16(1)

// bigEndian reports the byte order of the processor.
var bigEndian = *(*uint8)(unsafe.Pointer(&one)) == 0

// gatherWords is gatherStrided for a multiple of eight 32-bit elements, which it stores two at a time.
func gatherWords(dst, src unsafe.Pointer, stride, n int) {
	at := 0
	for i := 0; i < 4*n; i += 16 {
		p, q := unsafe.Add(src, at+stride), unsafe.Add(src, at+2*stride)
		r := unsafe.Add(q, stride)
		*(*words2)(unsafe.Add(dst, i)) = words2{pair(*(*uint32)(unsafe.Add(src, at)), *(*uint32)(p)), pair(*(*uint32)(q), *(*uint32)(r))}
		at += 4 * stride
	}
}
