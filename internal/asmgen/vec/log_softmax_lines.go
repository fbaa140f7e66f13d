package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// expSumLines computes the largest number of each line and Σ e^(x − largest), for lines of at least a vector. It stores
// the largest number at line, which advances.
func (m machine) expSumLines() {
	m.begin("", "expSumLines", "x, mask, line, sums *float32, rows, n, rest, stride uintptr", "")
	x, sums := param("x"), param("sums")
	l := m.softmaxLine()
	unroll := m.expUnroll()
	p := NewScalar()
	scoreRows(l.rows, l.stride, []Scalar{x}, func() {
		top := m.vectors(4)
		top.each(func(i int) { Load(top[i], l.last(x)) })
		Assign(p, x)
		l.each("largest", 4, []Scalar{p}, func(offsets []int) { // skips NaN, which the sum will contain
			for i, o := range offsets {
				Max(top[i], top[i], Memory{Base: p, Offset: o})
			}
		})
		shift := m.spread(top, Max, l.line)
		s := m.zeros(unroll)
		l.tail("tail", func() {
			last := m.zeros(1)
			Load(last[0], l.last(x))
			Subtract(last[0], last[0], shift)
			Keep(s[unroll-1], m.hidden(Memory{Base: l.mask}), m.exp(last)[0])
		})
		Assign(p, x)
		l.each("exp", unroll, []Scalar{p}, func(offsets []int) {
			v := m.vectors(len(offsets))
			for i, o := range offsets {
				Load(v[i], Memory{Base: p, Offset: o})
				Subtract(v[i], v[i], shift)
			}
			v = m.exp(v)
			v.each(func(i int) { Add(s[i], s[i], v[i]) })
		})
		m.gather(s, Add, sums)
		Increase(l.line, Number(4))
		Increase(sums, Number(4))
	})
	End()
}

// expUnroll is the number of vectors of exponentials computed side by side.
func (m machine) expUnroll() int {
	if m.wide {
		return 4
	}
	return 2
}

// subtractLines: dst = x − totals[row], for lines of at least a vector.
func (m machine) subtractLines() {
	m.begin("", "subtractLines", "dst, x, totals *float32, rows, n, stride uintptr", "")
	dst, x, totals, rows, n, stride := param("dst"), param("x"), param("totals"), param("rows"), param("n"), param("stride")
	p, q, k, end := NewScalar(), NewScalar(), NewScalar(), NewScalar()
	Address(end, Memory{Base: stride, Offset: -m.bytes()})
	scoreRows(rows, stride, []Scalar{x, dst}, func() {
		total, last := m.broadcast(totals, 0), m.vector()
		Load(last, Memory{Base: x}.Indexed(end, 1))
		Subtract(last, last, total)
		Assign(p, x)
		Assign(q, dst)
		Assign(k, n)
		m.loop(4, k, []Scalar{p, q}, func(offsets []int) {
			for _, o := range offsets {
				v := m.load(Memory{Base: p, Offset: o})
				Subtract(v, v, total)
				Store(Memory{Base: q, Offset: o}, v)
			}
		})
		Store(Memory{Base: dst}.Indexed(end, 1), last)
		Increase(totals, Number(4))
	})
	End()
}

// logSoftmaxLinesGrad: dst = d − e^y·Σ d, for lines of at least a vector.
func (m machine) logSoftmaxLinesGrad() {
	m.begin("", "logSoftmaxLinesGrad", "dst, y, d, mask, line *float32, rows, n, rest, stride uintptr", "")
	dst, y, d := param("dst"), param("y"), param("d")
	l := m.softmaxLine()
	p, q, to := NewScalar(), NewScalar(), NewScalar()
	scoreRows(l.rows, l.stride, []Scalar{y, d, dst}, func() {
		s, up := m.zeros(4), m.vector()
		Load(up, l.last(d))
		l.tail("tail", func() { Keep(s[3], m.hidden(Memory{Base: l.mask}), up) })
		Assign(p, d)
		l.each("sum", 4, []Scalar{p}, func(offsets []int) {
			for i, o := range offsets {
				Add(s[i], s[i], Memory{Base: p, Offset: o})
			}
		})
		sum, last := m.spread(s, Add, l.line), m.zeros(1)
		l.tail("tailExp", func() {
			Load(last[0], l.last(y))
			SubtractProduct(up, m.exp(last)[0], sum)
		})
		Assign(p, y)
		Assign(q, d)
		Assign(to, dst)
		l.each("exp", m.expUnroll(), []Scalar{p, q, to}, func(offsets []int) {
			v := m.vectors(len(offsets))
			for i, o := range offsets {
				Load(v[i], Memory{Base: p, Offset: o})
			}
			v = m.exp(v)
			for i, o := range offsets {
				w := m.load(Memory{Base: q, Offset: o})
				SubtractProduct(w, v[i], sum)
				Store(Memory{Base: to, Offset: o}, w)
			}
		})
		l.tail("tailEnd", func() { Store(l.last(dst), up) })
	})
	End()
}
