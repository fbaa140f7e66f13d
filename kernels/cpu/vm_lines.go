package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Units that read long lines through slices run line by line: a block is a line or part of one. Its elements are
// contiguous in each operand, so nothing has to be copied into a register first.

const (
	shortestLine = 48   // for shorter ones, copying costs less than a block for each
	placedLine   = 192  // the same if each block goes into a concatenation
	longestLine  = 4096 // if the unit has sinks, which need whole lines
)

// vmLine is an operand whose blocks are each contiguous in memory.
type vmLine struct {
	vmMemory
	access fuse.Access
	step   int // bytes from a block to the next, 0 if that varies
}

// at returns the address of block k, whose first element is number first.
func (l *vmLine) at(k, first int) unsafe.Pointer {
	if l.step > 0 {
		return unsafe.Add(l.o.Ptr(), k*l.step)
	}
	at, a := 0, &l.access
	for d := len(a.Dims) - 1; d > 0 && first > 0; d-- {
		rest := first / a.Dims[d]
		at += (first - rest*a.Dims[d]) * a.Strides[d]
		first = rest
	}
	if first > 0 {
		at += first * a.Strides[0]
	}
	return unsafe.Add(l.o.Ptr(), at*l.size)
}

// lines returns the pointer to a block of what an access in lines reads.
func (b *vmBuilder) lines(o plan.Operand, a *fuse.Access) uint8 {
	l := b.lineOf(o, a)
	b.prog.lines = append(b.prog.lines, l)
	return b.widened(o.Typ.DType, l.ptr)
}

// lineOf returns the operand for an access in lines.
func (b *vmBuilder) lineOf(o plan.Operand, a *fuse.Access) vmLine {
	size := o.Typ.DType.Size()
	o.Skip(a.Offset * size)
	l := vmLine{vmMemory{o: o, size: size, ptr: b.newPointer()}, *a, 0}
	if len(a.Dims) == 2 && b.prog.block == a.Dims[1] {
		l.step = a.Strides[0] * size
	}
	return l
}

// isLines reports whether an access reads lines of consecutive elements.
func isLines(a *fuse.Access) bool {
	n := len(a.Dims)
	period, _ := a.Repetition()
	return !a.Dense && n > 1 && a.Strides[n-1] == 1 && period == 0
}

// findLine sets the length of the lines that all operands read in lines have in common, or 0 if no operand is read in
// lines or they are too short.
func (b *vmBuilder) findLine() {
	if b.u.Rows > 0 {
		return
	}
	line := 0
	for _, a := range b.u.Accesses {
		if !isLines(&a) {
			continue
		}
		run := a.Dims[len(a.Dims)-1]
		if line == 0 || run < line {
			line = run
		}
	}
	if b.longRows() {
		if b.prog.line = b.u.Columns; line >= shortestLine && line < b.u.Columns && b.u.Columns%line == 0 {
			b.prog.line = line
		}
		return
	}
	if line == 0 {
		b.prog.line = b.rowOfNumbers()
		return
	}
	if line < shortestLine || b.u.Columns > 0 && b.u.Columns != line || len(b.u.Sinks) > 0 && line > longestLine {
		return
	}
	for _, a := range b.u.Accesses {
		period, _ := a.Repetition()
		if isLines(&a) && a.Dims[len(a.Dims)-1]%line != 0 || period > 1 && line%period != 0 {
			return
		}
	}
	for _, i := range b.u.Sinks {
		if b.Program.Nodes[i].Op == ir.Concat && (line < placedLine || line%b.placedRow(i) != 0) {
			return
		}
	}
	b.prog.line = line
}

// longRows reports whether the unit's sinks reduce rows so long that a block holds only part of one.
func (b *vmBuilder) longRows() bool { return b.u.Columns > fuse.MaxColumns }

// cutLine sets the number of elements of a block: a line, or part of it if the line is much longer than most and no
// sink needs it whole.
func (p *vmProgram) cutLine(most int, whole bool) {
	p.parts = 1
	if p.block = p.line; p.line > 2*most && !whole {
		p.parts = (p.line + most - 1) / most
		p.block = ((p.line+p.parts-1)/p.parts + vectorElements - 1) / vectorElements * vectorElements
		p.parts = (p.line + p.block - 1) / p.block
	}
}

// blocks returns the number of blocks.
func (p *vmProgram) blocks() int {
	if p.line > 0 {
		return p.n / p.line * p.parts
	}
	return (p.n + p.block - 1) / p.block
}

// bounds returns the first element of block k and its number of elements.
func (p *vmProgram) bounds(k int) (first, n int) {
	if p.parts > 1 {
		line, at := k/p.parts*p.line, k%p.parts*p.block
		return line + at, min(p.block, p.line-at)
	}
	first = k * p.block
	return first, min(p.block, p.n-first)
}
