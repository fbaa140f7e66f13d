package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Layer normalization takes rows of cols bytes, a multiple of the vector's, that are stride bytes apart, with numbers that belong to the
// rows. Sums leave eight parts for each row, which are added in Go.

// eights adds the halves of a vector of sixteen and stores eight numbers.
func (m machine) eights(v reg.VecVirtual, to Mem) {
	if !m.wide {
		VMOVUPS(v, to)
		return
	}
	low, top := YMM(), YMM()
	VEXTRACTF64X4(U8(1), v, top)
	VEXTRACTF64X4(U8(0), v, low)
	VADDPS(top, low, low)
	VMOVUPS(low, to)
}

// rowsOf emits a loop over rows: begin, then body for each vector at an offset from the pointers, then finish.
func (m machine) rowsOf(pointers []reg.GPVirtual, vectors []reg.GPVirtual, begin func(), body func(at reg.GPVirtual), finish func()) {
	rows, cols, stride := param("rows"), param("cols"), param("stride")
	Label("row")
	begin()
	at := GP64()
	MOVQ(U32(0), at)
	Label("column")
	body(at)
	ADDQ(U32(m.bytes()), at)
	CMPQ(at, cols)
	JB(LabelRef("column"))
	finish()
	for _, p := range vectors {
		ADDQ(stride, p)
	}
	for _, p := range pointers {
		ADDQ(U32(4), p)
	}
	DECQ(rows)
	JNE(LabelRef("row"))
	end()
}

func (m machine) layerNorm() {
	at := func(p, i reg.GPVirtual) Mem { return Mem{Base: p}.Idx(i, 1) }
	zero := func(vs ...reg.VecVirtual) {
		for _, v := range vs {
			VXORPS(v, v, v)
		}
	}

	m.begin("", "normSums", "parts, x *float32, rows, cols, stride uintptr", "")
	parts, x := param("parts"), param("x")
	sum := m.vector()
	m.rowsOf(nil, []reg.GPVirtual{x}, func() { zero(sum) }, func(i reg.GPVirtual) { VADDPS(at(x, i), sum, sum) }, func() {
		m.eights(sum, Mem{Base: parts})
		ADDQ(U32(32), parts)
	})

	m.begin("", "normSquares", "parts, x, mean *float32, rows, cols, stride uintptr", "")
	parts, x, mean := param("parts"), param("x"), param("mean")
	sum, center := m.vector(), m.vector()
	m.rowsOf([]reg.GPVirtual{mean}, []reg.GPVirtual{x}, func() {
		zero(sum)
		VBROADCASTSS(Mem{Base: mean}, center)
	}, func(i reg.GPVirtual) {
		v := m.vector()
		VMOVUPS(at(x, i), v)
		VSUBPS(center, v, v)
		VFMADD231PS(v, v, sum)
	}, func() {
		m.eights(sum, Mem{Base: parts})
		ADDQ(U32(32), parts)
	})

	m.begin("", "normApply", "dst, x, mean, rstd, gamma, beta *float32, rows, cols, stride uintptr", "")
	dst, x, mean, rstd, gamma, beta := param("dst"), param("x"), param("mean"), param("rstd"), param("gamma"), param("beta")
	center, scale := m.vector(), m.vector()
	m.rowsOf([]reg.GPVirtual{mean, rstd}, []reg.GPVirtual{x, dst}, func() {
		VBROADCASTSS(Mem{Base: mean}, center)
		VBROADCASTSS(Mem{Base: rstd}, scale)
	}, func(i reg.GPVirtual) {
		v, g := m.vector(), m.vector()
		VMOVUPS(at(x, i), v)
		VMOVUPS(at(gamma, i), g)
		VSUBPS(center, v, v)
		VMULPS(scale, v, v)
		VFMADD213PS(at(beta, i), g, v)
		VMOVUPS(v, at(dst, i))
	}, func() {})

	m.begin("", "normGradSums", "parts, x, dy, mean, rstd, gamma *float32, rows, cols, stride uintptr", "")
	parts, x, dy, mean, rstd, gamma := param("parts"), param("x"), param("dy"), param("mean"), param("rstd"), param("gamma")
	sum, product, center := m.vector(), m.vector(), m.vector()
	m.rowsOf([]reg.GPVirtual{mean, rstd}, []reg.GPVirtual{x, dy}, func() {
		zero(sum, product)
		VBROADCASTSS(Mem{Base: mean}, center)
	}, func(i reg.GPVirtual) {
		v, g := m.vector(), m.vector()
		VMOVUPS(at(x, i), v)
		VMOVUPS(at(dy, i), g)
		VSUBPS(center, v, v)
		VMULPS(at(gamma, i), g, g)
		VADDPS(g, sum, sum)
		VFMADD231PS(v, g, product)
	}, func() {
		scale := m.vector()
		VBROADCASTSS(Mem{Base: rstd}, scale)
		VMULPS(scale, product, product)
		m.eights(sum, Mem{Base: parts})
		m.eights(product, Mem{Base: parts, Disp: 32})
		ADDQ(U32(64), parts)
	})

	// dx = rstd·(dy·gamma − a − (x − mean)·b) with a and b of the row.
	m.begin("", "normGradApply", "dx, x, dy, scalars, gamma *float32, rows, cols, stride uintptr", "")
	dx, x, dy, scalars, gamma := param("dx"), param("x"), param("dy"), param("scalars"), param("gamma")
	center, scale, a, b := m.vector(), m.vector(), m.vector(), m.vector()
	m.rowsOf(nil, []reg.GPVirtual{x, dy, dx}, func() {
		for i, v := range []reg.VecVirtual{center, scale, a, b} {
			VBROADCASTSS(Mem{Base: scalars, Disp: 4 * i}, v)
		}
		ADDQ(U32(16), scalars)
	}, func(i reg.GPVirtual) {
		v, g := m.vector(), m.vector()
		VMOVUPS(at(x, i), v)
		VMOVUPS(at(dy, i), g)
		VMULPS(at(gamma, i), g, g)
		VSUBPS(center, v, v)
		VSUBPS(a, g, g)
		VFNMADD231PS(b, v, g)
		VMULPS(scale, g, g)
		VMOVUPS(g, at(dx, i))
	}, func() {})

	// One vector of columns: sum += dy and product += dy·(x − mean)·rstd over the rows.
	m.begin("", "normGradColumns", "sum, product, x, dy, mean, rstd *float32, rows, stride uintptr", "")
	sumAt, productAt, x, dy, mean, rstd := param("sum"), param("product"), param("x"), param("dy"), param("mean"), param("rstd")
	rows, stride := param("rows"), param("stride")
	sum, product = m.vector(), m.vector()
	VMOVUPS(Mem{Base: sumAt}, sum)
	VMOVUPS(Mem{Base: productAt}, product)
	Label("row")
	v, g, n := m.vector(), m.vector(), m.vector()
	VBROADCASTSS(Mem{Base: mean}, n)
	VMOVUPS(Mem{Base: x}, v)
	VMOVUPS(Mem{Base: dy}, g)
	VSUBPS(n, v, v)
	VBROADCASTSS(Mem{Base: rstd}, n)
	VMULPS(n, v, v)
	VADDPS(g, sum, sum)
	VFMADD231PS(v, g, product)
	for _, p := range []reg.GPVirtual{x, dy} {
		ADDQ(stride, p)
	}
	for _, p := range []reg.GPVirtual{mean, rstd} {
		ADDQ(U32(4), p)
	}
	DECQ(rows)
	JNE(LabelRef("row"))
	VMOVUPS(sum, Mem{Base: sumAt})
	VMOVUPS(product, Mem{Base: productAt})
	end()
}
