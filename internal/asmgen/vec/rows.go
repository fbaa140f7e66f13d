package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowKernels emits loops over the rows of a matrix with numbers that belong to the columns, which stay in registers: one function
// for four vectors of columns and one for a single vector. Rows are stride bytes apart.
func (m machine) rowKernels() {
	for _, count := range []int{1, 4} {
		m.addRows(count)
		m.rowsAffine(count, false)
		m.rowsAffine(count, true)
		m.rowsCombine(count)
		m.squareRows(count)
		m.productRows(count)
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
func eachRow(rows, stride reg.GPVirtual, pointers []reg.GPVirtual, body func()) {
	Label("row")
	body()
	for _, p := range pointers {
		ADDQ(stride, p)
	}
	DECQ(rows)
	JNE(LabelRef("row"))
}

func (m machine) addRows(count int) {
	m.begin("", fmt.Sprintf("addRows%d", count), "dst, x *float32, rows, stride uintptr", "")
	dst, x, rows, stride := param("dst"), param("x"), param("rows"), param("stride")
	s := m.zeros(count)
	eachRow(rows, stride, []reg.GPVirtual{x}, func() {
		s.each(func(i int) { VADDPS(m.place(x, i), s[i], s[i]) })
	})
	m.store(s, dst)
	end()
}

// rowsAffine: dst = x·scale + shift, and max(·, 0) of it.
func (m machine) rowsAffine(count int, relu bool) {
	name := "rowsAffine"
	if relu {
		name += "Relu"
	}
	m.begin("", fmt.Sprintf("%s%d", name, count), "dst, x, scale, shift *float32, rows, stride uintptr", "")
	dst, x, rows, stride := param("dst"), param("x"), param("rows"), param("stride")
	scale, shift := m.columns(param("scale"), count), m.columns(param("shift"), count)
	zero := m.zeros(1)[0]
	eachRow(rows, stride, []reg.GPVirtual{dst, x}, func() {
		scale.each(func(i int) {
			v := m.vector()
			VMOVUPS(m.place(x, i), v)
			VFMADD213PS(shift[i], scale[i], v)
			if relu {
				VMAXPS(v, zero, v) // for NaN, the last source: v
			}
			VMOVUPS(v, m.place(dst, i))
		})
	})
	end()
}

// rowsCombine: dst = x·a + y·b + c.
func (m machine) rowsCombine(count int) {
	m.begin("", fmt.Sprintf("rowsCombine%d", count), "dst, x, a, y, b, c *float32, rows, stride uintptr", "")
	dst, x, y, rows, stride := param("dst"), param("x"), param("y"), param("rows"), param("stride")
	a, b, c := m.columns(param("a"), count), m.columns(param("b"), count), m.columns(param("c"), count)
	eachRow(rows, stride, []reg.GPVirtual{dst, x, y}, func() {
		a.each(func(i int) {
			v := m.vector()
			VMOVUPS(m.place(y, i), v)
			VFMADD213PS(c[i], b[i], v)
			VFMADD231PS(m.place(x, i), a[i], v)
			VMOVUPS(v, m.place(dst, i))
		})
	})
	end()
}

// squareRows: dst = Σ (x − mean)².
func (m machine) squareRows(count int) {
	m.begin("", fmt.Sprintf("squareRows%d", count), "dst, x, mean *float32, rows, stride uintptr", "")
	dst, x, rows, stride := param("dst"), param("x"), param("rows"), param("stride")
	mean, s := m.columns(param("mean"), count), m.zeros(count)
	eachRow(rows, stride, []reg.GPVirtual{x}, func() {
		s.each(func(i int) {
			v := m.vector()
			VMOVUPS(m.place(x, i), v)
			VSUBPS(mean[i], v, v)
			VFMADD231PS(v, v, s[i])
		})
	})
	m.store(s, dst)
	end()
}

// productRows: sum = Σ y, product = Σ y·(x − mean).
func (m machine) productRows(count int) {
	m.begin("", fmt.Sprintf("productRows%d", count), "sum, product, y, x, mean *float32, rows, stride uintptr", "")
	sum, product, y, x, rows, stride := param("sum"), param("product"), param("y"), param("x"), param("rows"), param("stride")
	mean, s, p := m.columns(param("mean"), count), m.zeros(count), m.zeros(count)
	eachRow(rows, stride, []reg.GPVirtual{x, y}, func() {
		s.each(func(i int) {
			v, w := m.vector(), m.vector()
			VMOVUPS(m.place(x, i), v)
			VMOVUPS(m.place(y, i), w)
			VSUBPS(mean[i], v, v)
			VADDPS(w, s[i], s[i])
			VFMADD231PS(w, v, p[i])
		})
	})
	m.store(s, sum)
	m.store(p, product)
	end()
}
