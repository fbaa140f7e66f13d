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

func addRows32(dst, x []float32, rows, stride int) (c int) {
	for {
		n, wide, four := columnBlock(len(dst) - c)
		switch {
		case n == 0:
			return c
		case four:
			callAddRows4(wide, &dst[c], &x[c], uintptr(rows), uintptr(4*stride))
		default:
			callAddRows1(wide, &dst[c], &x[c], uintptr(rows), uintptr(4*stride))
		}
		c += n
	}
}
