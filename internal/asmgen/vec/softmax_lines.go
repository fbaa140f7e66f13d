package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// softmaxLine describes contiguous lines, of n numbers in whole vectors and rest bytes more. If there are rest bytes,
// the last vector of a line overlaps the one before it, and is computed before anything of the line is stored, since
// the result may replace the operand. The mask selects its lanes that are not in another vector.
type softmaxLine struct {
	m                                 machine
	mask, line, rows, n, rest, stride Scalar
	end                               Scalar // bytes from a line's beginning to its last vector
}

func (m machine) softmaxLine() *softmaxLine {
	l := &softmaxLine{m, param("mask"), param("line"), param("rows"), param("n"), param("rest"), param("stride"), NewScalar()}
	Address(l.end, Memory{Base: l.stride, Offset: -m.bytes()})
	return l
}

func (l *softmaxLine) last(p Scalar) Memory { return Memory{Base: p}.Indexed(l.end, 1) }

// tail emits what is needed only for lines that end with a partial vector.
func (l *softmaxLine) tail(label string, body func()) {
	JumpZero(l.rest, label)
	body()
	Label(label)
}

// each emits a loop over the whole vectors of a line.
func (l *softmaxLine) each(name string, unroll int, pointers []Scalar, body func(offsets []int)) {
	k := NewScalar()
	Assign(k, l.n)
	l.m.namedLoop(name, unroll, k, pointers, body)
}

// softmaxLines: e^(x − largest) / Σ of the same, for lines of at least a vector.
func (m machine) softmaxLines() {
	m.begin("", "softmaxLines", "dst, x, mask, line *float32, rows, n, rest, stride uintptr", "")
	dst, x := param("dst"), param("x")
	l := m.softmaxLine()
	unroll := m.expUnroll()
	p, q := NewScalar(), NewScalar()
	scoreRows(l.rows, l.stride, []Scalar{x, dst}, func() {
		top := m.vectors(4)
		top.each(func(i int) { Load(top[i], l.last(x)) })
		Assign(p, x)
		l.each("largest", 4, []Scalar{p}, func(offsets []int) { // NaN is passed over: the sum will have it
			for i, o := range offsets {
				Max(top[i], top[i], Memory{Base: p, Offset: o})
			}
		})
		shift := m.spread(top, Max, l.line)

		s, last := m.zeros(unroll), m.zeros(1)
		l.tail("tail", func() {
			Load(last[0], l.last(x))
			Subtract(last[0], last[0], shift)
			Copy(last[0], m.exp(last)[0])
			Keep(s[unroll-1], m.hidden(Memory{Base: l.mask}), last[0])
		})
		Assign(p, x)
		Assign(q, dst)
		l.each("exp", unroll, []Scalar{p, q}, func(offsets []int) {
			v := m.vectors(len(offsets))
			for i, o := range offsets {
				Load(v[i], Memory{Base: p, Offset: o})
				Subtract(v[i], v[i], shift)
			}
			v = m.exp(v)
			for i, o := range offsets {
				Add(s[i], s[i], v[i])
				Store(Memory{Base: q, Offset: o}, v[i])
			}
		})
		sum, factor := m.spread(s, Add, l.line), m.load(one())
		Divide(factor, factor, sum)
		Assign(q, dst)
		l.each("scale", 4, []Scalar{q}, func(offsets []int) {
			for _, o := range offsets {
				v := m.vector()
				Multiply(v, factor, Memory{Base: q, Offset: o})
				Store(Memory{Base: q, Offset: o}, v)
			}
		})
		l.tail("tailEnd", func() {
			Multiply(last[0], last[0], factor)
			Store(l.last(dst), last[0])
		})
	})
	End()
}

// softmaxLinesGrad: dst = y·(d − Σ y·d), for lines of at least a vector.
func (m machine) softmaxLinesGrad() {
	m.begin("", "softmaxLinesGrad", "dst, y, d, mask, line *float32, rows, n, rest, stride uintptr", "")
	dst, y, d := param("dst"), param("y"), param("d")
	l := m.softmaxLine()
	p, q, to := NewScalar(), NewScalar(), NewScalar()
	scoreRows(l.rows, l.stride, []Scalar{y, d, dst}, func() {
		s, last, up := m.zeros(4), m.zeros(1)[0], m.zeros(1)[0]
		l.tail("tail", func() {
			Load(last, l.last(y))
			Load(up, l.last(d))
			t := m.vector()
			Multiply(t, last, up)
			Keep(s[3], m.hidden(Memory{Base: l.mask}), t)
		})
		Assign(p, y)
		Assign(q, d)
		l.each("dot", 4, []Scalar{p, q}, func(offsets []int) {
			for i, o := range offsets {
				v := m.load(Memory{Base: p, Offset: o})
				AddProduct(s[i], v, Memory{Base: q, Offset: o})
			}
		})
		sum := m.spread(s, Add, l.line)
		Assign(p, y)
		Assign(q, d)
		Assign(to, dst)
		l.each("scale", 4, []Scalar{p, q, to}, func(offsets []int) {
			for _, o := range offsets {
				v := m.load(Memory{Base: q, Offset: o})
				Subtract(v, v, sum)
				Multiply(v, v, Memory{Base: p, Offset: o})
				Store(Memory{Base: to, Offset: o}, v)
			}
		})
		l.tail("tailEnd", func() {
			Subtract(up, up, sum)
			Multiply(up, up, last)
			Store(l.last(dst), up)
		})
	})
	End()
}
