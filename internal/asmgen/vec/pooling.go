package main

import (
	"math"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// pixelSize returns how many bytes of a pixel are processed, its size, and the difference.
func pixelSize() (length, size, rest Scalar) {
	length, size, rest = param("length"), param("size"), NewScalar()
	Assign(rest, size)
	Decrease(rest, length)
	return length, size, rest
}

// nextWindow moves pointers that have advanced by length bytes within a pixel to the next window, which is two pixels
// or one further.
func nextWindow(size, rest Scalar, two, one []Scalar) {
	for _, p := range one {
		Increase(p, rest)
	}
	for _, p := range two {
		Increase(p, rest)
		Increase(p, size)
	}
}

// pooling emits the 2x2 maximum and its gradient for one row of windows. size is the bytes of a pixel's channels; of
// each pixel length bytes are processed, a multiple of the vector length. Windows are processed in order: what is
// stored past the end of a pixel is overwritten by the next.
func (m machine) pooling() {
	m.begin("", "maxPoolRow", "dst, x0, x1 *float32, windows, length, size uintptr", "")
	dst, x0, x1, windows := param("dst"), param("x0"), param("x1"), param("windows")
	length, size, rest := pixelSize()
	Label("window")
	left := NewScalar()
	Assign(left, length)
	Label("channel")
	a, b, c, d, top := m.vector(), m.vector(), m.vector(), m.vector(), m.vector()
	Load(a, Memory{Base: x0})
	Load(b, Memory{Base: x0}.Indexed(size, 1))
	Load(c, Memory{Base: x1})
	Load(d, Memory{Base: x1}.Indexed(size, 1))
	bad := Either(Compare(Unordered, a, b), Compare(Unordered, c, d))
	Max(top, b, a)
	Max(c, d, c)
	Max(top, top, c)
	Blend(top, bad, m.constant(math.NaN()))
	Store(Memory{Base: dst}, top)
	for _, p := range []Scalar{dst, x0, x1} {
		Increase(p, Number(m.bytes()))
	}
	Countdown(left, m.bytes(), "channel")
	nextWindow(size, rest, []Scalar{x0, x1}, []Scalar{dst})
	Countdown(windows, 1, "window")
	End()

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
		left := NewScalar()
		Assign(left, length)
		Label("channel")
		top, g := m.vector(), m.vector()
		Load(top, Memory{Base: y})
		Load(g, Memory{Base: dy})
		if relu {
			zero := m.vector()
			Zero(zero)
			Keep(g, Compare(GreaterThan, top, zero), g)
		}
		// The first of the four elements that equals the maximum, or is NaN, receives the gradient; for the later ones
		// what remains of it is 0. With relu, windows with NaN pass on no gradient.
		places := []Memory{{Base: d0}, Memory{Base: d0}.Indexed(size, 1), {Base: d1}, Memory{Base: d1}.Indexed(size, 1)}
		for i, x := range []Memory{{Base: x0}, Memory{Base: x0}.Indexed(size, 1), {Base: x1}} {
			var hit Mask
			part := m.vector()
			if relu {
				hit = Compare(Equal, top, x)
			} else {
				v := m.vector()
				Load(v, x)
				hit = Either(Compare(Equal, top, v), Compare(Unordered, v, v))
			}
			Keep(part, hit, g)
			Store(places[i], part)
			zero := m.vector()
			Zero(zero)
			Blend(g, hit, zero)
		}
		Store(places[3], g)
		for _, p := range []Scalar{d0, d1, dy, x0, x1, y} {
			Increase(p, Number(m.bytes()))
		}
		Countdown(left, m.bytes(), "channel")
		nextWindow(size, rest, []Scalar{d0, d1, x0, x1}, []Scalar{dy, y})
		Countdown(windows, 1, "window")
		End()
	}
}
