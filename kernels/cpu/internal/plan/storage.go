package plan

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Alignment of arenas, buffers and every storage in bytes: one cache line, and one vector register of AVX-512.
const Alignment = 64

// Kind says who provides the memory of a storage.
type Kind uint8

const (
	InArena    Kind = iota // the executable's arena, at offset
	InInput                // a buffer of the caller: input number index
	inOutput               // a buffer of the caller: output number index
	InConstant             // memory of its own, filled when the program is compiled
	Kept                   // a conversion of an input to 16 bits, which stays with the input's buffer
)

// Storage is a piece of memory that holds one or more values in turn. Its address is fixed when it lies in the arena,
// and set at the start of a run otherwise.
type Storage struct {
	Ptr   unsafe.Pointer
	Bytes int
	Kind  Kind
	Index int
	Whose kernels.Buffer // of an input of the executable or a conversion of one, if it is of this backend: what the last run took

	First, Last int        // the steps between which the contents are needed
	taken       *fuse.Unit // the last unit that wrote a result over an operand here
	Offset      int        // in the arena
}

// Operand is a value as a step sees it: dense row-major elements that begin off bytes into a storage.
type Operand struct {
	Mem *Storage
	Off int
	Typ ir.Type
	N   int
}

func (o *Operand) Ptr() unsafe.Pointer { return unsafe.Add(o.Mem.Ptr, o.Off) }

// Skip lets the operand begin so many bytes further on. One without elements stays where it is: its storage may have no
// memory or end there, and Go aborts the program when it meets an address on a stack that is that of nothing.
func (o *Operand) Skip(bytes int) {
	if o.N > 0 {
		o.Off += bytes
	}
}

// Data returns the operand's elements. It is inlined in a thousand places, where the checks of unsafe.Slice, which can
// not fail here, would weigh 70 kB.
func Data[T any](o *Operand) []T {
	s := struct {
		ptr      unsafe.Pointer
		len, cap int
	}{o.Ptr(), o.N, o.N}
	return *(*[]T)(unsafe.Pointer(&s))
}

// Raw returns the operand's bytes.
func Raw(o *Operand) []byte { return unsafe.Slice((*byte)(o.Ptr()), o.N*o.Typ.DType.Size()) }

func BytesAt(p unsafe.Pointer, n int) []byte { return unsafe.Slice((*byte)(p), n) }

func PointerTo(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func RoundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
