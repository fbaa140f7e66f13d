//go:build amd64 || arm64

package vec

import "unsafe"

// The functions below compute whole vectors of columns in assembly and return how many columns they computed.

// columnBlock returns the width of the next block of columns if rest are left, and its registers: four vectors or one,
// of AVX-512 or AVX2. A width of 0 means that less than a vector is left, or that there is no assembly.
func columnBlock(rest int) (n int, wide, four bool) {
	wide, ok := vectors()
	switch {
	case !ok || rest < 8:
		return 0, false, false
	case wide && rest >= 64:
		return 64, true, true
	case wide && rest >= 16:
		return 16, true, false
	case rest >= 32:
		return 32, false, true
	}
	return 8, false, false
}

// addRows computes the columns that fill no whole vector together with some before them, which are computed again: each
// column is a sum of its own. dst has n numbers.
func addRows(bytes int, dst, x unsafe.Pointer, n, rows, stride int) int {
	wide, ok := vectors()
	vector := 32 / bytes
	if !ok || n < vector {
		return 0
	}
	for c := 0; c < n; {
		width, wide, four := overlappedBlock(n-c, n, vector, wide)
		at := min(c, n-width)
		d, s := unsafe.Add(dst, bytes*at), unsafe.Add(x, bytes*at)
		if four {
			callAddRows4(wide, bytes, d, s, uintptr(rows), uintptr(bytes*stride))
		} else {
			callAddRows1(wide, bytes, d, s, uintptr(rows), uintptr(bytes*stride))
		}
		c = at + width
	}
	return n
}

func foldRows32(fold rowFold, dst, x []float32, rows, stride int) int {
	wide, ok := vectors()
	if !ok || len(dst) < 8 {
		return 0
	}
	for c := 0; c < len(dst); {
		n, wide, four := overlappedBlock(len(dst)-c, len(dst), 8, wide)
		at := min(c, len(dst)-n)
		foldColumns(fold, wide, four, &dst[at], &x[at], uintptr(rows), uintptr(4*stride))
		c = at + n
	}
	return len(dst)
}

// foldColumns combines the rows of one or four vectors of columns. (With function values, dst would escape.)
func foldColumns(fold rowFold, wide, four bool, dst, x *float32, rows, stride uintptr) {
	switch {
	case fold == multiplying && four:
		callMultiplyRows4(wide, dst, x, rows, stride)
	case fold == multiplying:
		callMultiplyRows1(wide, dst, x, rows, stride)
	case fold == largest && four:
		callLargestRows4(wide, dst, x, rows, stride)
	case fold == largest:
		callLargestRows1(wide, dst, x, rows, stride)
	case four:
		callSmallestRows4(wide, dst, x, rows, stride)
	default:
		callSmallestRows1(wide, dst, x, rows, stride)
	}
}

// overlappedBlock is [columnBlock] where a block may begin before the rest of the columns, which are at least a vector
// of AVX2: fewer blocks are faster than narrower ones, whose sums wait for each other.
func overlappedBlock(rest, all, vector int, wide bool) (n int, useWide, four bool) {
	switch {
	case wide && (rest >= 8*vector || rest > 4*vector && all >= 8*vector):
		return 8 * vector, true, true
	case rest > 2*vector && all >= 4*vector:
		return 4 * vector, false, true
	case wide && rest > vector && all >= 2*vector:
		return 2 * vector, true, false
	}
	return vector, false, false
}
