//go:build amd64 || arm64

package vec

import "unsafe"

func mixRows32(dst, x []float32, places []int, weights []float32, taps, c int) {
	wide, _ := fills(c)
	some := max(callElements/(c*taps), 1)
	for len(dst) > 0 {
		n := min(some, len(dst)/c)
		y, z, p, w := unsafe.SliceData(dst), unsafe.SliceData(x), unsafe.SliceData(places), unsafe.SliceData(weights)
		switch taps {
		case 2:
			callMixRows2(wide, y, z, p, w, uintptr(n), uintptr(4*c))
		case 4:
			callMixRows4(wide, y, z, p, w, uintptr(n), uintptr(4*c))
		default:
			callMixManyRows(wide, y, z, p, w, uintptr(n), uintptr(4*c), uintptr(taps))
		}
		dst, places, weights = dst[n*c:], places[n*taps:], weights[n*taps:]
	}
}
