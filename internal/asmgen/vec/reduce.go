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

	m.begin("", "largest", "x *float32, n uintptr", "float32")
	x, n = param("x"), param("n")
	largest, bad := m.vectors(4), m.vectors(4) // bad becomes NaN where an element was
	for i := range largest {
		VMOVUPS(constant("minusInfinity", 0xff800000), largest[i])
		VXORPS(bad[i], bad[i], bad[i])
	}
	m.loop(4, n, []reg.GPVirtual{x}, func(offsets []int) {
		for i, o := range offsets {
			v := m.vector()
			VMOVUPS(Mem{Base: x, Disp: o}, v)
			m.blend(m.compare(unordered, v, v), v, bad[i])
			VMAXPS(largest[i], v, largest[i]) // NaN is passed over
		}
	})
	for i := 1; i < 4; i++ {
		VMAXPS(largest[i], largest[0], largest[0])
		VADDPS(bad[i], bad[0], bad[0])
	}
	result := m.fold(largest[0], func(a, b, dst reg.VecVirtual) { VMAXPS(a, b, dst) })
	VADDSS(m.fold(bad[0], add), result, result)
	Store(result, ReturnIndex(0))
	end()
}
