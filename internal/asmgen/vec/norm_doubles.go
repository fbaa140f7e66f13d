package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Layer normalization of float64. Rows have cols bytes, a multiple of eight numbers, and sums have eight parts, as in
// the loops without vectors, so that the bits are the same. Products are rounded before they are added.

const eight = 64 // in bytes

// eightsOf emits a loop over rows like rowsOf, eight numbers at a time; body handles vector k of them.
func (m machine) eightsOf(numbers, vectors []Scalar, begin func(), body func(at func(p Scalar) Memory, k int), finish func()) {
	rows, cols, stride := param("rows"), param("cols"), param("stride")
	at := NewScalar()
	Label("row")
	begin()
	Assign(at, Number(0))
	Label("column")
	for k := range eight / m.bytes() {
		body(func(p Scalar) Memory { return m.place(p, k).Indexed(at, 1) }, k)
	}
	Increase(at, Number(eight))
	JumpBelow(at, cols, "column")
	finish()
	for _, p := range vectors {
		Increase(p, stride)
	}
	for _, p := range numbers {
		Increase(p, Number(8))
	}
	Countdown(rows, 1, "row")
	End()
}

// leave stores the parts of sums and advances the pointer past them.
func (m machine) leave(parts Scalar, sums ...vectors) {
	for _, s := range sums {
		m.store(s, parts)
		Increase(parts, Number(eight))
	}
}

func (m machine) layerNormDoubles() {
	m.double = true

	m.begin("", "normSums", "parts, x unsafe.Pointer, rows, cols, stride uintptr", "")
	parts, x := param("parts"), param("x")
	var sums vectors
	m.eightsOf(nil, []Scalar{x}, func() { sums = m.zeros(eight / m.bytes()) },
		func(at func(p Scalar) Memory, k int) { Add(sums[k], sums[k], at(x)) },
		func() { m.leave(parts, sums) })

	m.begin("", "normSquares", "parts, x, mean unsafe.Pointer, rows, cols, stride uintptr", "")
	parts, x, mean := param("parts"), param("x"), param("mean")
	center := m.vector()
	m.eightsOf([]Scalar{mean}, []Scalar{x}, func() {
		sums = m.zeros(eight / m.bytes())
		Broadcast(center, Memory{Base: mean})
	}, func(at func(p Scalar) Memory, k int) {
		v := m.load(at(x))
		Subtract(v, v, center)
		m.addProduct(sums[k], v, v)
	}, func() { m.leave(parts, sums) })

	m.begin("", "normApply", "dst, x, mean, rstd, gamma, beta unsafe.Pointer, rows, cols, stride uintptr", "")
	dst, x, mean, rstd, gamma, beta := param("dst"), param("x"), param("mean"), param("rstd"), param("gamma"), param("beta")
	center, scale := m.vector(), m.vector()
	m.eightsOf([]Scalar{mean, rstd}, []Scalar{x, dst}, func() {
		Broadcast(center, Memory{Base: mean})
		Broadcast(scale, Memory{Base: rstd})
	}, func(at func(p Scalar) Memory, _ int) {
		v := m.load(at(x))
		Subtract(v, v, center)
		Multiply(v, v, scale)
		Multiply(v, v, at(gamma))
		Add(v, v, at(beta))
		Store(at(dst), v)
	}, func() {})

	m.layerNormGradDoubles()
}

func (m machine) layerNormGradDoubles() {
	m.begin("", "normGradSums", "parts, x, dy, mean, rstd, gamma unsafe.Pointer, rows, cols, stride uintptr", "")
	parts, x, dy, mean, rstd, gamma := param("parts"), param("x"), param("dy"), param("mean"), param("rstd"), param("gamma")
	var sums, products vectors
	center, scale := m.vector(), m.vector()
	m.eightsOf([]Scalar{mean, rstd}, []Scalar{x, dy}, func() {
		sums, products = m.zeros(eight/m.bytes()), m.zeros(eight/m.bytes())
		Broadcast(center, Memory{Base: mean})
		Broadcast(scale, Memory{Base: rstd})
	}, func(at func(p Scalar) Memory, k int) {
		v, g := m.load(at(x)), m.load(at(dy))
		Subtract(v, v, center)
		Multiply(v, v, scale)
		Multiply(g, g, at(gamma))
		Add(sums[k], sums[k], g)
		m.addProduct(products[k], g, v)
	}, func() { m.leave(parts, sums, products) })

	// dx = rstd·(dy·gamma − a − (x − mean)·rstd·b) with the row's a and b.
	m.begin("", "normGradApply", "dx, x, dy, scalars, gamma unsafe.Pointer, rows, cols, stride uintptr", "")
	dx, x, dy, scalars, gamma := param("dx"), param("x"), param("dy"), param("scalars"), param("gamma")
	row := m.vectors(4)
	m.eightsOf(nil, []Scalar{x, dy, dx}, func() {
		row.each(func(i int) { Broadcast(row[i], Memory{Base: scalars, Offset: 8 * i}) })
		Increase(scalars, Number(4*8))
	}, func(at func(p Scalar) Memory, _ int) {
		v, g := m.load(at(x)), m.load(at(dy))
		Multiply(g, g, at(gamma))
		Subtract(v, v, row[0])
		Multiply(v, v, row[1])
		Subtract(g, g, row[2])
		Multiply(v, v, row[3])
		Subtract(g, g, v)
		Multiply(g, g, row[1])
		Store(at(dx), g)
	}, func() {})

	m.layerNormColumns()
}
