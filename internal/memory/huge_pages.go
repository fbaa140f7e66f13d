package memory

import "unsafe"

// HugePage is the page size that large allocations should have. With pages of 4 KiB, reading scattered rows of a large
// table spends its time on translating addresses.
const HugePage = 2 << 20

// Floats allocates n zeros, in huge pages if they are many and the system has such pages. The memory is part of Go's
// heap like any other.
func Floats(n int) []float32 {
	const unit = HugePage / 4
	if n < unit {
		return make([]float32, n)
	}
	all := make([]float32, n+unit)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(all))) & (HugePage - 1) / 4)
	v := all[skip : skip+n : skip+n]
	PreferHugePages(unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), n/unit*HugePage))
	return v
}
