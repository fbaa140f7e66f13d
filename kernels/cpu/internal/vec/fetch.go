package vec

import "unsafe"

// Fetch prefetches rows of cols numbers, stride apart, into the second-level cache while the processor goes on. Use it
// for memory that is read soon, in an order that the processor cannot predict. It changes nothing.
func Fetch[T Float](x []T, rows, cols, stride int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	x = x[:(rows-1)*stride+cols]
	size := int(unsafe.Sizeof(x[0]))
	fetch(unsafe.Pointer(unsafe.SliceData(x)), rows, cols*size, stride*size)
}
