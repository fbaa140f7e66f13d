package main

import (
	"slices"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// windows emits the maximum and the scaled sum of windows of pixels. A window's cells are at the same offsets, in
// floats, from its first pixel in all windows. Of each pixel length bytes are processed, a multiple of the vector
// length. Windows are processed in order: what is stored past the end of a pixel is overwritten by the next.
func (m machine) windows() {
	m.begin("", "windowsMax", "dst, x *float32, cells unsafe.Pointer, count, windows, length, dstStep, xStep uintptr", "")
	m.eachWindow(func(acc, v Vector) Vector {
		top := m.vector()
		Max(top, acc, v) // for NaN, Max returns v
		Blend(top, Compare(Unordered, acc, acc), acc)
		return top
	}, func(acc Vector) {})

	m.begin("", "windowsSum", "dst, x *float32, cells unsafe.Pointer, count, windows, length, dstStep, xStep uintptr, scale *float32", "")
	scale := m.broadcast(param("scale"), 0)
	m.eachWindow(func(acc, v Vector) Vector {
		Add(acc, acc, v)
		return acc
	}, func(acc Vector) { Multiply(acc, acc, scale) })
}

// eachWindow emits the loops over windows, channels and cells: combine adds a cell's channels to the window's
// accumulator, finish changes the result before it is stored.
func (m machine) eachWindow(combine func(acc, v Vector) Vector, finish func(acc Vector)) {
	dst, x, cells := param("dst"), param("x"), param("cells")
	dstStep, xStep := param("dstStep"), param("xStep")
	m.piecesOfWindows([]Scalar{dst, x}, []Scalar{dstStep, xStep}, func(name string, n int) {
		p, count, offset := NewScalar(), NewScalar(), NewScalar()
		Assign(p, cells)
		Reload(count, "count")
		acc := make([]Vector, n)
		Assign(offset, Memory{Base: p})
		for i := range acc {
			acc[i] = m.vector()
			Load(acc[i], Memory{Base: x, Offset: i * m.bytes()}.Indexed(offset, uint8(m.number())))
		}
		Jump(name + "Next")
		Label(name + "Cell")
		Assign(offset, Memory{Base: p})
		for i := range acc {
			v := m.vector()
			Load(v, Memory{Base: x, Offset: i * m.bytes()}.Indexed(offset, uint8(m.number())))
			Copy(acc[i], combine(acc[i], v))
		}
		Label(name + "Next")
		Increase(p, Number(8))
		Countdown(count, 1, name+"Cell")
		for i := range acc {
			finish(acc[i])
			Store(Memory{Base: dst, Offset: i * m.bytes()}, acc[i])
		}
	})
}

// piecesOfWindows emits the loops over windows and over pieces of four vectors of channels, then of one. The pointers
// advance by the length of a piece, and at the end of a window by the remainder of their steps.
func (m machine) piecesOfWindows(pointers, steps []Scalar, piece func(name string, n int)) {
	windows, length := param("windows"), param("length")
	var done []Scalar
	for _, s := range steps {
		if !slices.Contains(done, s) {
			Decrease(s, length)
			done = append(done, s)
		}
	}
	Label("window")
	left := NewScalar()
	Assign(left, length)
	round := func(name string, n int) {
		Label(name)
		JumpBelow(left, Number(n*m.bytes()), name+"End")
		piece(name, n)
		for _, p := range pointers {
			Increase(p, Number(n*m.bytes()))
		}
		Decrease(left, Number(n*m.bytes()))
		Jump(name)
		Label(name + "End")
	}
	Unrolled(func() { round("four", 4) })
	round("one", 1)
	for i, p := range pointers {
		Increase(p, steps[i])
	}
	Countdown(windows, 1, "window")
	End()
}

// windowsFirst emits the search for the first cell of each window that is its maximum, or NaN: for each channel it
// stores the cell's offset as 32 bits.
func (m machine) windowsFirst() {
	m.begin("", "windowsFirst", "index, x, top, last unsafe.Pointer, count, windows, length, topStep, xStep uintptr", "")
	index, x, top, last := param("index"), param("x"), param("top"), param("last")
	topStep, xStep := param("topStep"), param("xStep")
	m.piecesOfWindows([]Scalar{index, x, top}, []Scalar{topStep, xStep, topStep}, func(name string, n int) {
		p, count, offset := NewScalar(), NewScalar(), NewScalar()
		Assign(p, last) // backwards, so that an earlier cell replaces a later one
		Reload(count, "count")
		tops, first := make([]Vector, n), make([]Vector, n)
		for i := range n {
			tops[i], first[i] = m.vector(), m.vector()
			Load(tops[i], Memory{Base: top, Offset: i * m.bytes()})
			Zero(first[i])
		}
		Label(name + "Cell")
		Assign(offset, Memory{Base: p})
		at := m.vector()
		Broadcast(at, Memory{Base: p})
		for i := range n {
			v := m.vector()
			Load(v, Memory{Base: x, Offset: i * m.bytes()}.Indexed(offset, uint8(m.number())))
			hit, nan := Compare(Equal, tops[i], v), Compare(Unordered, v, v)
			Blend(first[i], Either(hit, nan), at)
		}
		Decrease(p, Number(8))
		Countdown(count, 1, name+"Cell")
		for i := range n {
			Store(Memory{Base: index, Offset: i * m.bytes()}, first[i])
		}
	})
}

// windowsShare emits the gradient of maxima or minima: the cells of a window that equal its extreme share its gradient.
func (m machine) windowsShare() {
	m.begin("", "windowsShare", "dst, x, top, dy, cells unsafe.Pointer, count, windows, length, topStep, xStep uintptr", "")
	dst, x, top, dy, cells := param("dst"), param("x"), param("top"), param("dy"), param("cells")
	topStep, xStep := param("topStep"), param("xStep")
	m.piecesOfWindows([]Scalar{dst, x, top, dy}, []Scalar{xStep, xStep, topStep, topStep}, func(name string, n int) {
		p, count, offset := NewScalar(), NewScalar(), NewScalar()
		tops, shares := make([]Vector, n), make([]Vector, n)
		for i := range n {
			tops[i], shares[i] = m.vector(), m.vector()
			Load(tops[i], Memory{Base: top, Offset: i * m.bytes()})
			Zero(shares[i])
		}
		each := func(label string, do func(i int, hit Vector)) {
			Assign(p, cells)
			Reload(count, "count")
			Label(name + label)
			Assign(offset, Memory{Base: p})
			for i := range n {
				v, hit := m.vector(), m.vector()
				Load(v, Memory{Base: x, Offset: i * m.bytes()}.Indexed(offset, uint8(m.number())))
				Keep(hit, Compare(Equal, v, tops[i]), one())
				do(i, hit)
			}
			Increase(p, Number(8))
			Countdown(count, 1, name+label)
		}
		each("Count", func(i int, hit Vector) { Add(shares[i], shares[i], hit) })
		for i := range n {
			gradient := m.vector()
			Load(gradient, Memory{Base: dy, Offset: i * m.bytes()})
			Divide(shares[i], gradient, shares[i])
		}
		each("Share", func(i int, hit Vector) {
			Multiply(hit, hit, shares[i])
			Store(Memory{Base: dst, Offset: i * m.bytes()}.Indexed(offset, uint8(m.number())), hit)
		})
	})
}
