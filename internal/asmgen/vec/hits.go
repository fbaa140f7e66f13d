package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// hits emits the gradient of maxima and minima over rows of size bytes, in whole vectors: how many elements of each
// column equal its extreme, and each such element's share of the gradient.
func (m machine) hits() {
	m.begin("", "hitsCount", "acc, x, top *float32, count, size, accStep, xStep uintptr", "")
	acc, x, top := param("acc"), param("x"), param("top")
	m.eachPixel([]Scalar{acc, x, top}, []string{"accStep", "xStep", "accStep"}, func(p []Scalar) {
		hit := m.hit(p[1], p[2])
		Add(hit, hit, Memory{Base: p[0]})
		Store(Memory{Base: p[0]}, hit)
	})

	m.begin("", "hitsShare", "dst, x, top, share *float32, count, size, xStep, topStep uintptr", "")
	dst, x, top, share := param("dst"), param("x"), param("top"), param("share")
	m.eachPixel([]Scalar{dst, x, top, share}, []string{"xStep", "xStep", "topStep", "topStep"}, func(p []Scalar) {
		hit := m.hit(p[1], p[2])
		Multiply(hit, hit, Memory{Base: p[3]})
		Store(Memory{Base: p[0]}, hit)
	})
}

// hit returns 1 where the numbers at two pointers are equal, else 0.
func (m machine) hit(x, top Scalar) Vector {
	v, equal, hit := m.vector(), m.vector(), m.vector()
	Load(v, Memory{Base: x})
	Load(equal, Memory{Base: top})
	Keep(hit, Compare(Equal, v, equal), one())
	return hit
}
