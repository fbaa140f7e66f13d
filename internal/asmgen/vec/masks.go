package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// storeBytes stores a mask as bytes of 0 and 1.
func (m machine) storeBytes(k mask, to Mem) {
	x := XMM()
	if m.wide {
		VMOVDQU8_Z(pattern(0x01010101), k.bits, x)
		VMOVDQU8(x, to)
		return
	}
	high, bits := XMM(), m.shift(VPSRLD, 31, k.lanes)
	VEXTRACTI128(U8(1), bits, high)
	VEXTRACTI128(U8(0), bits, x)
	VPACKUSDW(high, x, x)
	VPACKUSWB(x, x, x)
	VMOVQ(x, to)
}

// loadBytes is the mask of bytes other than 0.
func (m machine) loadBytes(from Mem) mask {
	if m.wide {
		x, k := XMM(), K()
		VMOVDQU8(from, x)
		VPTESTMB(x, x, k)
		return mask{bits: k}
	}
	v, zero := YMM(), YMM()
	VPMOVZXBD(from, v)
	VPXOR(zero, zero, zero)
	VPCMPGTD(zero, v, v)
	return mask{lanes: v}
}

// compareInt returns a predicate b of integers: equal or lessThan.
func (m machine) compareInt(predicate int, a, b vector) mask {
	if m.wide {
		k := K()
		if predicate == equal {
			VPCMPEQD(b, a, k)
		} else {
			VPCMPGTD(a, b, k)
		}
		return mask{bits: k}
	}
	v := YMM()
	if predicate == equal {
		VPCMPEQD(b, a, v)
	} else {
		VPCMPGTD(a, b, v)
	}
	return mask{lanes: v}
}

func (m machine) not(k mask) mask {
	if m.wide {
		r := K()
		KNOTW(k.bits, r)
		return mask{bits: r}
	}
	return mask{lanes: m.two(VXORPS, k.lanes, pattern(0xffffffff))}
}

// masks emits what makes bytes of floats and integers, and uses them.
func (m machine) masks() {
	comparisons := []struct {
		name string
		f    func(a, b vector) mask
	}{
		{"floatEqual", func(a, b vector) mask { return m.compare(equal, a, b) }},
		{"floatNotEqual", func(a, b vector) mask { return m.compare(notEqual, a, b) }},
		{"floatLess", func(a, b vector) mask { return m.compare(lessThan, a, b) }},
		{"floatLessEqual", func(a, b vector) mask { return m.compare(lessEqual, a, b) }},
		{"intEqual", func(a, b vector) mask { return m.compareInt(equal, a, b) }},
		{"intNotEqual", func(a, b vector) mask { return m.not(m.compareInt(equal, a, b)) }},
		{"intLess", func(a, b vector) mask { return m.compareInt(lessThan, a, b) }},
		{"intLessEqual", func(a, b vector) mask { return m.not(m.compareInt(lessThan, b, a)) }},
	}
	for _, c := range comparisons {
		m.begin("compare", c.name, "dst, a, b unsafe.Pointer, n uintptr", "")
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		m.loop(4, n, []reg.GPVirtual{a, b}, func(offsets []int) {
			for _, o := range offsets {
				k := c.f(m.copy(Mem{Base: a, Disp: o}), m.copy(Mem{Base: b, Disp: o}))
				m.storeBytes(k, Mem{Base: dst, Disp: o / 4})
			}
			ADDQ(U32(len(offsets)*m.bytes()/4), dst)
		})
		end()
	}
	tests := []struct {
		name string
		f    func(x vector) mask
	}{
		{"floatNotZero", func(x vector) mask { return m.compare(notEqual, x, m.zeros(1)[0]) }},
		{"floatFinite", func(x vector) mask { return m.compare(lessThan, m.abs(x), pattern(0x7f800000)) }},
	}
	for _, c := range tests {
		m.begin("test", c.name, "dst, x unsafe.Pointer, n uintptr", "")
		dst, x, n := param("dst"), param("x"), param("n")
		m.loop(4, n, []reg.GPVirtual{x}, func(offsets []int) {
			for _, o := range offsets {
				m.storeBytes(c.f(m.copy(Mem{Base: x, Disp: o})), Mem{Base: dst, Disp: o / 4})
			}
			ADDQ(U32(len(offsets)*m.bytes()/4), dst)
		})
		end()
	}

	m.begin("", "choose", "dst, bytes, a, b unsafe.Pointer, n uintptr", "")
	dst, bytes, a, b, n := param("dst"), param("bytes"), param("a"), param("b"), param("n")
	m.loop(4, n, []reg.GPVirtual{dst, a, b}, func(offsets []int) {
		for _, o := range offsets {
			k := m.loadBytes(Mem{Base: bytes, Disp: o / 4})
			VMOVUPS(m.choose(k, Mem{Base: a, Disp: o}, Mem{Base: b, Disp: o}), Mem{Base: dst, Disp: o})
		}
		ADDQ(U32(len(offsets)*m.bytes()/4), bytes)
	})
	end()

	m.begin("", "fromBytes", "dst, x unsafe.Pointer, n uintptr", "")
	dst, x, n := param("dst"), param("x"), param("n")
	m.loop(4, n, []reg.GPVirtual{dst}, func(offsets []int) {
		for _, o := range offsets {
			v := m.vector()
			VPMOVZXBD(Mem{Base: x, Disp: o / 4}, v)
			VMOVUPS(m.float(v), Mem{Base: dst, Disp: o})
		}
		ADDQ(U32(len(offsets)*m.bytes()/4), x)
	})
	end()
}

// integers emits arithmetic on 32-bit integers and their conversions.
func (m machine) integers() {
	for _, k := range []struct {
		name string
		f    func(a, b vector) vector
	}{
		{"addInt", func(a, b vector) vector { return m.two(VPADDD, a, b) }},
		{"subInt", func(a, b vector) vector { return m.two(VPSUBD, a, b) }},
		{"mulInt", func(a, b vector) vector { return m.two(VPMULLD, a, b) }},
		{"maxInt", func(a, b vector) vector { return m.two(VPMAXSD, a, b) }},
		{"minInt", func(a, b vector) vector { return m.two(VPMINSD, a, b) }},
	} {
		m.begin("integer", k.name, "dst, a, b unsafe.Pointer, n uintptr", "")
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		m.loop(4, n, []reg.GPVirtual{dst, a, b}, func(offsets []int) {
			for _, o := range offsets {
				VMOVUPS(k.f(m.copy(Mem{Base: a, Disp: o}), m.copy(Mem{Base: b, Disp: o})), Mem{Base: dst, Disp: o})
			}
		})
		end()
	}
	for _, k := range []struct {
		name string
		f    func(x vector) vector
	}{
		{"intToFloat", m.float},
		{"floatToInt", func(x vector) vector { // saturates; NaN gives 0
			y := m.vector()
			VCVTTPS2DQ(x, y)
			y = m.choose(m.compare(greaterThan, x, number(2147483520)), pattern(0x7fffffff), y)
			return m.choose(m.compare(unordered, x, x), pattern(0), y)
		}},
	} {
		m.begin("integerConversion", k.name, "dst, x unsafe.Pointer, n uintptr", "")
		dst, x, n := param("dst"), param("x"), param("n")
		m.loop(4, n, []reg.GPVirtual{dst, x}, func(offsets []int) {
			for _, o := range offsets {
				VMOVUPS(k.f(m.copy(Mem{Base: x, Disp: o})), Mem{Base: dst, Disp: o})
			}
		})
		end()
	}
}
