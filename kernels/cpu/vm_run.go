package cpu

import "unsafe"

// compile decides how the operations run: as compiled code, as chains or one by one.
func (b *vmBuilder) compile() {
	b.findApart()
	b.chain()
	b.compileSegments()
	b.findDirect()
	b.prog.findMoves()
}

// loop returns the function that runs the program.
func (b *vmBuilder) loop(rt *runtime) func() {
	prog := b.prog
	rt.need(prog.scratch)
	loop := rt.parallel(prog.blocks(), prog.grain, func(w *worker, lo, hi int) { prog.run(w, lo, hi) })
	if len(prog.sinks) == 0 && len(prog.lookups) == 0 {
		return loop
	}
	return func() {
		loop()
		for i := range prog.sinks {
			prog.sinks[i].finish()
		}
		for _, l := range prog.lookups {
			l.finish(rt)
		}
	}
}

// run computes blocks [lo, hi).
func (p *vmProgram) run(w *worker, lo, hi int) {
	ptrs := &w.ptrs
	code, chains := p.usable()
	base := unsafe.Pointer(unsafe.SliceData(w.scratch))
	for _, r := range p.registers {
		ptrs[r.ptr] = unsafe.Add(base, r.offset)
	}
	for i := range p.scalars {
		ptrs[p.scalars[i].ptr] = p.scalars[i].o.Ptr()
	}
	for i := range p.once {
		l := &p.once[i]
		l.fill(ptrs[l.ptr], 0, min(p.block, p.n))
	}
	for i := range p.onceOps {
		op := &p.onceOps[i]
		op.fn(ptrs[op.dst], ptrs[op.a], nil, nil, p.block)
	}
	if code && len(p.moves) > 0 {
		p.runMoves(w, lo, hi)
		return
	}
	for k := lo; k < hi; k++ {
		first, n := p.bounds(k)
		if len(p.lookups) > 0 {
			p.startLookups(w, first)
		}
		for i := range p.memory {
			m, at := &p.memory[i], first
			if m.rows {
				at /= p.columns
			}
			ptrs[m.ptr] = unsafe.Add(m.o.Ptr(), at*m.size)
		}
		for i := range p.lines {
			l := &p.lines[i]
			ptrs[l.ptr] = l.at(k, first)
		}
		for i := range p.numbers {
			p.numbers[i].take(ptrs, code, k, first, n)
		}
		for i := range p.each {
			if l := &p.each[i]; k == lo || p.parts > 1 || !l.holds(first, n, p.block) {
				l.fill(ptrs[l.ptr], first, n)
			}
		}
		for _, a := range p.apart {
			a.fill(ptrs, first, n)
		}
		switch {
		case code:
			p.runCompiled(w, n)
		case chains:
			p.runSegments(w, n)
		default:
			p.runOps(ptrs, p.ops, n)
		}
		for i := range p.sinks {
			s := &p.sinks[i]
			s.take(ptrs[s.ptr], ptrs[s.other], k, k == lo, n)
		}
		for i := range p.places {
			p.places[i].put(ptrs, first, n)
		}
	}
}

func (p *vmProgram) runOps(ptrs *[maxPointers]unsafe.Pointer, ops []vmOp, n int) {
	for i := range ops {
		op, m := &ops[i], n
		if op.rows {
			m /= p.columns
		}
		op.fn(ptrs[op.dst], ptrs[op.a], ptrs[op.b], ptrs[op.c], m)
	}
}
