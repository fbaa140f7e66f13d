package plan

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Alignment is that of arenas, buffers and every storage in bytes: one cache line, and one AVX-512 register.
const Alignment = 64

// Kind says where the memory of a storage comes from.
type Kind uint8

const (
	InArena    Kind = iota // the executable's arena, at Offset
	InInput                // a buffer of the caller: input number Index
	inOutput               // a buffer of the caller: output number Index
	InConstant             // its own memory, filled at compile time
	Kept                   // a conversion of an input to 16 bits or to float32, which the input's buffer keeps
)

// Storage is memory that holds one value or several in succession. Its address is fixed if it is in the arena, and set
// at the start of a run otherwise.
type Storage struct {
	Ptr   unsafe.Pointer
	Bytes int
	Kind  Kind
	Index int
	Whose kernels.Buffer // for an input of the executable, or a conversion of one: the buffer of the last run, if it is of this backend

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

// Skip moves the beginning of the operand by the given bytes. An operand without elements stays where it is: its
// storage may have no memory, or end there, and Go aborts the program when it finds an invalid pointer on a stack.
func (o *Operand) Skip(bytes int) {
	if o.N > 0 {
		o.Off += bytes
	}
}

// Data returns the operand's elements. It is inlined in a thousand places, where the checks of unsafe.Slice, which
// cannot fail here, would add 70 kB.
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
