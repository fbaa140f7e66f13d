package plan

import (
	"sync"
	"unsafe"

	"github.com/gokeras/gokeras/internal/memory"
)

// HugePage is the size of the pages that large memory should lie in. With small ones a step that goes through tens of
// megabytes waits for the processor to translate addresses, the more so in a virtual machine, and the operating system
// picks pages that compete for the same places in the second-level cache.
const HugePage = memory.HugePage

// AlignedBytes allocates n zero bytes at an aligned address, in huge pages if they are large and the system has them.
// It is memory of Go's heap like any other.
func AlignedBytes(n int) []byte {
	if n == 0 {
		return nil
	}
	if n < HugePage/2 {
		return alignedTo(n, Alignment)
	}
	whole := (n + HugePage/2) / HugePage * HugePage // a last page that is less than half full stays small
	b := alignedTo(max(n, whole), HugePage)
	memory.PreferHugePages(b[:whole])
	return b[:n:n]
}

func alignedTo(n, unit int) []byte {
	b := make([]byte, n+unit-1)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(unit-1))
	return b[skip : skip+n : skip+n]
}

// slab is memory that buffers of less than a huge page share, so that they too lie in one.
var slab struct {
	sync.Mutex
	free []byte
}

// MinSlab is the least size that is taken from a slab: below, pages matter little and one buffer could keep much memory
// alive.
const MinSlab = 64 << 10

// BufferBytes is alignedBytes for memory that is one of many alike, as that of the variables of a model.
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
