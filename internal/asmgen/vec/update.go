package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// optimizers emits the steps of optimizer.go in the package.
func (m machine) optimizers() {
	m.begin("", "adam", "w, m, v, gradient *float32, n uintptr, scalars unsafe.Pointer", "")
	w, mom, vel, g, n, scalars := param("w"), param("m"), param("v"), param("gradient"), param("n"), param("scalars")
	alpha, beta1, beta2 := m.broadcast(scalars, 0), m.broadcast(scalars, 1), m.broadcast(scalars, 2)
	epsilon, scale, decay := m.broadcast(scalars, 3), m.broadcast(scalars, 4), m.broadcast(scalars, 5)
	m.loop(2, n, []reg.GPVirtual{w, mom, vel, g}, func(offsets []int) {
		for _, o := range offsets {
			at := func(p reg.GPVirtual) Mem { return Mem{Base: p, Disp: o} }
			gi, mi, vi, wi, t := m.vector(), m.vector(), m.vector(), m.vector(), m.vector()
			VMULPS(at(g), scale, gi)
			VMOVUPS(at(mom), mi)
			VMOVUPS(at(vel), vi)
			VMOVUPS(at(w), wi)
			VSUBPS(mi, gi, t)
			VFMADD231PS(beta1, t, mi)
			VFMSUB213PS(vi, gi, gi) // g² − v
			VFMADD231PS(beta2, gi, vi)
			VMOVUPS(mi, at(mom))
			VMOVUPS(vi, at(vel))
			VSQRTPS(vi, vi)
			VADDPS(epsilon, vi, vi)
			VMULPS(alpha, mi, mi)
			VDIVPS(vi, mi, mi)
			VFNMADD231PS(decay, wi, wi)
			VSUBPS(mi, wi, wi)
			VMOVUPS(wi, at(w))
		}
	})
	end()

	for _, nesterov := range []bool{false, true} {
		name := "momentum"
		if nesterov {
			name = "nesterov"
		}
		m.begin("", name, "w, v, gradient *float32, n uintptr, scalars unsafe.Pointer", "")
		w, vel, g, n, scalars := param("w"), param("v"), param("gradient"), param("n"), param("scalars")
		rate, mu, decay := m.broadcast(scalars, 0), m.broadcast(scalars, 1), m.broadcast(scalars, 2)
		m.loop(4, n, []reg.GPVirtual{w, vel, g}, func(offsets []int) {
			for _, o := range offsets {
				at := func(p reg.GPVirtual) Mem { return Mem{Base: p, Disp: o} }
				step, vi, wi := m.vector(), m.vector(), m.vector()
				VMULPS(at(g), rate, step)
				VMOVUPS(at(vel), vi)
				VMOVUPS(at(w), wi)
				VFMSUB213PS(step, mu, vi)
				VMOVUPS(vi, at(vel))
				if nesterov {
					VFMSUB213PS(step, mu, vi)
				}
				VFNMADD231PS(decay, wi, wi)
				VADDPS(vi, wi, wi)
				VMOVUPS(wi, at(w))
			}
		})
		end()
	}
}

// conversions emits half precision to and from float32.
func (m machine) conversions() {
	half := func() reg.VecVirtual {
		if m.wide {
			return YMM()
		}
		return XMM()
	}
	m.begin("", "widenF16", "dst *float32, x unsafe.Pointer, n uintptr", "")
	dst, x, n := param("dst"), param("x"), param("n")
	m.loop(1, n, []reg.GPVirtual{dst}, func([]int) {
		v := m.vector()
		VCVTPH2PS(Mem{Base: x}, v)
		VMOVUPS(v, Mem{Base: dst})
		ADDQ(U32(m.bytes()/2), x)
	})
	end()

	m.begin("", "narrowF16", "dst unsafe.Pointer, x *float32, n uintptr", "")
	dst, x, n = param("dst"), param("x"), param("n")
	m.loop(1, n, []reg.GPVirtual{x}, func([]int) {
		v, h := m.vector(), half()
		VMOVUPS(Mem{Base: x}, v)
		VCVTPS2PH(U8(0), v, h)
		VMOVDQU(h, Mem{Base: dst})
		ADDQ(U32(m.bytes()/2), dst)
	})
	end()

	m.begin("", "widenBF16", "dst *float32, x unsafe.Pointer, n uintptr", "")
	dst, x, n = param("dst"), param("x"), param("n")
	m.loop(1, n, []reg.GPVirtual{dst}, func([]int) {
		v := m.vector()
		VPMOVZXWD(Mem{Base: x}, v)
		VPSLLD(U8(16), v, v)
		VMOVUPS(v, Mem{Base: dst})
		ADDQ(U32(m.bytes()/2), x)
	})
	end()

	m.begin("", "narrowBF16", "dst unsafe.Pointer, x *float32, n uintptr", "")
	dst, x, n = param("dst"), param("x"), param("n")
	m.loop(1, n, []reg.GPVirtual{x}, func([]int) {
		v, odd, quiet := m.vector(), m.vector(), m.vector()
		VMOVUPS(Mem{Base: x}, v)
		VORPS(constant("quietBit", 0x400000), v, quiet)
		nan := m.compare(unordered, v, v)
		VPSLLD(U8(15), v, odd) // the last bit that stays, as 0 or 1: ties go to even
		VPSRLD(U8(31), odd, odd)
		VPADDD(constant("belowHalf", 0x7fff), v, v)
		VPADDD(odd, v, v)
		m.blend(nan, quiet, v)
		VPSRLD(U8(16), v, v)
		if m.wide {
			h := YMM()
			VPMOVDW(v, h)
			VMOVDQU(h, Mem{Base: dst})
		} else {
			VPACKUSDW(v, v, v)
			VPERMQ(U8(0x08), v, v)
			h := XMM()
			VEXTRACTI128(U8(0), v, h)
			VMOVDQU(h, Mem{Base: dst})
		}
		ADDQ(U32(m.bytes()/2), dst)
	})
	end()
}
