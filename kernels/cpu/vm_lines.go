package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Units that read lines through slices run line by line where lines are long: a block is a line, or a part of one,
// whose elements lie side by side in each operand, so that nothing is copied into a register first.

const (
	shortestLine = 48   // for shorter ones, copies cost less than a block for each
	placedLine   = 192  // and where each block is put into a concatenation
	longestLine  = 4096 // of units with sinks, which take whole lines
)

// vmLine is an operand of which every block is a piece of memory.
type vmLine struct {
	vmMemory
	access fuse.Access
	step   int // bytes from a block to the next one, 0 where they differ
}

// at is where block k lies, which begins at element first.
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

// lines returns the pointer to a block of what an access to lines yields.
func (b *vmBuilder) lines(o plan.Operand, a *fuse.Access) uint8 {
	l := b.lineOf(o, a)
	b.prog.lines = append(b.prog.lines, l)
	return b.widened(o.Typ.DType, l.ptr)
}

// lineOf returns an operand that lies where an access to lines begins in each block.
func (b *vmBuilder) lineOf(o plan.Operand, a *fuse.Access) vmLine {
	size := o.Typ.DType.Size()
	o.Skip(a.Offset * size)
	l := vmLine{vmMemory{o: o, size: size, ptr: b.newPointer()}, *a, 0}
	if len(a.Dims) == 2 && b.prog.block == a.Dims[1] {
		l.step = a.Strides[0] * size
	}
	return l
}

// isLines reports whether an access reads lines, each from consecutive elements.
func isLines(a *fuse.Access) bool {
	n := len(a.Dims)
	period, _ := a.Repetition()
	return !a.Dense && n > 1 && a.Strides[n-1] == 1 && period == 0
}

// findLine sets the length of the lines that all operands share which are read in lines, 0 if there are none or they
// are short.
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

// longRows reports whether the unit's sinks combine rows of which a block holds a part.
func (b *vmBuilder) longRows() bool { return b.u.Columns > fuse.MaxColumns }

// cutLine sets the number of elements of a block: a line, or one of the parts of a line that is much longer than the
// given number and that no sink takes whole.
func (p *vmProgram) cutLine(most int, whole bool) {
	p.parts = 1
	if p.block = p.line; p.line > 2*most && !whole {
		p.parts = (p.line + most - 1) / most
		p.block = ((p.line+p.parts-1)/p.parts + vectorElements - 1) / vectorElements * vectorElements
		p.parts = (p.line + p.block - 1) / p.block
	}
}

// blocks is the number of blocks.
func (p *vmProgram) blocks() int {
	if p.line > 0 {
		return p.n / p.line * p.parts
	}
	return (p.n + p.block - 1) / p.block
}

// bounds are the first element of block k and the number of its elements.
func (p *vmProgram) bounds(k int) (first, n int) {
	if p.parts > 1 {
		line, at := k/p.parts*p.line, k%p.parts*p.block
		return line + at, min(p.block, p.line-at)
	}
	first = k * p.block
	return first, min(p.block, p.n-first)
}
