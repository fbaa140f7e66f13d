package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/ir"
)

// alignment of arenas, buffers and every storage in bytes: one cache line, and one vector register of AVX-512.
const alignment = 64

// storageKind says who provides the memory of a storage.
type storageKind uint8

const (
	inArena    storageKind = iota // the executable's arena, at offset
	inInput                       // a buffer of the caller: input number index
	inOutput                      // a buffer of the caller: output number index
	inConstant                    // memory of its own, filled when the program is compiled
)

// storage is a piece of memory that holds one or more values in turn. Its address is fixed when it lies in the arena, and
// set at the start of a run otherwise.
type storage struct {
	ptr   unsafe.Pointer
	bytes int
	kind  storageKind
	index int
	whose *buffer // of an input of the executable, if it is of this backend: what the last run took

	first, last int   // the steps between which the contents are needed
	taken       *unit // the last unit that wrote a result over an operand here
	offset      int   // in the arena
}

// operand is a value as a step sees it: dense row-major elements that begin off bytes into a storage.
type operand struct {
	mem *storage
	off int
	typ ir.Type
	n   int
}

func (o *operand) ptr() unsafe.Pointer { return unsafe.Add(o.mem.ptr, o.off) }

// data returns the operand's elements.
func data[T any](o *operand) []T { return unsafe.Slice((*T)(o.ptr()), o.n) }

// raw returns the operand's bytes.
func raw(o *operand) []byte { return unsafe.Slice((*byte)(o.ptr()), o.n*o.typ.DType.Size()) }

func bytesAt(p unsafe.Pointer, n int) []byte { return unsafe.Slice((*byte)(p), n) }

func pointerTo(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
