package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Layer normalization takes rows of cols bytes, a multiple of the vector's, that are stride bytes apart, with numbers
// that belong to the rows. Sums leave eight parts for each row, which are added in Go.

// eights adds the halves of a vector of sixteen and stores eight numbers.
func (m machine) eights(v Vector, to Memory) {
	if !m.wide {
		Store(to, v)
		return
	}
	low, top := NewVector(32), NewVector(32)
	Extract(top, v, 1)
	Extract(low, v, 0)
	Add(low, low, top)
	Store(to, low)
}

// rowsOf emits a loop over rows: begin, then body for each vector at an offset from the pointers, then finish.
func (m machine) rowsOf(pointers []Scalar, vectors []Scalar, begin func(), body func(at Scalar), finish func()) {
	rows, cols, stride := param("rows"), param("cols"), param("stride")
	Label("row")
	begin()
	at := NewScalar()
	Assign(at, Number(0))
	Label("column")
	body(at)
	Increase(at, Number(m.bytes()))
	JumpBelow(at, cols, "column")
	finish()
	for _, p := range vectors {
		Increase(p, stride)
	}
	for _, p := range pointers {
		Increase(p, Number(4))
	}
	Countdown(rows, 1, "row")
	End()
}

func (m machine) layerNorm() {
	at := func(p, i Scalar) Memory { return Memory{Base: p}.Indexed(i, 1) }
	zero := func(vs ...Vector) {
		for _, v := range vs {
			Zero(v)
		}
	}

	m.begin("", "normSums", "parts, x *float32, rows, cols, stride uintptr", "")
	parts, x := param("parts"), param("x")
	sum := m.vector()
	m.rowsOf(nil, []Scalar{x}, func() { zero(sum) }, func(i Scalar) { Add(sum, sum, at(x, i)) }, func() {
		m.eights(sum, Memory{Base: parts})
		Increase(parts, Number(32))
	})

	m.begin("", "normSquares", "parts, x, mean *float32, rows, cols, stride uintptr", "")
	parts, x, mean := param("parts"), param("x"), param("mean")
	sum, center := m.vector(), m.vector()
	m.rowsOf([]Scalar{mean}, []Scalar{x}, func() {
		zero(sum)
		Broadcast(center, Memory{Base: mean})
	}, func(i Scalar) {
		v := m.vector()
		Load(v, at(x, i))
		Subtract(v, v, center)
		AddProduct(sum, v, v)
	}, func() {
		m.eights(sum, Memory{Base: parts})
		Increase(parts, Number(32))
	})

	m.begin("", "normApply", "dst, x, mean, rstd, gamma, beta *float32, rows, cols, stride uintptr", "")
	dst, x, mean, rstd, gamma, beta := param("dst"), param("x"), param("mean"), param("rstd"), param("gamma"), param("beta")
	center, scale := m.vector(), m.vector()
	m.rowsOf([]Scalar{mean, rstd}, []Scalar{x, dst}, func() {
		Broadcast(center, Memory{Base: mean})
		Broadcast(scale, Memory{Base: rstd})
	}, func(i Scalar) {
		v, g := m.vector(), m.vector()
		Load(v, at(x, i))
		Load(g, at(gamma, i))
		Subtract(v, v, center)
		Multiply(v, v, scale)
		MultiplyAdd(v, g, at(beta, i))
		Store(at(dst, i), v)
	}, func() {})

	m.begin("", "normGradSums", "parts, x, dy, mean, rstd, gamma *float32, rows, cols, stride uintptr", "")
	parts, x, dy, mean, rstd, gamma := param("parts"), param("x"), param("dy"), param("mean"), param("rstd"), param("gamma")
	sum, product, center := m.vector(), m.vector(), m.vector()
	m.rowsOf([]Scalar{mean, rstd}, []Scalar{x, dy}, func() {
		zero(sum, product)
		Broadcast(center, Memory{Base: mean})
	}, func(i Scalar) {
		v, g := m.vector(), m.vector()
		Load(v, at(x, i))
		Load(g, at(dy, i))
		Subtract(v, v, center)
		Multiply(g, g, at(gamma, i))
		Add(sum, sum, g)
		AddProduct(product, g, v)
	}, func() {
		scale := m.vector()
		Broadcast(scale, Memory{Base: rstd})
		Multiply(product, product, scale)
		m.eights(sum, Memory{Base: parts})
		m.eights(product, Memory{Base: parts, Offset: 32})
		Increase(parts, Number(64))
	})

	// dx = rstd·(dy·gamma − a − (x − mean)·b) with a and b of the row.
	m.begin("", "normGradApply", "dx, x, dy, scalars, gamma *float32, rows, cols, stride uintptr", "")
	dx, x, dy, scalars, gamma := param("dx"), param("x"), param("dy"), param("scalars"), param("gamma")
	center, scale, a, b := m.vector(), m.vector(), m.vector(), m.vector()
	m.rowsOf(nil, []Scalar{x, dy, dx}, func() {
		for i, v := range []Vector{center, scale, a, b} {
			Broadcast(v, Memory{Base: scalars, Offset: 4 * i})
		}
		Increase(scalars, Number(16))
	}, func(i Scalar) {
		v, g := m.vector(), m.vector()
		Load(v, at(x, i))
		Load(g, at(dy, i))
		Multiply(g, g, at(gamma, i))
		Subtract(v, v, center)
		Subtract(g, g, a)
		SubtractProduct(g, v, b)
		Multiply(g, g, scale)
		Store(at(dx, i), g)
	}, func() {})

	// One vector of columns: sum += dy and product += dy·(x − mean)·rstd over the rows.
	m.begin("", "normGradColumns", "sum, product, x, dy, mean, rstd *float32, rows, stride uintptr", "")
	sumAt, productAt, x, dy, mean, rstd := param("sum"), param("product"), param("x"), param("dy"), param("mean"), param("rstd")
	rows, stride := param("rows"), param("stride")
	sum, product = m.vector(), m.vector()
	Load(sum, Memory{Base: sumAt})
	Load(product, Memory{Base: productAt})
	Label("row")
	v, g, n := m.vector(), m.vector(), m.vector()
	Broadcast(n, Memory{Base: mean})
	Load(v, Memory{Base: x})
	Load(g, Memory{Base: dy})
	Subtract(v, v, n)
	Broadcast(n, Memory{Base: rstd})
	Multiply(v, v, n)
	Add(sum, sum, g)
	AddProduct(product, g, v)
	for _, p := range []Scalar{x, dy} {
		Increase(p, stride)
	}
	for _, p := range []Scalar{mean, rstd} {
		Increase(p, Number(4))
	}
	Countdown(rows, 1, "row")
	Store(Memory{Base: sumAt}, sum)
	Store(Memory{Base: productAt}, product)
	End()
}
