package cpu

import "unsafe"

// Transposes elements of one and two bytes. Square blocks are transposed within words, by swapping ever larger parts of
// two words.

// exchange swaps the parts of b that the mask selects with the parts of a that are higher by the given bits.
func exchange(a, b uint64, bits uint, mask uint64) (uint64, uint64) {
	t := (a>>bits ^ b) & mask
	return a ^ t<<bits, b ^ t
}

// transposeHalves stores dst[r·to + 2q] = src[q·from + 2r], with offsets in bytes, for 4 x 4 blocks of 16-bit elements.
func transposeHalves(dst, src unsafe.Pointer, to, from int) {
	a, b := *(*uint64)(src), *(*uint64)(unsafe.Add(src, from))
	c, d := *(*uint64)(unsafe.Add(src, 2*from)), *(*uint64)(unsafe.Add(src, 3*from))
	const odd, high = 0x0000ffff0000ffff, 0x00000000ffffffff
	a, b = exchange(a, b, 16, odd)
	c, d = exchange(c, d, 16, odd)
	a, c = exchange(a, c, 32, high)
	b, d = exchange(b, d, 32, high)
	*(*uint64)(dst), *(*uint64)(unsafe.Add(dst, to)) = a, b
	*(*uint64)(unsafe.Add(dst, 2*to)), *(*uint64)(unsafe.Add(dst, 3*to)) = c, d
}

// transposeBytes stores dst[r·to + q] = src[q·from + r] for 8 x 8 blocks.
func transposeBytes(dst, src unsafe.Pointer, to, from int) {
	load := func(k int) uint64 { return *(*uint64)(unsafe.Add(src, k*from)) }
	const odd, pairs, high = 0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff
	a, b := exchange(load(0), load(1), 8, odd)
	c, d := exchange(load(2), load(3), 8, odd)
	a, c = exchange(a, c, 16, pairs)
	b, d = exchange(b, d, 16, pairs)
	e, f := exchange(load(4), load(5), 8, odd)
	g, h := exchange(load(6), load(7), 8, odd)
	e, g = exchange(e, g, 16, pairs)
	f, h = exchange(f, h, 16, pairs)
	a, e = exchange(a, e, 32, high)
	b, f = exchange(b, f, 32, high)
	c, g = exchange(c, g, 32, high)
	d, h = exchange(d, h, 32, high)
	for k, v := range [8]uint64{a, b, c, d, e, f, g, h} {
		*(*uint64)(unsafe.Add(dst, k*to)) = v
	}
}

// transposeParts transposes a plane of elements of one or two bytes. Rows of the destination are to bytes apart,
// columns of the source from bytes apart. It writes as many rows at a time as the first-level cache holds lines of the
// destination.
func transposeParts(dst, src unsafe.Pointer, size, rows, cols, to, from int) {
	edge, piece := 8/size, 32
	if to%2048 == 0 { // such lines evict each other
		piece = 8
	}
	wholeRows, wholeCols := rows/edge*edge, cols/edge*edge
	for first := 0; first < wholeRows; first += piece {
		last := min(first+piece, wholeRows)
		for q := 0; q < wholeCols; q += edge {
			for r := first; r < last; r += edge {
				d, s := unsafe.Add(dst, r*to+q*size), unsafe.Add(src, q*from+r*size)
				if size == 2 {
					transposeHalves(d, s, to, from)
				} else {
					transposeBytes(d, s, to, from)
				}
			}
		}
	}
	for r := wholeRows; r < rows; r++ {
		gatherElements(unsafe.Add(dst, r*to), unsafe.Add(src, r*size), size, from, cols)
	}
	for q := wholeCols; q < cols; q++ {
		scatterElements(unsafe.Add(dst, q*size), unsafe.Add(src, q*from), size, to, size, wholeRows)
	}
}
