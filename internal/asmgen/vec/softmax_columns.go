package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Scores in columns: rows of 32 numbers, one for each query, of which the first n are processed, in whole groups. A
// column's numbers in the state are columnBytes apart: the sum, the shift, and the factor by which the previous sum was
// multiplied.
const (
	columns     = 32
	columnBytes = 4 * columns
)

// eachColumn emits a loop over the vectors of a row; the pointers advance.
func (m machine) eachColumn(n Scalar, pointers []Scalar, body func()) {
	Label("column")
	body()
	for _, p := range pointers {
		Increase(p, Number(m.bytes()))
	}
	Countdown(n, m.bytes()/4, "column")
}

// down emits a loop over the rows of a vector of columns, from p on: several at a time, then one by one.
func (m machine) down(name string, several int, p, rows Scalar, body func(at []Memory)) {
	k := NewScalar()
	Assign(k, rows)
	for _, u := range []int{several, 1} {
		if u == 1 && several == 1 {
			break
		}
		top, bottom := name, name+"End"
		if u == 1 {
			top, bottom = name+"1", name+"End1"
		}
		Label(top)
		JumpBelow(k, Number(u), bottom)
		at := make([]Memory, u)
		for i := range at {
			at[i] = Memory{Base: p, Offset: i * columnBytes}
		}
		body(at)
		Increase(p, Number(u*columnBytes))
		Decrease(k, Number(u))
		Jump(top)
		Label(bottom)
	}
}

// softmaxColumns: for each column x = 2^(scale·x − shift), in place, where shift is the largest scale·x including
// previous rows, and the sum of the same. The state holds the sums and shifts of the previous rows, and is updated.
func (m machine) softmaxColumns() {
	m.begin("", "softmaxColumns", "x, state, scale *float32, rows, n uintptr", "")
	x, state, rows, n := param("x"), param("state"), param("rows"), param("n")
	scale := m.broadcast(param("scale"), 0)
	several, sums := 4, 4
	if !m.wide {
		several, sums = 2, 2
	}
	power := m.powers()
	p := NewScalar()
	m.eachColumn(n, []Scalar{x, state}, func() {
		top := m.vectors(4)
		top.each(func(i int) { Load(top[i], Constant("minusInfinity", 0xff800000)) })
		Assign(p, x)
		m.down("largest", 4, p, rows, func(at []Memory) {
			for i, a := range at { // skips NaN, which the sum will contain
				v := m.load(a)
				Max(top[i], v, top[i])
			}
		})
		Max(top[0], top[0], top[2])
		Max(top[1], top[1], top[3])
		Max(top[0], top[0], top[1])
		shift := top[0]
		Multiply(shift, shift, scale)
		before := vectors{m.load(Memory{Base: state, Offset: columnBytes})}
		Max(shift, before[0], shift)
		Store(Memory{Base: state, Offset: columnBytes}, shift)
		Subtract(before[0], before[0], shift)
		factor := power(before)[0]
		Store(Memory{Base: state, Offset: 2 * columnBytes}, factor)

		s := m.zeros(sums)
		Multiply(s[0], factor, Memory{Base: state})
		Assign(p, x)
		m.down("power", several, p, rows, func(at []Memory) {
			v := m.vectors(len(at))
			v.each(func(i int) {
				Load(v[i], at[i])
				MultiplySubtract(v[i], scale, shift)
			})
			v = power(v)
			v.each(func(i int) {
				Add(s[i%sums], s[i%sums], v[i])
				Store(at[i], v[i])
			})
		})
		for half := sums / 2; half > 0; half /= 2 {
			for i := range half {
				Add(s[i], s[i], s[half+i])
			}
		}
		Store(Memory{Base: state}, s[0])
	})
	End()
}

// powers returns a function that computes 2ˣ, with 0 for results below 2⁻¹²⁶.
func (m machine) powers() func(x vectors) vectors {
	if m.wide { // a polynomial for 0 ≤ r < 1
		p := m.kept("columnP", 0.0018775766948238015, 0.00898933969438076, 0.05582631751894951, 0.24015361070632935, 0.6931530833244324, 0.9999999403953552)
		return func(x vectors) vectors {
			r, y := m.vectors(len(x)), m.vectors(len(x))
			x.each(func(i int) { Reduce(r[i], x[i], Downwards) })
			x.each(func(i int) { Copy(y[i], p[0]) })
			for _, c := range p[1:] {
				x.each(func(i int) { MultiplyAdd(y[i], r[i], c) })
			}
			x.each(func(i int) { Scale(y[i], y[i], x[i]) })
			return y
		}
	}
	return func(x vectors) vectors { // for −½ ≤ r ≤ ½
		whole, n := m.vectors(len(x)), m.vectors(len(x))
		m.clamp(x, Constant("columnLow", float(-127)), Constant("columnHigh", float(128)))
		x.each(func(i int) { ToInt(whole[i], x[i]) })
		x.each(func(i int) { ToFloat(n[i], whole[i]) })
		x.each(func(i int) { Subtract(x[i], x[i], n[i]) })
		y := m.horner("columnQ", x, 0.0013390863314270973, 0.009676031768321991, 0.055503569543361664, 0.2402210682630539, 0.6931471824645996, 1.0000001192092896)
		x.each(func(i int) {
			AddInt(whole[i], whole[i], Constant("exponentBias", 127))
			ShiftLeft(whole[i], whole[i], 23)
			Multiply(y[i], y[i], whole[i])
		})
		return y
	}
}

// kept returns constants in registers.
func (m machine) kept(name string, values ...float64) []Vector {
	list := make([]Vector, len(values))
	for i, v := range values {
		list[i] = m.load(Constant(name+string(rune('0'+i)), float(v)))
	}
	return list
}

// scaleColumns multiplies the columns by numbers, or divides by them.
func (m machine) scaleColumns(divide bool) {
	name := "scaleColumns"
	if divide {
		name = "divideColumns"
	}
	m.begin("", name, "x, by *float32, rows, n uintptr", "")
	x, by, rows, n := param("x"), param("by"), param("rows"), param("n")
	p := NewScalar()
	m.eachColumn(n, []Scalar{x, by}, func() {
		factor := m.load(Memory{Base: by})
		if divide {
			Max(factor, m.load(Constant("smallestNormal", 1<<23)), factor) // for NaN, Max returns its last source
			unit := m.load(one())
			Divide(factor, unit, factor)
		}
		Assign(p, x)
		m.down("rows", 4, p, rows, func(at []Memory) {
			for _, a := range at {
				v := m.vector()
				Multiply(v, factor, a)
				Store(a, v)
			}
		})
	})
	End()
}

// hideColumns stores minus infinity where the row's word has a 0 bit for the column; bits has each column's bit.
func (m machine) hideColumns() {
	m.begin("", "hideColumns", "x *float32, words, bits *uint32, rows uintptr", "")
	x, words, bits, rows := param("x"), param("words"), param("bits"), param("rows")
	zero, infinity := m.vector(), m.load(Constant("minusInfinity", 0xff800000))
	ZeroInt(zero)
	Label("row")
	word := m.vector()
	Broadcast(word, Memory{Base: words})
	for i := range columnBytes / m.bytes() {
		bit, v := m.vector(), m.load(m.place(x, i))
		LoadInt(bit, m.place(bits, i))
		AndInt(bit, bit, word)
		Blend(v, CompareInt(Equal, bit, zero), infinity)
		Store(m.place(x, i), v)
	}
	Increase(x, Number(columnBytes))
	Increase(words, Number(4))
	Countdown(rows, 1, "row")
	End()
}
