package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// Compiled programs whose blocks differ by where they lie alone have a loop of their own: lines may be of some 50
// elements, whose computation takes less time than to find out what else a block might need.

// vmMove is a pointer that moves by so many bytes from block to block.
type vmMove struct {
	o     plan.Operand
	ptr   uint8
	bytes int
}

// findMoves sets the moves of a program of lines that needs nothing else between blocks.
func (p *vmProgram) findMoves() {
	if p.line == 0 || p.parts > 1 || len(p.each)+len(p.apart)+len(p.sinks)+len(p.places) > 0 {
		return
	}
	var moves []vmMove
	for i := range p.memory {
		m := &p.memory[i]
		if m.rows {
			return
		}
		moves = append(moves, vmMove{m.o, m.ptr, p.block * m.size})
	}
	for i := range p.lines {
		l := &p.lines[i]
		if l.step == 0 {
			return
		}
		moves = append(moves, vmMove{l.o, l.ptr, l.step})
	}
	for i := range p.numbers {
		m := &p.numbers[i]
		if !m.direct || m.step == 0 {
			return
		}
		moves = append(moves, vmMove{m.o, m.ptr, m.step})
	}
	p.moves = moves
}

// runMoves computes the blocks [lo, hi), each of them whole.
func (p *vmProgram) runMoves(w *worker, lo, hi int) {
	for k := lo; k < hi; k++ {
		if len(p.lookups) > 0 {
			p.startLookups(w, k*p.block)
		}
		for i := range p.moves {
			m := &p.moves[i]
			w.ptrs[m.ptr] = unsafe.Add(m.o.Ptr(), k*m.bytes)
		}
		p.runCompiled(w, p.block)
	}
}
