package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// transposeRows stores dst[i·to + k] = src[k·from + i] for i below rows and k below columns.
func transposeRows[T block.Float](dst, src []T, rows, columns, to, from int) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if rows == 1 && from == 1 || columns == 1 && to == 1 {
		copy(dst[:rows*columns], src)
		return
	}
	d, s := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	if rows >= shortPlane && columns >= shortPlane {
		transposeWords[T](d, s, rows, columns, to, from)
		return
	}
	if rows <= columns {
		for i := range rows {
			gatherElements(unsafe.Add(d, i*to*size), unsafe.Add(s, i*size), size, from*size, columns)
		}
		return
	}
	done := 0
	if columns <= 4 && columns == to && columns > 1 {
		var sources [4]unsafe.Pointer
		for k := range columns {
			sources[k] = unsafe.Add(s, k*from*size)
		}
		done = vec.Turns(d, sources[:columns], size, 0, rows)
	}
	for k := 0; k < columns && done < rows; k++ {
		scatterElements(unsafe.Add(d, (done*to+k)*size), unsafe.Add(s, (k*from+done)*size), size, to*size, size, rows-done)
	}
}
