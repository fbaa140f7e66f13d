package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// productVectors are the numbers of a row's vectors that the functions for small matrix products handle at a time.
var productVectors = []int{8, 4, 2, 1}

// addProducts adds to every row of dst, which has count vectors, the rows of x times the row's factors, which are
// contiguous.
func (m sideBySide) addProducts(count int) {
	m.start(fmt.Sprintf("addProducts%d", count), "dst, f, x unsafe.Pointer, rows, depth, dstStride, fStride, xStride uintptr")
	dst, f, x, rows, depth := param("dst"), param("f"), param("x"), param("rows"), param("depth")
	dstStride, fStride, xStride := param("dstStride"), param("fStride"), param("xStride")
	by, from, n := NewScalar(), NewScalar(), NewScalar()
	eachRow("row", rows, dstStride, []Scalar{dst}, func() {
		sums := m.columns(dst, count)
		Assign(by, f)
		Assign(from, x)
		Assign(n, depth)
		Label("product")
		factor := m.factor(by, 0)
		sums.each(func(i int) { AddProduct(sums[i], factor, m.place(from, i)) })
		Increase(by, Number(m.size))
		Increase(from, xStride)
		Countdown(n, 1, "product")
		m.store(sums, dst)
		Increase(f, fStride)
	})
	End()
}
