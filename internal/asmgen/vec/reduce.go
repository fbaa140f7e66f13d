package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fold reduces the lanes of v to one number with a commutative instruction and returns it.
func (m machine) fold(v reg.VecVirtual, f func(a, b, dst reg.VecVirtual)) reg.VecVirtual {
	low := YMM()
	if m.wide {
		top := YMM()
		VEXTRACTF64X4(U8(1), v, top)
		VEXTRACTF64X4(U8(0), v, low)
		f(top, low, low)
	} else {
		VMOVAPS(v, low)
	}
	x, y := XMM(), XMM()
	VEXTRACTF128(U8(1), low, y)
	VEXTRACTF128(U8(0), low, x)
	f(y, x, x)
	VPERMILPS(U8(0x4e), x, y)
	f(y, x, x)
	VPERMILPS(U8(0xb1), x, y)
	f(y, x, x)
	return x
}

func (m machine) reductions() {
	add := func(a, b, dst reg.VecVirtual) { VADDPS(a, b, dst) }
	sums := func() vectors {
		s := m.vectors(4)
		s.each(func(i int) { VXORPS(s[i], s[i], s[i]) })
		return s
	}
	total := func(s vectors) {
		VADDPS(s[2], s[0], s[0])
		VADDPS(s[3], s[1], s[1])
		VADDPS(s[1], s[0], s[0])
		Store(m.fold(s[0], add), ReturnIndex(0))
	}

	m.begin("", "sum", "x *float32, n uintptr", "float32")
	x, n := param("x"), param("n")
	s := sums()
	m.loop(4, n, []reg.GPVirtual{x}, func(offsets []int) {
		for i, o := range offsets {
			VADDPS(Mem{Base: x, Disp: o}, s[i], s[i])
		}
	})
	total(s)
	end()

	m.begin("", "dot", "x, y *float32, n uintptr", "float32")
	x, y, n := param("x"), param("y"), param("n")
	s = sums()
	m.loop(4, n, []reg.GPVirtual{x, y}, func(offsets []int) {
		for i, o := range offsets {
			v := m.vector()
			VMOVUPS(Mem{Base: x, Disp: o}, v)
			VFMADD231PS(Mem{Base: y, Disp: o}, v, s[i])
		}
	})
	total(s)
	end()

	m.extreme("largest", 0xff800000, func(b, a, dst reg.VecVirtual) { VMAXPS(b, a, dst) })
	m.extreme("smallest", 0x7f800000, func(b, a, dst reg.VecVirtual) { VMINPS(b, a, dst) })
}

// extreme emits the largest or the smallest of elements, from a start on; NaN if there is one.
func (m machine) extreme(name string, start uint32, f func(b, a, dst reg.VecVirtual)) {
	m.begin("", name, "x *float32, n uintptr", "float32")
	x, n := param("x"), param("n")
	most, bad := m.vectors(4), m.vectors(4) // bad becomes NaN where an element was
	for i := range most {
		VMOVUPS(pattern(start), most[i])
		VXORPS(bad[i], bad[i], bad[i])
	}
	m.loop(4, n, []reg.GPVirtual{x}, func(offsets []int) {
		for i, o := range offsets {
			v := m.vector()
			VMOVUPS(Mem{Base: x, Disp: o}, v)
			m.blend(m.compare(unordered, v, v), v, bad[i])
			f(most[i], v, most[i]) // NaN is passed over
		}
	})
	for i := 1; i < 4; i++ {
		f(most[i], most[0], most[0])
		VADDPS(bad[i], bad[0], bad[0])
	}
	result := m.fold(most[0], f)
	VADDSS(m.fold(bad[0], func(a, b, dst reg.VecVirtual) { VADDPS(a, b, dst) }), result, result)
	Store(result, ReturnIndex(0))
	end()
}

// expAffine: dst = c·exp(a·x + b), and the sum of it.
func (m machine) expAffine() {
	m.begin("", "expAffine", "dst, x *float32, n uintptr, scalars unsafe.Pointer", "float32")
	dst, x, n, scalars := param("dst"), param("x"), param("n"), param("scalars")
	a, b, c := m.broadcast(scalars, 0), m.broadcast(scalars, 1), m.broadcast(scalars, 2)
	unroll := 2 // as many as there are registers for
	if m.wide {
		unroll = 4
	}
	s := m.zeros(unroll)
	m.loop(unroll, n, []reg.GPVirtual{dst, x}, func(offsets []int) {
		v := m.vectors(len(offsets))
		for i, o := range offsets {
			VMOVUPS(Mem{Base: x, Disp: o}, v[i])
			VFMADD213PS(b, a, v[i])
		}
		v = m.exp(v)
		for i, o := range offsets {
			VMULPS(c, v[i], v[i])
			VADDPS(v[i], s[i], s[i])
			VMOVUPS(v[i], Mem{Base: dst, Disp: o})
		}
	})
	for i := unroll / 2; i > 0; i /= 2 {
		for j := range i {
			VADDPS(s[i+j], s[j], s[j])
		}
	}
	Store(m.fold(s[0], func(a, b, dst reg.VecVirtual) { VADDPS(a, b, dst) }), ReturnIndex(0))
	end()
}

// affineMul: dst = (a·x + b)·y.
func (m machine) affineMul() {
	m.begin("", "affineMul", "dst, x, y *float32, n uintptr, scalars unsafe.Pointer", "")
	dst, x, y, n, scalars := param("dst"), param("x"), param("y"), param("n"), param("scalars")
	a, b := m.broadcast(scalars, 0), m.broadcast(scalars, 1)
	m.loop(4, n, []reg.GPVirtual{dst, x, y}, func(offsets []int) {
		for _, o := range offsets {
			v := m.vector()
			VMOVUPS(Mem{Base: x, Disp: o}, v)
			VFMADD213PS(b, a, v)
			VMULPS(Mem{Base: y, Disp: o}, v, v)
			VMOVUPS(v, Mem{Base: dst, Disp: o})
		}
	})
	end()
}
