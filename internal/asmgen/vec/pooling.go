package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pixelSize returns how many bytes of a pixel are done, how many it has, and the difference.
func pixelSize() (length, size, rest reg.GPVirtual) {
	length, size, rest = param("length"), param("size"), GP64()
	MOVQ(size, rest)
	SUBQ(length, rest)
	return length, size, rest
}

// nextWindow moves pointers that have walked over length bytes of a pixel to the next window, which is two pixels or one further.
func nextWindow(size, rest reg.GPVirtual, two, one []reg.GPVirtual) {
	for _, p := range one {
		ADDQ(rest, p)
	}
	for _, p := range two {
		ADDQ(rest, p)
		ADDQ(size, p)
	}
}

// pooling emits one row of windows of the 2x2 maximum and of its gradient; size is the bytes of a pixel's channels. Of each pixel length
// bytes are done, a multiple of the vector's. Windows come in order: what is stored behind a pixel is the next one's.
func (m machine) pooling() {
	m.begin("", "maxPoolRow", "dst, x0, x1 *float32, windows, length, size uintptr", "")
	dst, x0, x1, windows := param("dst"), param("x0"), param("x1"), param("windows")
	length, size, rest := pixelSize()
	Label("window")
	left := GP64()
	MOVQ(length, left)
	Label("channel")
	a, b, c, d, top := m.vector(), m.vector(), m.vector(), m.vector(), m.vector()
	VMOVUPS(Mem{Base: x0}, a)
	VMOVUPS(Mem{Base: x0}.Idx(size, 1), b)
	VMOVUPS(Mem{Base: x1}, c)
	VMOVUPS(Mem{Base: x1}.Idx(size, 1), d)
	bad := m.or(m.compare(unordered, a, b), m.compare(unordered, c, d))
	VMAXPS(a, b, top)
	VMAXPS(c, d, c)
	VMAXPS(c, top, top)
	m.blend(bad, notANumber(), top)
	VMOVUPS(top, Mem{Base: dst})
	for _, p := range []reg.GPVirtual{dst, x0, x1} {
		ADDQ(U32(m.bytes()), p)
	}
	SUBQ(U32(m.bytes()), left)
	JNE(LabelRef("channel"))
	nextWindow(size, rest, []reg.GPVirtual{x0, x1}, []reg.GPVirtual{dst})
	DECQ(windows)
	JNE(LabelRef("window"))
	end()

	for _, relu := range []bool{false, true} {
		name := "maxPoolRowGrad"
		if relu {
			name += "Relu"
		}
		m.begin("", name, "d0, d1, dy, x0, x1, y *float32, windows, length, size uintptr", "")
		d0, d1, dy, x0, x1, y := param("d0"), param("d1"), param("dy"), param("x0"), param("x1"), param("y")
		windows := param("windows")
		length, size, rest := pixelSize()
		Label("window")
		left := GP64()
		MOVQ(length, left)
		Label("channel")
		top, g := m.vector(), m.vector()
		VMOVUPS(Mem{Base: y}, top)
		VMOVUPS(Mem{Base: dy}, g)
		if relu {
			zero := m.vector()
			VXORPS(zero, zero, zero)
			m.keep(m.compare(greaterThan, top, zero), g, g)
		}
		// The first of the four that equals the maximum takes the gradient, and what is left of it is 0 from there on.
		places := []Mem{{Base: d0}, Mem{Base: d0}.Idx(size, 1), {Base: d1}, Mem{Base: d1}.Idx(size, 1)}
		for i, x := range []Mem{{Base: x0}, Mem{Base: x0}.Idx(size, 1), {Base: x1}} {
			hit := m.compare(equal, top, x)
			part := m.vector()
			m.keep(hit, g, part)
			VMOVUPS(part, places[i])
			zero := m.vector()
			VXORPS(zero, zero, zero)
			m.blend(hit, zero, g)
		}
		VMOVUPS(g, places[3])
		for _, p := range []reg.GPVirtual{d0, d1, dy, x0, x1, y} {
			ADDQ(U32(m.bytes()), p)
		}
		SUBQ(U32(m.bytes()), left)
		JNE(LabelRef("channel"))
		nextWindow(size, rest, []reg.GPVirtual{d0, d1, x0, x1}, []reg.GPVirtual{dy, y})
		DECQ(windows)
		JNE(LabelRef("window"))
		end()
	}
}
