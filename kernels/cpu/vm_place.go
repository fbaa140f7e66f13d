package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// vmPlace is a sink that concatenates: it stores the operands of each block in their places in the result. It may also
// be a single operand of a concatenation that runs later.
type vmPlace struct {
	out       *plan.Operand
	parts     []uint8 // pointers of the operands
	size, row int     // bytes of an element; elements of an operand's row
	whole     int     // bytes from one row of the result to the next
	turns     bool    // rows have the size of an element, and are interleaved as such
}

// compilePlaces adds the concatenation node i.
func (b *vmBuilder) compilePlaces(i int) {
	n := &b.Program.Nodes[i]
	out := &b.Operands[n.Outputs[0]]
	size := out.Typ.DType.Size()
	s := vmPlace{out: out, size: size, row: b.placedRow(i)}
	bytes := s.row * size
	s.whole = bytes * len(n.Inputs)
	s.turns = len(n.Inputs) <= 4 && bytes <= 8 && bytes&(bytes-1) == 0
	for _, x := range n.Inputs {
		s.parts = append(s.parts, b.asStored(b.u.Accesses[x]))
	}
	b.prog.places = append(b.prog.places, s)
}

// part returns the pointer to where value v is computed, whose rows belong in a concatenation. If blocks are lines of a
// row that is the final place, else a register.
func (b *vmBuilder) part(v ir.Value, part fuse.Part) uint8 {
	o := b.Operands[v]
	size := o.Typ.DType.Size()
	row := part.Row / size
	if b.prog.line > 0 && row%b.prog.line == 0 && part.Stride%size == 0 {
		l := b.lineOf(o, &fuse.Access{Dims: []int{o.N / row, row}, Strides: []int{part.Stride / size, 1}})
		b.prog.lines = append(b.prog.lines, l)
		return l.ptr
	}
	s := vmPlace{out: &o, size: size, row: row, whole: part.Stride, parts: []uint8{b.newRegister(size).ptr}}
	b.prog.places = append(b.prog.places, s)
	return s.parts[0]
}

// placedRow returns the length of an operand's row if the sink i is a concatenation, else 0.
func (b *vmBuilder) placedRow(i int) int {
	n := &b.Program.Nodes[i]
	if n.Op != ir.Concat {
		return 0
	}
	return b.Program.Type(n.Inputs[0]).Shape[n.Attrs.(ir.AxisAttrs).Axis:].Size()
}

// asStored returns the pointer to a block of what the access reads, in its type in memory.
func (b *vmBuilder) asStored(a fuse.Access) uint8 {
	d := b.Program.Type(a.Source).DType
	if !d.IsHalf() {
		return b.operand(a)
	}
	if _, computed := b.ptrOf[a.Source]; computed && a.Dense {
		if _, ok := b.narrowed[a.Source]; !ok {
			b.narrow(a.Source, b.register(d.Size()).ptr)
		}
		return b.narrowed[a.Source]
	}
	// Values that are only moved must keep their bits. Widening would flush the smallest numbers.
	o := b.Operands[a.Source]
	if o.Skip(a.Offset * d.Size()); a.Dense && !(o.Mem.Bytes == d.Size() && o.N > 1) {
		return b.memory(o)
	}
	l, once := b.loadOf(o, &a, b.newRegister(d.Size()).ptr)
	if once {
		b.prog.once = append(b.prog.once, l)
	} else {
		b.prog.each = append(b.prog.each, l)
	}
	return l.ptr
}

// narrow stores a computed 16-bit value at a pointer.
func (b *vmBuilder) narrow(v ir.Value, ptr uint8) {
	b.prog.ops = append(b.prog.ops, narrowOp(b.Program.Type(v).DType, ptr, b.ptrOf[v]))
	b.narrowed[v] = ptr
}

// put stores elements [first, first+n) of the operands.
func (s *vmPlace) put(ptrs *[maxPointers]unsafe.Pointer, first, n int) {
	count, bytes := len(s.parts), s.row*s.size
	if s.turns && first%s.row == 0 && n%s.row == 0 {
		var from [4]unsafe.Pointer
		for i, p := range s.parts {
			from[i] = ptrs[p]
		}
		interleaveFrom(unsafe.Add(s.out.Ptr(), first*s.size*count), from[:count], bytes, 0, n/s.row)
		return
	}
	row, at := first/s.row, first%s.row
	for i, p := range s.parts {
		dst, src, rest := unsafe.Add(s.out.Ptr(), row*s.whole+i*bytes+at*s.size), ptrs[p], n
		if at > 0 { // the rest of a row
			m := min(rest, s.row-at)
			copy(plan.BytesAt(dst, m*s.size), plan.BytesAt(src, m*s.size))
			if rest -= m; rest == 0 {
				continue
			}
			dst, src = unsafe.Add(dst, s.whole-at*s.size), unsafe.Add(src, m*s.size)
		}
		whole := rest / s.row
		moveRows(dst, src, whole, bytes, s.whole, bytes)
		if rest -= whole * s.row; rest > 0 {
			copy(plan.BytesAt(unsafe.Add(dst, whole*s.whole), rest*s.size), plan.BytesAt(unsafe.Add(src, whole*bytes), rest*s.size))
		}
	}
}
