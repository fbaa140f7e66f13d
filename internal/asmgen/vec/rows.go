package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowKernels emits loops over the rows of a matrix with numbers that belong to the columns, which stay in registers where there are
// enough: one function for four vectors of columns and one for a single vector. Rows are stride bytes apart.
func (m machine) rowKernels() {
	for _, count := range []int{1, 4} {
		m.addRows(count)
		m.moments(count)
		for _, add := range []bool{false, true} {
			m.rowsAffine(count, add, false)
			m.rowsAffine(count, add, true)
		}
		for _, masked := range []bool{false, true} {
			m.productRows(count, masked)
			m.rowsCombine(count, masked)
		}
	}
}

func (m machine) zeros(n int) vectors {
	v := m.vectors(n)
	v.each(func(i int) { VXORPS(v[i], v[i], v[i]) })
	return v
}

// columns loads the numbers of the columns.
func (m machine) columns(p reg.GPVirtual, n int) vectors {
	v := m.vectors(n)
	v.each(func(i int) { VMOVUPS(m.place(p, i), v[i]) })
	return v
}

// place is the memory of vector i behind p.
func (m machine) place(p reg.GPVirtual, i int) Mem { return Mem{Base: p, Disp: i * m.bytes()} }

func (m machine) store(v vectors, p reg.GPVirtual) {
	v.each(func(i int) { VMOVUPS(v[i], m.place(p, i)) })
}

// eachRow emits the loop; the pointers advance by stride.
func eachRow(label string, rows, stride reg.GPVirtual, pointers []reg.GPVirtual, body func()) {
	Label(label)
	body()
	for _, p := range pointers {
		ADDQ(stride, p)
	}
	DECQ(rows)
	JNE(LabelRef(label))
}

func (m machine) addRows(count int) {
	m.begin("", fmt.Sprintf("addRows%d", count), "dst, x *float32, rows, stride uintptr", "")
	dst, x, rows, stride := param("dst"), param("x"), param("rows"), param("stride")
	s := m.zeros(count)
	eachRow("row", rows, stride, []reg.GPVirtual{x}, func() {
		s.each(func(i int) { VADDPS(m.place(x, i), s[i], s[i]) })
	})
	m.store(s, dst)
	end()
}

// moments: shift = the mean of the first rows, sample of them; sum = Σ (x − shift) and squares = Σ (x − shift)² over all rows.
func (m machine) moments(count int) {
	m.begin("", fmt.Sprintf("moments%d", count), "shift, sum, squares, x, inverse *float32, sample, rows, stride uintptr", "")
	shift, sum, squares, x := param("shift"), param("sum"), param("squares"), param("x")
	sample, rows, stride := param("sample"), param("rows"), param("stride")
	inverse := m.broadcast(param("inverse"), 0)
	first := GP64()
	MOVQ(x, first)
	middle := m.zeros(count)
	eachRow("first", sample, stride, []reg.GPVirtual{first}, func() {
		middle.each(func(i int) { VADDPS(m.place(first, i), middle[i], middle[i]) })
	})
	middle.each(func(i int) { VMULPS(inverse, middle[i], middle[i]) })
	m.store(middle, shift)
	s, q := m.zeros(count), m.zeros(count)
	eachRow("row", rows, stride, []reg.GPVirtual{x}, func() {
		s.each(func(i int) {
			v := m.vector()
			VMOVUPS(m.place(x, i), v)
			VSUBPS(middle[i], v, v)
			VADDPS(v, s[i], s[i])
			VFMADD231PS(v, v, q[i])
		})
	})
	m.store(s, sum)
	m.store(q, squares)
	end()
}

// rowsAffine: dst = x·scale + shift, with addend added to it, and max(·, 0) of it.
func (m machine) rowsAffine(count int, add, relu bool) {
	name, parameters := "rowsAffine", "dst, x, scale, shift *float32, rows, stride uintptr"
	if add {
		name, parameters = name+"Add", "dst, x, addend, scale, shift *float32, rows, stride uintptr"
	}
	if relu {
		name += "Relu"
	}
	m.begin("", fmt.Sprintf("%s%d", name, count), parameters, "")
	dst, x, rows, stride := param("dst"), param("x"), param("rows"), param("stride")
	pointers := []reg.GPVirtual{dst, x}
	var addend reg.GPVirtual
	if add {
		addend = param("addend")
		pointers = append(pointers, addend)
	}
	scale, shift := m.columns(param("scale"), count), m.columns(param("shift"), count)
	zero := m.zeros(1)[0]
	eachRow("row", rows, stride, pointers, func() {
		scale.each(func(i int) {
			v := m.vector()
			VMOVUPS(m.place(x, i), v)
			VFMADD213PS(shift[i], scale[i], v)
			if add {
				VADDPS(m.place(addend, i), v, v)
			}
			if relu {
				VMAXPS(v, zero, v) // for NaN, the last source: v
			}
			VMOVUPS(v, m.place(dst, i))
		})
	})
	end()
}

// normalised lets only those of the numbers v through whose x·scale + shift is positive: the gradient of a relu behind a normalisation.
type normalised struct {
	m            machine
	scale, shift reg.GPVirtual
	zero         reg.VecVirtual
}

func (m machine) normalised() *normalised {
	return &normalised{m, param("scale"), param("shift"), m.zeros(1)[0]}
}

func (n *normalised) keep(x, v reg.VecVirtual, i int) {
	t := n.m.vector()
	VMOVUPS(n.m.place(n.scale, i), t)
	VFMADD213PS(n.m.place(n.shift, i), x, t)
	n.m.keep(n.m.compare(greaterThan, t, n.zero), v, v)
}

// rowsCombine: dst = x·a + y·b + c; masked: with only the y at which x·scale + shift is positive.
func (m machine) rowsCombine(count int, masked bool) {
	name, parameters := "rowsCombine", "dst, x, a, y, b, c *float32, rows, stride uintptr"
	if masked {
		name, parameters = name+"Masked", "dst, x, a, y, b, c, scale, shift *float32, rows, stride uintptr"
	}
	m.begin("", fmt.Sprintf("%s%d", name, count), parameters, "")
	dst, x, y, rows, stride := param("dst"), param("x"), param("y"), param("rows"), param("stride")
	a, b, c := m.columns(param("a"), count), m.columns(param("b"), count), param("c")
	var relu *normalised
	if masked {
		relu = m.normalised()
	}
	eachRow("row", rows, stride, []reg.GPVirtual{dst, x, y}, func() {
		a.each(func(i int) {
			v, w := m.vector(), m.vector()
			VMOVUPS(m.place(x, i), v)
			VMOVUPS(m.place(y, i), w)
			if masked {
				relu.keep(v, w, i)
			}
			VFMADD213PS(m.place(c, i), b[i], w)
			VFMADD231PS(v, a[i], w)
			VMOVUPS(w, m.place(dst, i))
		})
	})
	end()
}

// productRows: sum = Σ y, product = Σ y·(x − mean); masked: with only the y at which x·scale + shift is positive.
func (m machine) productRows(count int, masked bool) {
	name, parameters := "productRows", "sum, product, y, x, mean *float32, rows, stride uintptr"
	if masked {
		name, parameters = name+"Masked", "sum, product, y, x, mean, scale, shift *float32, rows, stride uintptr"
	}
	m.begin("", fmt.Sprintf("%s%d", name, count), parameters, "")
	sum, product, y, x, rows, stride := param("sum"), param("product"), param("y"), param("x"), param("rows"), param("stride")
	mean, s, p := param("mean"), m.zeros(count), m.zeros(count)
	var relu *normalised
	if masked {
		relu = m.normalised()
	}
	eachRow("row", rows, stride, []reg.GPVirtual{x, y}, func() {
		s.each(func(i int) {
			v, w := m.vector(), m.vector()
			VMOVUPS(m.place(x, i), v)
			VMOVUPS(m.place(y, i), w)
			if masked {
				relu.keep(v, w, i)
			}
			VSUBPS(m.place(mean, i), v, v)
			VADDPS(w, s[i], s[i])
			VFMADD231PS(w, v, p[i])
		})
	})
	m.store(s, sum)
	m.store(p, product)
	end()
}
