package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Some operands are one number for each row. If blocks lie within a row, compiled code reads the number from memory
// once for each block. Filling a register with copies first would take as long as a cheap operation.

// The least length of rows that become blocks if no operand is read in lines, in general and if code goes from row to
// row by itself.
const (
	numbersLine = 128
	codeLine    = 24
)

// vmNumber is an operand of one number for each row.
type vmNumber struct {
	vmLine
	load   vmLoad // of copies into a register, for operations that are not compiled
	direct bool   // only compiled code reads the operand
}

// isRowNumber reports whether an access reads one element for each row, of a type that compiled code can hold in a
// register as a single number.
func (b *vmBuilder) isRowNumber(a *fuse.Access) bool {
	d := b.Program.Type(a.Source).DType
	n := len(a.Dims)
	return n > 1 && a.Strides[n-1] == 0 && !d.IsHalf() && d != ir.Bool && d.Size() >= 4
}

// rowOfNumbers returns the length of rows that should become blocks because some operands are one number for each row.
// It returns 0 if there are none, or if another operand would then be copied more often.
func (b *vmBuilder) rowOfNumbers() int {
	if len(b.u.Sinks) > 0 {
		return 0
	}
	row := 0
	for _, a := range b.u.Accesses {
		if b.isRowNumber(&a) {
			if n := a.Dims[len(a.Dims)-1]; row == 0 || n < row {
				row = n
			}
		}
	}
	if row < b.leastRow {
		return 0
	}
	for _, a := range b.u.Accesses {
		switch length, count := a.Repetition(); {
		case a.Dense, a.Scalar():
		case b.isRowNumber(&a):
			if a.Dims[len(a.Dims)-1]%row != 0 {
				return 0
			}
		case length == 0, row%length != 0, length*count < b.u.Size:
			return 0
		}
	}
	return row
}

// byShortRows compiles the unit with short rows as blocks. It returns nil unless code computes all of the unit and goes
// from row to row by itself.
func (b *vmBuilder) byShortRows(bytes int) *vmBuilder {
	if !jit.Usable() || len(b.u.Sinks) > 0 {
		return nil
	}
	if b = b.again(codeLine); b.prog.line == 0 || b.prog.line >= numbersLine {
		return nil
	}
	b.chooseBlock(bytes)
	b.compileNodes()
	b.chooseGrain()
	if b.compile(); b.prog.steps == nil {
		return nil
	}
	return b
}

// rowNumber returns the pointer to the number that an access reads for the row of a block.
func (b *vmBuilder) rowNumber(o plan.Operand, a *fuse.Access) uint8 {
	size := o.Typ.DType.Size()
	n := vmNumber{vmLine: b.lineOf(o, a)}
	o.Skip(a.Offset * size)
	n.load, _ = b.loadOf(o, a, b.newRegister(size).ptr)
	b.prog.numbers = append(b.prog.numbers, n)
	b.splats[n.ptr] = true
	return n.ptr
}

// findDirect finds the operands that only compiled code reads, as single numbers.
func (b *vmBuilder) findDirect() {
	for i := range b.prog.numbers {
		n := &b.prog.numbers[i]
		n.direct = b.prog.code != nil
		for k := range b.prog.compiled {
			s := &b.prog.compiled[k]
			for j := range s.ops {
				op := &s.ops[j]
				reads := op.a == n.ptr || op.b == n.ptr || op.c == n.ptr
				n.direct = n.direct && !(reads && (s.code == nil || op.chain.first == jit.Convert || op.chain.first == jit.ConvertOdd))
			}
		}
	}
}

// take sets the pointer to the number itself, or to a register with copies of it.
func (m *vmNumber) take(ptrs *[maxPointers]unsafe.Pointer, code bool, k, first, n int) {
	if code && m.direct {
		ptrs[m.ptr] = m.at(k, first)
		return
	}
	ptrs[m.ptr] = ptrs[m.load.ptr]
	m.load.fill(ptrs[m.ptr], first, n)
}
