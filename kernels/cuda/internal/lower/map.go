package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// elements writes a kernel with one thread per element of a value, including everything inlined into it.
func (s *scope) elements(v ir.Value) {
	t := s.p.Type(v)
	if t.Shape.Size() == 0 {
		return
	}
	n := s.makers[v]
	g := s.kernel(n)
	g.commit(v)
	to := g.place(g.places[v])
	g.each(t.Shape.Size(), func(thread ptx.Operand) {
		x := at(t.Shape, thread)
		r := g.register(t.DType, inlined[n.Op](g, n, x))
		g.store(t.DType, g.element(to, thread, t.DType.Size()), r)
	})
}

const (
	wovenThreads = 1 << 20 // from this many elements on a thread computes several: there are enough threads
	wovenMost    = 4
	wovenLong    = 800 // maximum number of their instructions together
)

// each writes the rest of a kernel that computes n elements.
func (g *gen) each(n int, write func(thread ptx.Operand)) {
	if g.wovenOf(n) > 1 {
		g.joint([]part{{n: n, write: write}})
		return
	}
	thread, grid, block := g.threads(n)
	write(thread)
	g.launch(grid, block)
}

// wovenOf is the number of elements that a thread may compute, out of n.
func (g *gen) wovenOf(n int) int {
	most, least := 1, wovenThreads
	if g.options.Several > 0 {
		least = g.options.Several
	}
	for n >= max(least, 512) && most < wovenMost && n%(512*most) == 0 {
		most *= 2
	}
	return most
}

// several writes the code for one element or for several, whose distance is the block size; their instructions are
// interleaved, so that the thread waits for memory once. It returns the number of elements.
func (g *gen) several(n int, first func(each int) ptx.Operand, block int, write func(thread ptx.Operand)) int {
	base, each := g.k.Reg(ptx.B32), 1
	later := g.k.Later(func() {
		each = g.k.Weave(g.wovenOf(n), wovenLong, func(i int) {
			g.apart(func() { write(g.k.Op(ptx.B32, "add.s32", base, ptx.Int32(int64(i*block)))) })
		})
	})
	g.assign(base, first(each))
	later()
	return each
}

// commit declares the value that the kernel writes, and stops the kernel on failure if that replaces an input.
func (g *gen) commit(v ir.Value) {
	g.root, g.rooted = v, true
	if g.committed[v] {
		g.stopOnFailure()
	}
}

func aligned(p Place, n int) bool {
	for _, s := range p.Strides {
		if s.Bytes%int64(n) != 0 {
			return false
		}
	}
	return p.Offset%int64(n) == 0
}

// check writes a kernel of one block that looks for the first invalid element and sets the failure flag, unless the
// flag is set already.
func (s *scope) check(n *ir.Node, what check) {
	t := s.p.Type(what.value)
	count := t.Shape.Size()
	if count == 0 {
		return
	}
	note := Check{Scope: n.Scope, Op: n.Op, Axis: what.axis, Length: what.length}
	if a, ok := n.Attrs.(ir.CheckFiniteAttrs); ok {
		note.finite, note.shape = a, t.Shape
	}
	s.plan.Checks = append(s.plan.Checks, note)
	g := s.kernel(n)
	g.args = append(g.args, Arg{Kind: Flag}, Arg{Kind: Number})
	flag, number := g.k.Pointer(), g.k.Param()
	k := g.k
	block := 32
	for block < 256 && block < count {
		block *= 2
	}
	shared := k.Shared(block * 4)
	tid := k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	first := g.mov(ptx.B32, ptx.Int32(-1))
	g.loop(tid, ptx.Int32(int64(count)), block, func(i ptx.Operand) {
		k.To(first, "min.u32", first, g.wrongElement(what, t, i))
	})
	slot := k.Op(ptx.B32, "mad.lo.s32", tid, ptx.Int32(4), g.shared(shared))
	k.To(address(slot), "st.shared.b32", first)
	for half := block / 2; half > 0; half /= 2 {
		k.Barrier()
		skip := k.Label()
		k.BranchIf(g.compare("ge", "u32", tid, ptx.Int32(int64(half))), skip)
		mine := k.Op(ptx.B32, "ld.shared.b32", address(slot))
		theirs := k.Op(ptx.B32, "ld.shared.b32", ptx.Raw("["+slot.String()+"+"+itoa(half*4)+"]"))
		k.To(address(slot), "st.shared.b32", k.Op(ptx.B32, "min.u32", mine, theirs))
		k.Place(skip)
	}
	k.BranchIf(g.compare("ne", "s32", tid, ptx.Int32(0)), g.exit)
	found := k.Op(ptx.B32, "ld.shared.b32", address(slot))
	k.BranchIf(g.compare("eq", "s32", found, ptx.Int32(-1)), g.exit)
	set := k.Op(ptx.B32, "ld.global.u32", address(flag))
	k.BranchIf(g.compare("ne", "s32", set, ptx.Int32(0)), g.exit)
	k.To(ptx.Raw("["+flag.String()+"+16]"), "st.global.b64", g.told(what, t, found))
	k.To(ptx.Raw("["+flag.String()+"+8]"), "st.global.b32", g.mov(ptx.B32, ptx.Int32(int64(len(s.plan.Checks)-1))))
	k.To(ptx.Raw("["+flag.String()+"+4]"), "st.global.b32", k.Op(ptx.B32, "cvt.u32.u64", number))
	k.To(address(flag), "st.global.b32", g.mov(ptx.B32, ptx.Int32(1)))
	g.launch([3]int{1, 1, 1}, block)
}

// wrongElement returns the number of an invalid element, -1 for a valid one.
func (g *gen) wrongElement(what check, t ir.Type, i ptx.Operand) ptx.Operand {
	x := at(t.Shape, i)
	if what.length == notFinite {
		return g.pick(g.isFinite(what.value, x), ptx.Int32(-1), i)
	}
	c := classOf(t.DType)
	unsigned := map[ptx.Class]string{ptx.B32: "u32", ptx.B64: "u64"}[c]
	return g.pick(g.compare("ge", unsigned, g.mov(c, g.value(what.value, x)), g.integer(c, int64(what.length))), i, ptx.Int32(-1))
}

// told is what the failure flag records about an element, in 64 bits: the index, or the number of the element that is
// not finite.
func (g *gen) told(what check, t ir.Type, found ptx.Operand) ptx.Operand {
	v, c, signed := found, ptx.B32, false
	if what.length != notFinite {
		c, signed = classOf(t.DType), t.DType.IsSigned()
		v = g.mov(c, g.value(what.value, at(t.Shape, found)))
	}
	switch {
	case c == ptx.B32 && signed:
		return g.k.Op(ptx.B64, "cvt.s64.s32", v)
	case c == ptx.B32:
		return g.k.Op(ptx.B64, "cvt.u64.u32", v)
	}
	return v
}

// shared is the address of a part of the block's shared memory.
func (g *gen) shared(offset int) ptx.Operand {
	base := g.k.SharedBase()
	if offset == 0 {
		return base
	}
	return g.k.Op(ptx.B32, "add.s32", base, ptx.Int32(int64(offset)))
}
