package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// pixels emits loops over the pixels of a row. size is the bytes of a pixel's channels, a multiple of the vector
// length, and each operand has a step from one of its pixels to the next.
func (m machine) pixels() {
	m.begin("", "pixelsMax", "dst, x *float32, count, size, dstStep, xStep uintptr", "")
	dst, x := param("dst"), param("x")
	m.eachPixel([]Scalar{dst, x}, []string{"dstStep", "xStep"}, func(p []Scalar) {
		a, b, top := m.vector(), m.vector(), m.vector()
		Load(a, Memory{Base: p[0]})
		Load(b, Memory{Base: p[1]})
		Max(top, a, b) // for NaN, Max returns b
		Blend(top, Compare(Unordered, a, a), a)
		Store(Memory{Base: p[0]}, top)
	})

	m.begin("", "pixelsAdd", "dst, x *float32, count, size, dstStep, xStep uintptr", "")
	dst, x = param("dst"), param("x")
	m.eachPixel([]Scalar{dst, x}, []string{"dstStep", "xStep"}, func(p []Scalar) {
		a := m.vector()
		Load(a, Memory{Base: p[0]})
		Add(a, a, Memory{Base: p[1]})
		Store(Memory{Base: p[0]}, a)
	})

	m.begin("", "pixelsClaim", "dx, x, left, y *float32, count, size, xStep, yStep uintptr", "")
	dx, x, left, y := param("dx"), param("x"), param("left"), param("y")
	m.eachPixel([]Scalar{dx, x, left, y}, []string{"xStep", "xStep", "yStep", "yStep"}, func(p []Scalar) {
		v, top, g, part, zero := m.vector(), m.vector(), m.vector(), m.vector(), m.vector()
		Load(v, Memory{Base: p[1]})
		Load(top, Memory{Base: p[3]})
		Load(g, Memory{Base: p[2]})
		hit := Compare(Equal, top, v)
		nan := Compare(Unordered, v, v)
		hit = Either(hit, nan)
		Keep(part, hit, g)
		Zero(zero)
		Blend(g, hit, zero)
		Add(part, part, Memory{Base: p[0]})
		Store(Memory{Base: p[0]}, part)
		Store(Memory{Base: p[2]}, g)
	})
}

// eachPixel emits the loops; body handles a vector at the pointers. steps are the names of the pointers' steps.
func (m machine) eachPixel(pointers []Scalar, steps []string, body func(p []Scalar)) {
	count, size := param("count"), param("size")
	step := map[string]Scalar{}
	for _, name := range steps {
		if _, known := step[name]; !known {
			step[name] = param(name)
		}
	}
	Label("pixel")
	n := NewScalar()
	Assign(n, size)
	Label("channel")
	body(pointers)
	for _, p := range pointers {
		Increase(p, Number(m.bytes()))
	}
	Countdown(n, m.bytes(), "channel")
	for i, p := range pointers {
		Increase(p, step[steps[i]])
		Decrease(p, size)
	}
	Countdown(count, 1, "pixel")
	End()
}
