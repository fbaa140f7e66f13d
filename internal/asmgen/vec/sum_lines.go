package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// sumLines emits the sums of contiguous lines, and of their products with other lines. The results have the bits of sum
// and dot over a line's whole vectors and its remainder padded with zeros. Lines have n numbers in whole vectors and,
// if rest is not 0, some more, whose lanes the mask selects: a whole vector is read there, so the memory after the last
// line must be readable.
func (m machine) sumLines() {
	m.lineSums("sumLines", "dst, x, mask *float32, rows, n, rest, stride uintptr", false)
	m.lineSums("dotLines", "dst, x, y, mask *float32, rows, n, rest, stride uintptr", true)
}

func (m machine) lineSums(name, parameters string, products bool) {
	m.begin("", name, parameters, "")
	dst, x, mask := param("dst"), param("x"), param("mask")
	rows, n, rest, stride := param("rows"), param("n"), param("rest"), param("stride")
	lines, p, q, k := []Scalar{x}, NewScalar(), NewScalar(), NewScalar()
	pointers := []Scalar{p}
	var y Scalar
	if products {
		y = param("y")
		lines, pointers = append(lines, y), append(pointers, q)
	}
	namedRows("row", rows, stride, lines, func() {
		s := m.zeros(4)
		Assign(p, x)
		if products {
			Assign(q, y)
		}
		Assign(k, n)
		m.namedLoop("sum", 4, k, pointers, func(offsets []int) {
			for i, o := range offsets {
				if products {
					AddProduct(s[i], m.load(Memory{Base: p, Offset: o}), Memory{Base: q, Offset: o})
				} else {
					Add(s[i], s[i], Memory{Base: p, Offset: o})
				}
			}
		})
		Add(s[0], s[0], s[2])
		Add(s[1], s[1], s[3])
		Add(s[0], s[0], s[1])
		sum := m.fold(s[0], Add)
		JumpZero(rest, "store")
		zero, v := m.zeros(1)[0], m.load(Memory{Base: p})
		last := m.hidden(Memory{Base: mask})
		Keep(v, last, v)
		if products {
			w := m.load(Memory{Base: q})
			Keep(w, last, w)
			AddProduct(zero, v, w)
		} else {
			Add(zero, zero, v)
		}
		AddFirst(sum, sum, m.fold(zero, Add))
		Label("store")
		StoreFirst(Memory{Base: dst}, sum)
		Increase(dst, Number(4))
	})
	End()
}
