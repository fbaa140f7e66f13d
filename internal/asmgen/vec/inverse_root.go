package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// rootNumbers are what [machine.inverseRoot] needs for a type: 1, the number before it, the integer 1, and how many
// iterations double 14 bits to all that the type has.
type rootNumbers struct {
	one, below, last Memory
	iterations       int
}

// inverseRoot returns the function 1/√x, which may destroy x; a register holds the 1.
//
// Processors divide and take roots in one unit, which is busy for as many cycles with either. With AVX-512 it takes the
// root alone, whose inverse is a start of 14 bits and iterations y + y·(1 − s·y), each of which doubles the digits. The
// last one rounds as a division does, whatever the start was (Markstein, 1990), but for a root whose digits are all
// ones: it is divided as the number before it, with the same result. Loops of package jit divide: they have other work
// than that, which the iterations would hold up.
func (m machine) inverseRoot(c rootNumbers) func(x vectors) vectors {
	numerator := m.copy(c.one)
	return func(x vectors) vectors {
		x.each(func(i int) { Sqrt(x[i], x[i]) })
		if !m.wide || m.inline {
			x.each(func(i int) { Divide(x[i], numerator, x[i]) })
			return x
		}
		start, y, rest := m.vectors(len(x)), m.vectors(len(x)), m.vectors(len(x))
		x.each(func(i int) {
			Fraction(rest[i], x[i], FromHalf)
			ones := Compare(Equal, rest[i], c.below)
			SubtractInt(rest[i], x[i], c.last)
			Blend(x[i], ones, rest[i])
			Inverse(start[i], x[i])
			Copy(y[i], start[i])
		})
		for range c.iterations {
			x.each(func(i int) {
				Copy(rest[i], y[i])
				SubtractScaled(rest[i], x[i], numerator)
				AddProduct(y[i], rest[i], y[i])
			})
		}
		x.each(func(i int) { Blend(y[i], Compare(Unordered, y[i], y[i]), start[i]) }) // of 0, +∞ and NaN it is the start
		return y
	}
}

// inverseRoots64 emits 1/√x of floats of 64 bits.
func (m machine) inverseRoots64() {
	m.begin("unary64", "rsqrt64", "dst, x unsafe.Pointer, n uintptr", "")
	Float64()
	dst, x, n := param("dst"), param("x"), param("n")
	f := m.inverseRoot(rootNumbers{double(1), double(1 - 0x1p-53), doublePattern(1), 3})
	m.doubleLoop(n, []Scalar{dst, x}, func() {
		Store(Memory{Base: dst}, f(vectors{m.copy(Memory{Base: x})})[0])
	})
}
