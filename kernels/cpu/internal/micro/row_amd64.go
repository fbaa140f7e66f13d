package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// rowProduct adds x·b to dst; it reports whether it did.
func rowProduct[T Float](dst, x, b []T, stride int) bool {
	level := isa.Active()
	if level == isa.Portable || unsafe.Sizeof(dst[0]) != 4 {
		return false
	}
	l := lanes[T](level)
	vectors, rest := len(dst)/l, len(dst)%l
	var mask uint64
	if rest > 0 {
		mask = 1<<rest - 1
	}
	table := unsafe.Pointer(&laneMasks[8-min(rest, 8)])
	rows := max(rowProductElements/len(dst)/8*8, 8)
	for k := 0; k < len(x); {
		n, eight := min(rows, len(x)-k)/8, true
		if n == 0 {
			n, eight = len(x)-k, false
		}
		callRowProduct(level == isa.AVX512, eight, unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[k]), unsafe.Pointer(&b[k*stride]), uintptr(n), uintptr(vectors), uintptr(4*stride), mask, table)
		if eight {
			n *= 8
		}
		k += n
	}
	runtime.KeepAlive(b)
	return true
}
