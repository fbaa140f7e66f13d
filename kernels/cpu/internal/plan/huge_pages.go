package plan

import (
	"sync"
	"unsafe"

	"github.com/gokeras/gokeras/internal/memory"
)

// HugePage is the size of the pages that large memory should be in. With small pages, a step that goes through tens of
// megabytes waits for address translation, most of all in a virtual machine. Also, the operating system may pick pages
// that compete for the same places in the second-level cache.
const HugePage = memory.HugePage

// AlignedBytes allocates n zero bytes at an aligned address, in huge pages if they are large and the system has such
// pages. The memory is in Go's heap.
func AlignedBytes(n int) []byte {
	if n == 0 {
		return nil
	}
	if n < HugePage/2 {
		return alignedTo(n, Alignment)
	}
	whole := (n + HugePage/2) / HugePage * HugePage // a last page that is less than half full consists of small pages
	b := alignedTo(max(n, whole), HugePage)
	memory.PreferHugePages(b[:whole])
	return b[:n:n]
}

func alignedTo(n, unit int) []byte {
	b := make([]byte, n+unit-1)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(unit-1))
	return b[skip : skip+n : skip+n]
}

// slab is memory that buffers smaller than a huge page share, so that they too are in one.
var slab struct {
	sync.Mutex
	free []byte
}

// MinSlab is the least size that is taken from a slab. For smaller buffers pages matter little, and one of them could
// keep much memory alive.
const MinSlab = 64 << 10

// BufferBytes is AlignedBytes for memory that has many others like it, such as that of a model's variables.
func BufferBytes(n int) []byte {
	if n < MinSlab || n >= HugePage/2 {
		return AlignedBytes(n)
	}
	slab.Lock()
	defer slab.Unlock()
	if len(slab.free) < n {
		slab.free = AlignedBytes(HugePage)
	}
	b := slab.free[:n:n]
	slab.free = slab.free[min(RoundUp(n, Alignment), len(slab.free)):]
	return b
}
