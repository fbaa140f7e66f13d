package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Layer normalization of rows of cols bytes, a multiple of the vector length, that are stride bytes apart, with numbers
// for each row. Sums have eight parts per row, which are added in Go.

// eights adds the halves of a vector of sixteen numbers, and stores eight numbers.
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

// rowsOf emits a loop over rows: begin, then body for each vector at an offset from the pointers, then finish. begin
// returns the sums of a row, each of several parts, because successive additions to one part would wait for each other;
// body is given the parts in turn. finish finds the totals in the first part.
func (m machine) rowsOf(parts int, pointers []Scalar, vectors []Scalar, begin func() (sums [][]Vector), body func(at func(p Scalar) Memory, part int), finish func()) {
	rows, cols, stride := param("rows"), param("cols"), param("stride")
	Label("row")
	sums := begin()
	at := NewScalar()
	Assign(at, Number(0))
	vector := func(part int) {
		body(func(p Scalar) Memory { return Memory{Base: p, Offset: part * m.bytes()}.Indexed(at, 1) }, part)
	}
	if parts > 1 {
		next := NewScalar()
		Assign(next, Number(parts*m.bytes()))
		JumpBelow(cols, next, "rest")
		Label("columns")
		for k := range parts {
			vector(k)
		}
		Increase(at, Number(parts*m.bytes()))
		Increase(next, Number(parts*m.bytes()))
		JumpAtLeast(cols, next, "columns")
		for _, list := range sums {
			join(list)
		}
		JumpAtLeast(at, cols, "end")
		Label("rest")
	}
	Label("column")
	vector(0)
	Increase(at, Number(m.bytes()))
	JumpBelow(at, cols, "column")
	if parts > 1 {
		Label("end")
	}
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

// join adds the vectors into the first one, in a balanced tree.
func join(list []Vector) {
	for n := len(list) / 2; n > 0; n /= 2 {
		for k := range n {
			Add(list[k], list[k], list[k+n])
		}
	}
}

// normParts is the number of parts of a row's sum: that many additions can overlap.
const normParts = 4

func (m machine) layerNorm() {
	m.begin("", "normSums", "parts, x *float32, rows, cols, stride uintptr", "")
	parts, x := param("parts"), param("x")
	var sums []Vector
	m.rowsOf(normParts, nil, []Scalar{x}, func() [][]Vector {
		sums = m.zeros(normParts)
		return [][]Vector{sums}
	}, func(at func(p Scalar) Memory, part int) { Add(sums[part], sums[part], at(x)) }, func() {
		m.eights(sums[0], Memory{Base: parts})
		Increase(parts, Number(32))
	})

	m.begin("", "normSquares", "parts, x, mean *float32, rows, cols, stride uintptr", "")
	parts, x, mean := param("parts"), param("x"), param("mean")
	center := m.vector()
	m.rowsOf(normParts, []Scalar{mean}, []Scalar{x}, func() [][]Vector {
		sums = m.zeros(normParts)
		Broadcast(center, Memory{Base: mean})
		return [][]Vector{sums}
	}, func(at func(p Scalar) Memory, part int) {
		v := m.vector()
		Load(v, at(x))
		Subtract(v, v, center)
		AddProduct(sums[part], v, v)
	}, func() {
		m.eights(sums[0], Memory{Base: parts})
		Increase(parts, Number(32))
	})

	m.begin("", "normApply", "dst, x, mean, rstd, gamma, beta *float32, rows, cols, stride uintptr", "")
	dst, x, mean, rstd, gamma, beta := param("dst"), param("x"), param("mean"), param("rstd"), param("gamma"), param("beta")
	center, scale := m.vector(), m.vector()
	m.rowsOf(1, []Scalar{mean, rstd}, []Scalar{x, dst}, func() [][]Vector {
		Broadcast(center, Memory{Base: mean})
		Broadcast(scale, Memory{Base: rstd})
		return nil
	}, func(at func(p Scalar) Memory, _ int) {
		v, g := m.vector(), m.vector()
		Load(v, at(x))
		Load(g, at(gamma))
		Subtract(v, v, center)
		Multiply(v, v, scale)
		MultiplyAdd(v, g, at(beta))
		Store(at(dst), v)
	}, func() {})

	m.layerNormGrad()
}

func (m machine) layerNormGrad() {

	m.begin("", "normGradSums", "parts, x, dy, mean, rstd, gamma *float32, rows, cols, stride uintptr", "")
	parts, x, dy, mean, rstd, gamma := param("parts"), param("x"), param("dy"), param("mean"), param("rstd"), param("gamma")
	var sums, products []Vector
	center := m.vector()
	m.rowsOf(normParts, []Scalar{mean, rstd}, []Scalar{x, dy}, func() [][]Vector {
		sums, products = m.zeros(normParts), m.zeros(normParts)
		Broadcast(center, Memory{Base: mean})
		return [][]Vector{sums, products}
	}, func(at func(p Scalar) Memory, part int) {
		v, g := m.vector(), m.vector()
		Load(v, at(x))
		Load(g, at(dy))
		Subtract(v, v, center)
		Multiply(g, g, at(gamma))
		Add(sums[part], sums[part], g)
		AddProduct(products[part], g, v)
	}, func() {
		scale := m.vector()
		product := products[0]
		Broadcast(scale, Memory{Base: rstd})
		Multiply(product, product, scale)
		m.eights(sums[0], Memory{Base: parts})
		m.eights(product, Memory{Base: parts, Offset: 32})
		Increase(parts, Number(64))
	})

	// dx = rstd·(dy·gamma − a − (x − mean)·b) with the row's a and b.
	m.begin("", "normGradApply", "dx, x, dy, scalars, gamma *float32, rows, cols, stride uintptr", "")
	dx, x, dy, scalars, gamma := param("dx"), param("x"), param("dy"), param("scalars"), param("gamma")
	center, scale, a, b := m.vector(), m.vector(), m.vector(), m.vector()
	m.rowsOf(1, nil, []Scalar{x, dy, dx}, func() [][]Vector {
		for i, v := range []Vector{center, scale, a, b} {
			Broadcast(v, Memory{Base: scalars, Offset: 4 * i})
		}
		Increase(scalars, Number(16))
		return nil
	}, func(at func(p Scalar) Memory, _ int) {
		v, g := m.vector(), m.vector()
		Load(v, at(x))
		Load(g, at(dy))
		Multiply(g, g, at(gamma))
		Subtract(v, v, center)
		Subtract(g, g, a)
		SubtractProduct(g, v, b)
		Multiply(g, g, scale)
		Store(at(dx), g)
	}, func() {})

	m.layerNormColumns()
}

// layerNormColumns emits, for two vectors of columns at a time: sum += dy and product += dy·(x − mean)·rstd over the
// rows.
func (m machine) layerNormColumns() {
	m.begin("", "normGradColumns", "sum, product, x, dy, mean, rstd *float32, rows, cols, stride uintptr", "")
	sum, product, x, dy, mean, rstd := param("sum"), param("product"), param("x"), param("dy"), param("mean"), param("rstd")
	rows, cols, stride := param("rows"), param("cols"), param("stride")
	line, row := NewScalar(), NewScalar()
	columns := func(n int, label string) {
		sums, products := make([]Vector, n), make([]Vector, n)
		for k := range n {
			sums[k], products[k] = m.vector(), m.vector()
			Load(sums[k], Memory{Base: sum, Offset: k * m.bytes()})
			Load(products[k], Memory{Base: product, Offset: k * m.bytes()})
		}
		Assign(line, Number(0))
		Assign(row, Number(0))
		Label(label)
		center, scale := m.vector(), m.vector()
		Broadcast(center, Memory{Base: mean}.Indexed(row, uint8(m.number())))
		Broadcast(scale, Memory{Base: rstd}.Indexed(row, uint8(m.number())))
		for k := range n {
			v, g := m.vector(), m.vector()
			Load(v, Memory{Base: x, Offset: k * m.bytes()}.Indexed(line, 1))
			Load(g, Memory{Base: dy, Offset: k * m.bytes()}.Indexed(line, 1))
			Subtract(v, v, center)
			Multiply(v, v, scale)
			Add(sums[k], sums[k], g)
			m.addProduct(products[k], g, v)
		}
		Increase(line, stride)
		Increase(row, Number(1))
		JumpBelow(row, rows, label)
		for k := range n {
			Store(Memory{Base: sum, Offset: k * m.bytes()}, sums[k])
			Store(Memory{Base: product, Offset: k * m.bytes()}, products[k])
		}
		for _, p := range []Scalar{sum, product, x, dy} {
			Increase(p, Number(n*m.bytes()))
		}
	}
	two := NewScalar()
	Assign(two, Number(2*m.bytes()))
	JumpBelow(cols, two, "one")
	Label("two")
	columns(2, "rowOfTwo")
	Decrease(cols, two)
	JumpAtLeast(cols, two, "two")
	JumpZero(cols, "end")
	Label("one")
	columns(1, "rowOfOne")
	Label("end")
	End()
}
