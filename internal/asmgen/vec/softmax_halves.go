package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Softmax of scores in rows, with results rounded to bfloat16. For AVX-512 with AVX512-BF16.

// halfPowersOf returns a function that computes 2ˣ with relative error 2⁻¹⁸ (0 for results below 2⁻¹²⁶), with constants
// in registers.
func (m machine) halfPowersOf() func(x vectors) vectors {
	p := m.kept("coarsePower", 0.00957011578, 0.0559178598, 0.240247444, 0.693121814, 0.999999262)
	return func(x vectors) vectors { // for −½ ≤ r ≤ ½
		r, y := m.vectors(len(x)), m.vectors(len(x))
		x.each(func(i int) { Reduce(r[i], x[i], Nearest) })
		x.each(func(i int) { Copy(y[i], p[0]) })
		for _, c := range p[1:] {
			x.each(func(i int) { MultiplyAdd(y[i], r[i], c) })
		}
		x.each(func(i int) { Subtract(x[i], x[i], r[i]) })
		x.each(func(i int) { Scale(y[i], y[i], x[i]) })
		return y
	}
}

// softmaxHalves: for each row dst = 2^(scale·x − largest), rounded, in rows that are to bytes apart, with zeros in the
// hidden groups, and arrays of the largest scale·x and of the sums. Each step is done for all rows, as in softmaxRows.
func (m machine) softmaxHalves() {
	if !m.wide {
		return
	}
	m.beginWide("softmaxHalves", "dst unsafe.Pointer, x, largest, sums, mask *float32, rows, n, stride, to, maskStep, pad uintptr, scalars unsafe.Pointer")
	const several = 4
	x, largest, rows, n, stride := param("x"), param("largest"), param("rows"), param("n"), param("stride")
	scale := m.broadcast(param("scalars"), 0)
	m.largestScores(several, x, largest, param("mask"), rows, n, stride, param("maskStep"), scale)

	power := m.halfPowersOf()
	dst, sums, to, pad := param("dst"), param("sums"), param("to"), param("pad")
	p, d, k := NewScalar(), NewScalar(), NewScalar()
	Reload(x, "x")
	Reload(largest, "largest")
	Reload(rows, "rows")
	namedRows("power", rows, stride, []Scalar{x}, func() {
		shift := m.broadcast(largest, 0)
		s := m.zeros(several)
		Assign(p, x)
		Assign(d, dst)
		Assign(k, n)
		m.groups("exp", several, k, []Scalar{p}, func(n int) {
			v := m.columns(p, n)
			v.each(func(i int) { MultiplySubtract(v[i], scale, shift) })
			v = power(v)
			v.each(func(i int) {
				Add(s[i], s[i], v[i])
				StoreBFloat16(m.halfPlace(d, i), v[i])
			})
			Increase(d, Number(n*m.bytes()/2))
		})
		m.gather(s, Add, sums)
		m.clearHalves("clear", k, pad, d)
		Increase(dst, to)
		Increase(largest, Number(4))
		Increase(sums, Number(4))
	})
	End()
}

// clearHalves stores bfloat16 zeros in the groups of a row that are entirely hidden.
func (m machine) clearHalves(name string, k, pad, d Scalar) {
	zero := m.zeros(1)[0]
	Assign(k, pad)
	m.groups(name, 1, k, nil, func(n int) {
		StoreBFloat16(m.halfPlace(d, 0), zero)
		Increase(d, Number(m.bytes()/2))
	})
}

// scaleHalves multiplies rows of x, from bytes apart, by the row's number, and rounds them to rows of dst, to bytes
// apart. Rows fill whole vectors.
func (m machine) scaleHalves() {
	if !m.wide {
		return
	}
	m.beginWide("scaleHalves", "dst unsafe.Pointer, x, factors *float32, columns, rows, to, from uintptr")
	dst, x, factors, rows, to, from := param("dst"), param("x"), param("factors"), param("rows"), param("to"), param("from")
	p, d, k := NewScalar(), NewScalar(), NewScalar()
	Label("row")
	factor := m.broadcast(factors, 0)
	Assign(p, x)
	Assign(d, dst)
	Reload(k, "columns")
	Label("column")
	v := m.vector()
	Multiply(v, factor, Memory{Base: p})
	StoreBFloat16(Memory{Base: d}, v)
	PrefetchNear(Memory{Base: d}.Indexed(to, aheadRows))
	Increase(p, Number(m.bytes()))
	Increase(d, Number(m.bytes()/2))
	Countdown(k, m.bytes()/4, "column")
	Increase(factors, Number(4))
	Increase(dst, to)
	Increase(x, from)
	Countdown(rows, 1, "row")
	End()
}
