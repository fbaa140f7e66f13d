package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// rootNumbers are what [machine.inverseRoot] needs for a type: 1, the number before it, the integer 1, and the number
// of iterations that refine 14 bits to the type's full precision.
type rootNumbers struct {
	one, below, last Memory
	iterations       int
}

// inverseRoot returns the function 1/√x, which may destroy x; it keeps 1 in a register.
//
// Processors compute divisions and square roots in the same unit, which is busy equally long with either. With AVX-512
// it computes only the root. The reciprocal starts from an estimate of 14 bits, and each iteration y + y·(1 − s·y)
// doubles the precision. The last iteration rounds like a division, whatever the estimate was (Markstein, 1990), unless
// all bits of the root's significand are ones. Such a root is replaced by the number before it, which has the same
// reciprocal. Loops of package jit divide: they have other work to do meanwhile, which the iterations would delay.
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
		x.each(func(i int) { Blend(y[i], Compare(Unordered, y[i], y[i]), start[i]) }) // for 0, +∞ and NaN the estimate is the result
		return y
	}
}

// inverseRoots64 emits 1/√x for float64.
func (m machine) inverseRoots64() {
	m.begin("unary64", "rsqrt64", "dst, x unsafe.Pointer, n uintptr", "")
	Float64()
	dst, x, n := param("dst"), param("x"), param("n")
	f := m.inverseRoot(rootNumbers{double(1), double(1 - 0x1p-53), doublePattern(1), 3})
	m.doubleLoop(n, []Scalar{dst, x}, func() {
		Store(Memory{Base: dst}, f(vectors{m.copy(Memory{Base: x})})[0])
	})
}
