package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// dotRowCounts are the numbers of rows that the functions multiply with a row at a time.
var dotRowCounts = []int{4, 2, 1}

// dotRows stores the dot products of x with count rows of y. The rows are stride bytes apart and have n bytes, a
// multiple of sixteen numbers.
func (m sideBySide) dotRows(count int) {
	m.start(fmt.Sprintf("dotRows%d", count), "dst, x, y unsafe.Pointer, n, stride uintptr")
	dst, x, y, n := param("dst"), param("x"), param("y"), param("n")
	rows := []Memory{{Base: y}}
	if count > 1 {
		stride := param("stride")
		rows = append(rows, rows[0].Indexed(stride, 1))
		if count > 2 {
			rows = append(rows, rows[0].Indexed(stride, 2), rows[0].Indexed(triple(stride), 1))
		}
	}
	side := min(m.element()/m.bytes(), 2) // vectors of a row that are summed in separate registers
	sums := m.zeros(count * side)
	Label("next")
	for i := range side {
		v := m.load(m.place(x, i))
		for r, row := range rows {
			row.Offset = i * m.bytes()
			AddProduct(sums[r*side+i], v, row)
		}
	}
	Increase(x, Number(side*m.bytes()))
	Increase(y, Number(side*m.bytes()))
	Countdown(n, side*m.bytes(), "next")
	for r := range rows {
		sum := sums[r*side]
		if side > 1 {
			Add(sum, sum, sums[r*side+1])
		}
		to := Memory{Base: dst, Offset: r * m.size}
		if m.size == 8 {
			StoreFirst(to, m.foldDoubles(sum, Add))
		} else {
			StoreFirst(to, m.fold(sum, Add))
		}
	}
	End()
}
