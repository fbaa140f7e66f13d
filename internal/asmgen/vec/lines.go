package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// lines emits rowsAffine and rowsCombine for contiguous rows of many columns, reading the columns' numbers from memory.
// A row has n bytes in whole vectors and then, unless end is 0, a vector at end bytes that overlaps the previous one.
// That vector is computed before anything of the row is stored, since the result may replace an operand. The first
// operands advance by stride; the others, the columns' numbers, do not.
func (m machine) lines() {
	for _, flag := range []bool{false, true} {
		m.lineAffine(flag, false)
		m.lineAffine(flag, true)
		m.lineCombine(flag)
	}
}

// eachLine emits the loops; body returns the result at an offset from the pointers. The first pointer is the result's.
func (m machine) eachLine(pointers []Scalar, body func(at func(p Scalar) Memory) Vector) {
	rows, n, end, stride := param("rows"), param("n"), param("end"), param("stride")
	i, last := NewScalar(), m.zeros(1)[0]
	at := func(by Scalar) func(p Scalar) Memory {
		return func(p Scalar) Memory { return Memory{Base: p}.Indexed(by, 1) }
	}
	Label("row")
	JumpZero(end, "whole")
	Copy(last, body(at(end)))
	Label("whole")
	Clear(i)
	Label("column")
	Store(at(i)(pointers[0]), body(at(i)))
	Increase(i, Number(m.bytes()))
	JumpBelow(i, n, "column")
	JumpZero(end, "next")
	Store(at(end)(pointers[0]), last)
	Label("next")
	for _, p := range pointers {
		Increase(p, stride)
	}
	Countdown(rows, 1, "row")
	End()
}

// lineAffine: dst = x·scale + shift, optionally plus addend, and optionally max(·, 0) of it.
func (m machine) lineAffine(add, relu bool) {
	name, parameters := "lineAffine", "dst, x, scale, shift *float32, rows, n, end, stride uintptr"
	if add {
		name, parameters = name+"Add", "dst, x, addend, scale, shift *float32, rows, n, end, stride uintptr"
	}
	if relu {
		name += "Relu"
	}
	m.begin("", name, parameters, "")
	dst, x, scale, shift := param("dst"), param("x"), param("scale"), param("shift")
	pointers := []Scalar{dst, x}
	var addend Scalar
	if add {
		addend = param("addend")
		pointers = append(pointers, addend)
	}
	zero := m.zeros(1)[0]
	m.eachLine(pointers, func(at func(p Scalar) Memory) Vector {
		v, by := m.load(at(x)), m.load(at(scale))
		multiplyThenAdd(v, by, at(shift))
		if add {
			Add(v, v, at(addend))
		}
		if relu {
			Max(v, zero, v) // for NaN, Max returns its last source, v
		}
		return v
	})
}

// lineCombine: dst = x·a + y·b + c; if masked, y is 0 where x·scale + shift is not positive.
func (m machine) lineCombine(masked bool) {
	name, parameters := "lineCombine", "dst, x, a, y, b, c *float32, rows, n, end, stride uintptr"
	if masked {
		name, parameters = name+"Masked", "dst, x, a, y, b, c, scale, shift *float32, rows, n, end, stride uintptr"
	}
	m.begin("", name, parameters, "")
	dst, x, y, a, b, c := param("dst"), param("x"), param("y"), param("a"), param("b"), param("c")
	var scale, shift Scalar
	if masked {
		scale, shift = param("scale"), param("shift")
	}
	zero := m.zeros(1)[0]
	m.eachLine([]Scalar{dst, x, y}, func(at func(p Scalar) Memory) Vector {
		v, w, by := m.load(at(x)), m.load(at(y)), m.load(at(b))
		if masked {
			t := m.load(at(scale))
			multiplyThenAdd(t, v, at(shift))
			Keep(w, Compare(GreaterThan, t, zero), w)
		}
		multiplyThenAdd(w, by, at(c))
		Load(by, at(a))
		m.addProduct(w, by, v)
		return w
	})
}
