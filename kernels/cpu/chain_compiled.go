package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Where package jit can make code, operations that follow each other run as that, and chains where it cannot.

// withCode is false where a test compares with chains.
var withCode = true

// compileSegments makes code of operations that follow each other. If there is none of two, there are no segments.
func (b *vmBuilder) compileSegments() {
	if !withCode || !withChains || b.prog.n < leastChain || !jit.Usable() {
		return
	}
	ops, useful := b.prog.ops, false
	var segments []vmSegment
	for first := 0; first < len(ops); {
		s := b.segment(first, len(ops))
		last := first + len(s.ops)
		if ops[first].chain.ok && b.worthCode(s.ops) {
			steps := make([]jit.Step, len(s.ops))
			for i := range steps {
				steps[i] = b.jitStep(first+i, last)
			}
			size := 4
			if s.double {
				size = 8
			}
			s.code = jit.Compile(steps, size, func(p uint8) bool { return b.splats[p] })
			useful = useful || s.code != nil
		}
		segments = append(segments, s)
		first = last
	}
	if useful {
		b.prog.compiled = segments
	}
}

// worthCode reports whether code is faster than kernels one by one.
func (b *vmBuilder) worthCode(ops []vmOp) bool {
	return len(ops) > 1 || ops[0].chain.half
}

// jitStep is operation i of a segment that ends before last.
func (b *vmBuilder) jitStep(i, last int) jit.Step {
	op := &b.prog.ops[i]
	return jit.Step{Op: op.chain.first, Dst: op.dst, In: [3]uint8{op.a, op.b, op.c}, Stored: b.leaves(i, last)}
}

// leaves reports whether the result of operation i is needed in memory after the segment that ends before last.
func (b *vmBuilder) leaves(i, last int) bool {
	ops, ptr := b.prog.ops, b.prog.ops[i].dst
	if !b.isRegister(ptr) {
		return true
	}
	for j := i + 1; j < len(ops); j++ {
		op := &ops[j]
		if j >= last && (op.a == ptr || op.b == ptr || op.c == ptr) {
			return true
		}
		if op.dst == ptr {
			return false
		}
	}
	for _, s := range b.prog.sinks {
		if s.ptr == ptr {
			return true
		}
	}
	return false
}

// runCompiled computes a block of n elements.
func (p *vmProgram) runCompiled(w *worker, n int) {
	for i := range p.compiled {
		if s := &p.compiled[i]; s.code != nil {
			s.code.Run(unsafe.Pointer(&w.ptrs), n)
		} else {
			p.runOps(&w.ptrs, s.ops, n)
		}
	}
}

// usable reports how the program may run here now: as code, as chains, or one by one.
func (p *vmProgram) usable() (code, chains bool) {
	return len(p.compiled) > 0 && jit.Usable(), len(p.segments) > 0 && vec.Chains()
}
