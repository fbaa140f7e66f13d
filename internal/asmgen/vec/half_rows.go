package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// halfRowKernels emits loops of batch normalization for rows of bfloat16: what moments, productRows, rowsCombine and
// rowsAffine compute of rows that were widened, with the same bits, of four vectors of columns. For AVX-512 with
// AVX512-BF16: they exist for no other machine.
func (m machine) halfRowKernels() {
	if !m.wide {
		return
	}
	m.halfMoments()
	for _, masked := range []bool{false, true} {
		m.halfProducts(masked)
		m.halfCombine(masked)
	}
	m.halfAffine(false)
	m.halfAffine(true)
}

const halfColumns = 4 // vectors

// beginWide is begin for functions that exist for AVX-512 alone.
func (m machine) beginWide(name, parameters string) {
	functions = append(functions, function{name: name, parameters: parameters, wide: true})
	Begin(m.Machine, name, parameters, "")
}

// widenedHalf loads vector i of bfloat16 behind p.
func (m machine) widenedHalf(p Scalar, i int) Vector {
	v := m.vector()
	WidenWords(v, m.halfPlace(p, i))
	ShiftLeft(v, v, 16)
	return v
}

func (m machine) halfPlace(p Scalar, i int) Memory { return Memory{Base: p, Offset: i * m.bytes() / 2} }

func (m machine) halfMoments() {
	m.beginWide("halfMoments", "shift, sum, squares *float32, x unsafe.Pointer, inverse *float32, sample, rows, stride uintptr")
	shift, sum, squares, x := param("shift"), param("sum"), param("squares"), param("x")
	sample, rows, stride := param("sample"), param("rows"), param("stride")
	inverse := m.broadcast(param("inverse"), 0)
	first := NewScalar()
	Assign(first, x)
	middle, s, q := m.zeros(halfColumns), m.zeros(halfColumns), m.zeros(halfColumns)
	JumpZero(sample, "more")
	eachRow("first", sample, stride, []Scalar{first}, func() {
		middle.each(func(i int) { Add(middle[i], middle[i], m.widenedHalf(first, i)) })
	})
	middle.each(func(i int) { Multiply(middle[i], middle[i], inverse) })
	m.store(middle, shift)
	Jump("sums")
	Label("more")
	middle.each(func(i int) {
		Load(middle[i], m.place(shift, i))
		Load(s[i], m.place(sum, i))
		Load(q[i], m.place(squares, i))
	})
	Label("sums")
	eachRow("row", rows, stride, []Scalar{x}, func() {
		s.each(func(i int) {
			v := m.widenedHalf(x, i)
			Subtract(v, v, middle[i])
			Add(s[i], s[i], v)
			AddProduct(q[i], v, v)
		})
	})
	m.store(s, sum)
	m.store(q, squares)
	End()
}

func (m machine) halfProducts(masked bool) {
	name, parameters := "halfProducts", "sum, product *float32, y, x unsafe.Pointer, mean *float32, rows, stride uintptr"
	if masked {
		name, parameters = name+"Masked", "sum, product *float32, y, x unsafe.Pointer, mean, scale, shift *float32, rows, stride uintptr"
	}
	m.beginWide(name, parameters)
	sum, product, y, x, rows, stride := param("sum"), param("product"), param("y"), param("x"), param("rows"), param("stride")
	mean, s, p := param("mean"), m.columns(sum, halfColumns), m.columns(product, halfColumns)
	var relu *normalised
	if masked {
		relu = m.normalised()
	}
	eachRow("row", rows, stride, []Scalar{x, y}, func() {
		s.each(func(i int) {
			v, w := m.widenedHalf(x, i), m.widenedHalf(y, i)
			if masked {
				relu.keep(v, w, i)
			}
			Subtract(v, v, m.place(mean, i))
			Add(s[i], s[i], w)
			AddProduct(p[i], v, w)
		})
	})
	m.store(s, sum)
	m.store(p, product)
	End()
}

func (m machine) halfCombine(masked bool) {
	name, parameters := "halfCombine", "dst, x, y unsafe.Pointer, a, b, c *float32, rows, stride uintptr"
	if masked {
		name, parameters = name+"Masked", "dst, x, y unsafe.Pointer, a, b, c, scale, shift *float32, rows, stride uintptr"
	}
	m.beginWide(name, parameters)
	dst, x, y, rows, stride := param("dst"), param("x"), param("y"), param("rows"), param("stride")
	a, b, c := m.columns(param("a"), halfColumns), m.columns(param("b"), halfColumns), param("c")
	var relu *normalised
	if masked {
		relu = m.normalised()
	}
	eachRow("row", rows, stride, []Scalar{dst, x, y}, func() {
		a.each(func(i int) {
			v, w := m.widenedHalf(x, i), m.widenedHalf(y, i)
			if masked {
				relu.keep(v, w, i)
			}
			MultiplyAdd(w, b[i], m.place(c, i))
			AddProduct(w, a[i], v)
			StoreBFloat16(m.halfPlace(dst, i), w)
		})
	})
	End()
}

// halfAffine takes the larger of its result and the number at floor; to a sum, x·scale + shift is rounded before.
func (m machine) halfAffine(add bool) {
	name, parameters := "halfAffine", "dst, x unsafe.Pointer, scale, shift, floor *float32, rows, stride uintptr"
	if add {
		name, parameters = name+"Add", "dst, x, addend unsafe.Pointer, scale, shift, floor *float32, rows, stride uintptr"
	}
	m.beginWide(name, parameters)
	dst, x, rows, stride := param("dst"), param("x"), param("rows"), param("stride")
	pointers := []Scalar{dst, x}
	var addend Scalar
	if add {
		addend = param("addend")
		pointers = append(pointers, addend)
	}
	scale, shift := m.columns(param("scale"), halfColumns), m.columns(param("shift"), halfColumns)
	floor := m.broadcast(param("floor"), 0)
	eachRow("row", rows, stride, pointers, func() {
		scale.each(func(i int) {
			v := m.widenedHalf(x, i)
			MultiplyAdd(v, scale[i], shift[i])
			if add {
				RoundBFloat16(v)
				Add(v, v, m.widenedHalf(addend, i))
			}
			Max(v, floor, v) // for NaN, the last source: v
			StoreBFloat16(m.halfPlace(dst, i), v)
		})
	})
	End()
}
