package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// outside copies an array except for a box that something else will fill.
type outside struct {
	size       int // bytes of an element
	shape, box ir.Shape
	strides    []int // in bytes
}

// minSkippedBytes is how many consecutive bytes must belong to the box before the copy skips them.
const minSkippedBytes = 1024

// copy copies what is not in the box, which begins box bytes after the first element. It may also copy parts of the
// box.
func (o *outside) copy(to, from *plan.Operand, box int) {
	if len(o.shape) == 0 || o.box.Size() == 0 || to.Ptr() == from.Ptr() || from.Mem != nil && from.Mem.Bytes == o.size {
		copyOperand(to, from)
		return
	}
	o.along(0, to.Ptr(), from.Ptr(), box)
}

// along copies the axes from the given one on.
func (o *outside) along(axis int, to, from unsafe.Pointer, box int) {
	row := o.strides[axis]
	length, n := o.shape[axis], o.box[axis]
	low, rest := box/row, box%row
	left := n * row // consecutive bytes in the box, if it includes all of the inner axes
	whole := axis == len(o.shape)-1 || o.box[axis+1:].Equal(o.shape[axis+1:])
	if !whole {
		left = o.box[axis+1] * o.strides[axis+1]
	}
	if left < minSkippedBytes {
		vec.Copy(plan.BytesAt(to, length*row), plan.BytesAt(from, length*row))
		return
	}
	behind := (low + n) * row
	vec.Copy(plan.BytesAt(to, low*row), plan.BytesAt(from, low*row))
	for i := low; i < low+n && !whole; i++ {
		o.along(axis+1, unsafe.Add(to, i*row), unsafe.Add(from, i*row), rest)
	}
	if behind < length*row { // a pointer beyond the memory must not be formed
		vec.Copy(plan.BytesAt(unsafe.Add(to, behind), length*row-behind), plan.BytesAt(unsafe.Add(from, behind), length*row-behind))
	}
}
