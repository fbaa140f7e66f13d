package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pixels emits loops over the pixels of a row: size is the bytes of a pixel's channels, a multiple of the vector's, and each operand has a
// step from one of its pixels to the next.
func (m machine) pixels() {
	m.begin("", "pixelsMax", "dst, x *float32, count, size, dstStep, xStep uintptr", "")
	dst, x := param("dst"), param("x")
	m.eachPixel([]reg.GPVirtual{dst, x}, []string{"dstStep", "xStep"}, func(p []reg.GPVirtual) {
		a, b, top := m.vector(), m.vector(), m.vector()
		VMOVUPS(Mem{Base: p[0]}, a)
		VMOVUPS(Mem{Base: p[1]}, b)
		VMAXPS(b, a, top) // for NaN, b
		m.blend(m.compare(unordered, a, a), a, top)
		VMOVUPS(top, Mem{Base: p[0]})
	})

	m.begin("", "pixelsAdd", "dst, x *float32, count, size, dstStep, xStep uintptr", "")
	dst, x = param("dst"), param("x")
	m.eachPixel([]reg.GPVirtual{dst, x}, []string{"dstStep", "xStep"}, func(p []reg.GPVirtual) {
		a := m.vector()
		VMOVUPS(Mem{Base: p[0]}, a)
		VADDPS(Mem{Base: p[1]}, a, a)
		VMOVUPS(a, Mem{Base: p[0]})
	})

	m.begin("", "pixelsClaim", "dx, x, left, y *float32, count, size, xStep, yStep uintptr", "")
	dx, x, left, y := param("dx"), param("x"), param("left"), param("y")
	m.eachPixel([]reg.GPVirtual{dx, x, left, y}, []string{"xStep", "xStep", "yStep", "yStep"}, func(p []reg.GPVirtual) {
		v, top, g, part, zero := m.vector(), m.vector(), m.vector(), m.vector(), m.vector()
		VMOVUPS(Mem{Base: p[1]}, v)
		VMOVUPS(Mem{Base: p[3]}, top)
		VMOVUPS(Mem{Base: p[2]}, g)
		hit := m.compare(equal, top, v)
		nan := m.compare(unordered, v, v)
		hit = m.or(hit, nan)
		m.keep(hit, g, part)
		VXORPS(zero, zero, zero)
		m.blend(hit, zero, g)
		VADDPS(Mem{Base: p[0]}, part, part)
		VMOVUPS(part, Mem{Base: p[0]})
		VMOVUPS(g, Mem{Base: p[2]})
	})
}

// eachPixel emits the loops; body handles a vector at the pointers. The names are those of the pointers' steps.
func (m machine) eachPixel(pointers []reg.GPVirtual, steps []string, body func(p []reg.GPVirtual)) {
	count, size := param("count"), param("size")
	step := map[string]reg.GPVirtual{}
	for _, name := range steps {
		if _, known := step[name]; !known {
			step[name] = param(name)
		}
	}
	Label("pixel")
	n := GP64()
	MOVQ(size, n)
	Label("channel")
	body(pointers)
	for _, p := range pointers {
		ADDQ(U32(m.bytes()), p)
	}
	SUBQ(U32(m.bytes()), n)
	JNE(LabelRef("channel"))
	for i, p := range pointers {
		ADDQ(step[steps[i]], p)
		SUBQ(size, p)
	}
	DECQ(count)
	JNE(LabelRef("pixel"))
	end()
}
