//go:build amd64 || arm64

package vec

// The functions below compute whole vectors of columns in assembly and return how many columns they did.

// columnBlock returns the width of the next block of columns when rest are left, and with which registers: four vectors
// or one, of AVX-512 or AVX2. The width 0 means that fewer than a vector are left, or that there is no assembly.
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

// addRows32 computes columns that are left over of whole vectors again with those before them: each is a sum of its
// own.
func addRows32(dst, x []float32, rows, stride int) int {
	return foldRows32(adding, dst, x, rows, stride)
}

func foldRows32(fold rowFold, dst, x []float32, rows, stride int) int {
	wide, ok := vectors()
	if !ok || len(dst) < 8 {
		return 0
	}
	for c := 0; c < len(dst); {
		n, wide, four := overlappedBlock(len(dst)-c, len(dst), wide)
		at := min(c, len(dst)-n)
		foldColumns(fold, wide, four, &dst[at], &x[at], uintptr(rows), uintptr(4*stride))
		c = at + n
	}
	return len(dst)
}

// foldColumns combines the rows of one or four vectors of columns. (Function values would let dst escape.)
func foldColumns(fold rowFold, wide, four bool, dst, x *float32, rows, stride uintptr) {
	switch {
	case fold == adding && four:
		callAddRows4(wide, dst, x, rows, stride)
	case fold == adding:
		callAddRows1(wide, dst, x, rows, stride)
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

// overlappedBlock is [columnBlock] of the rest of all columns, 8 at least, where a block may begin in front of the
// rest: fewer blocks are faster than narrower ones, whose sums wait for each other.
func overlappedBlock(rest, all int, wide bool) (n int, useWide, four bool) {
	switch {
	case wide && (rest >= 64 || rest > 32 && all >= 64):
		return 64, true, true
	case rest > 16 && all >= 32:
		return 32, false, true
	case wide && rest > 8 && all >= 16:
		return 16, true, false
	}
	return 8, false, false
}
