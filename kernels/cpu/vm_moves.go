package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
)

// If the blocks of a compiled program differ only in their addresses, they run in a simple loop. A line may have only
// some 50 elements, and computing them takes less time than checking what else a block might need.

// vmMove is a pointer that moves by a fixed number of bytes from block to block.
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
	if s := p.compiled; len(s) == 1 && s[0].code != nil && !s[0].rows && len(p.lookups) == 0 {
		p.steps = new([maxPointers]int)
		for _, m := range moves {
			p.steps[m.ptr] = m.bytes
		}
	}
}

// longestRun is how many elements compiled code computes at most before it returns, because nothing can interrupt it.
const longestRun = 1 << 14

// runMoves computes blocks [lo, hi), all of full length.
func (p *vmProgram) runMoves(w *worker, lo, hi int) {
	if p.steps != nil {
		for most := max(longestRun/p.block, 1); lo < hi; lo += most {
			p.point(w, lo)
			p.compiled[0].code.RunLines(unsafe.Pointer(&w.ptrs), p.block, min(hi-lo, most), unsafe.Pointer(p.steps))
		}
		return
	}
	for k := lo; k < hi; k++ {
		if len(p.lookups) > 0 {
			p.startLookups(w, k*p.block)
		}
		p.point(w, k)
		p.runCompiled(w, p.block)
	}
}

// point sets the moving pointers to block k.
func (p *vmProgram) point(w *worker, k int) {
	for i := range p.moves {
		m := &p.moves[i]
		w.ptrs[m.ptr] = unsafe.Add(m.o.Ptr(), k*m.bytes)
	}
}
