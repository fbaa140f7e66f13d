package micro

import (
	"runtime"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// rowProduct adds x·b to dst and returns true, or returns false if it cannot.
func rowProduct[T Float](dst, x, b []T, stride int) bool {
	wide, l := isa.Active().Has(isa.Vectors512), lanes[T]()
	if l == 1 || unsafe.Sizeof(dst[0]) != 4 {
		return false
	}
	vectors, rest := len(dst)/l, len(dst)%l
	var mask uint64
	if rest > 0 {
		mask = 1<<rest - 1
	}
	table := unsafe.Pointer(&laneMasks[8-min(rest, 8)])
	rows := max(rowProductElements/len(dst)/8*8, 8)
	for k := 0; k < len(x); {
		n := min(rows, len(x)-k)
		d, v, m := unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[k]), unsafe.Pointer(&b[k*stride])
		switch {
		case len(dst) == PanelWidth[T]() || len(dst) < l:
			callRowPanel(wide, len(dst) < l, d, v, m, uintptr(n/8), uintptr(n%8), uintptr(4*stride), 1, mask, table)
		case n >= 8:
			n -= n % 8
			callRowProduct(wide, true, d, v, m, uintptr(n/8), uintptr(vectors), uintptr(4*stride), mask, table)
		default:
			callRowProduct(wide, false, d, v, m, uintptr(n), uintptr(vectors), uintptr(4*stride), mask, table)
		}
		k += n
	}
	runtime.KeepAlive(b)
	return true
}

// rowPanels adds the products of x and whole panels to dst and returns how many columns it computed.
func rowPanels[T Float](dst, x, panels []T) int {
	wide, width := isa.Active().Has(isa.Vectors512), PanelWidth[T]()
	whole, perCall := len(dst)/width, rowProductElements/(width*len(x))
	if lanes[T]() == 1 || unsafe.Sizeof(dst[0]) != 4 || perCall == 0 {
		return 0
	}
	for i := 0; i < whole; i += perCall {
		n := min(perCall, whole-i)
		callRowPanel(wide, false, unsafe.Pointer(&dst[i*width]), unsafe.Pointer(&x[0]), unsafe.Pointer(&panels[i*width*len(x)]),
			uintptr(len(x)/8), uintptr(len(x)%8), uintptr(4*width), uintptr(n), 0, unsafe.Pointer(&laneMasks))
	}
	runtime.KeepAlive(panels)
	return whole * width
}

// rowHalfPanels is rowPanels for panels of 16-bit numbers that dst has whole columns for. It returns false if it
// cannot.
func rowHalfPanels(dst, x []float32, panels []uint16, h vec.Half) bool {
	wide, width := isa.Active().Has(isa.Vectors512), PanelWidth[float32]()
	perCall := rowProductElements / (width * len(x))
	if lanes[float32]() == 1 || perCall == 0 {
		return false
	}
	for i := 0; i < len(dst)/width; i += perCall {
		n := min(perCall, len(dst)/width-i)
		callRowPanelHalf(wide, h == vec.BFloat16, unsafe.Pointer(&dst[i*width]), unsafe.Pointer(&x[0]), unsafe.Pointer(&panels[i*width*len(x)]),
			uintptr(len(x)/8), uintptr(len(x)%8), uintptr(2*width), uintptr(n), 0, unsafe.Pointer(&laneMasks))
	}
	runtime.KeepAlive(panels)
	return true
}
