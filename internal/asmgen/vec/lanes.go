package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// sideBySide is a machine that works on 16 problems at a time, with floats of size bytes. An element is 16 numbers, one
// for each problem.
type sideBySide struct {
	machine
	size int
}

// lanes emits the functions that work on 16 problems at a time, for float32 and float64.
func (m machine) lanes() {
	for _, size := range []int{4, 8} {
		l := sideBySide{m, size}
		l.addOuter()
		for _, count := range productVectors {
			l.addProducts(count)
		}
		for _, count := range dotRowCounts {
			l.dotRows(count)
		}
		for _, count := range chainVectors {
			l.turnChain(count)
		}
		l.butterfly(2)
		l.butterfly(3)
		l.butterfly(4)
		l.butterfly(5)
		l.butterfly(8)
		l.turnRows()
		l.splitReal()
		l.joinReal()
	}
}

// element is the size of an element in bytes.
func (m sideBySide) element() int { return 16 * m.size }

// start begins a function for floats of the given size.
func (m sideBySide) start(name, parameters string) {
	if m.size == 8 {
		name += "Doubles"
	}
	m.begin("", name, parameters, "")
	if m.size == 8 {
		Float64()
	}
}

// constant is the memory of a constant repeated over a vector.
func (m sideBySide) constant(name string, v float64) Memory {
	if m.size == 8 {
		return double(v)
	}
	return Constant(name, float(v))
}

// factor broadcasts the number at w[index] to a vector.
func (m sideBySide) factor(w Scalar, index int) Vector {
	v := m.vector()
	Broadcast(v, Memory{Base: w, Offset: m.size * index})
	return v
}

// addOuter adds x, multiplied by the row's factor, to every row of dst.
func (m sideBySide) addOuter() {
	m.start("addOuter", "dst, f, x unsafe.Pointer, rows, cols, dstStride, fStride uintptr")
	dst, f, x, rows, cols := param("dst"), param("f"), param("x"), param("rows"), param("cols")
	dstStride, fStride := param("dstStride"), param("fStride")
	to, from, n := NewScalar(), NewScalar(), NewScalar()
	eachRow("row", rows, dstStride, []Scalar{dst}, func() {
		factor := m.columns(f, m.element()/m.bytes())
		Increase(f, fStride)
		Assign(to, dst)
		Assign(from, x)
		Assign(n, cols)
		Label("column")
		for i, by := range factor {
			v := m.load(m.place(to, i))
			AddProduct(v, by, m.place(from, i))
			Store(m.place(to, i), v)
		}
		Increase(to, Number(m.element()))
		Increase(from, Number(m.element()))
		Countdown(n, 1, "column")
	})
	End()
}

// complexes are the real and imaginary parts of several numbers.
type complexes struct{ re, im vectors }

// butterfly is a step of a Fourier transform. It computes transforms of length radix of count runs of numbers,
// multiplied by count·(radix-1) complex factors, or without factors. Of each run, part bytes are computed. The runs of
// one transform are in and out bytes apart; those of the next one begin skipX and skipY bytes after the end of the
// first ones.
func (m sideBySide) butterfly(radix int) {
	m.start("butterfly"+string(rune('0'+radix)), "yre, yim, xre, xim, w unsafe.Pointer, count, part, in, out, skipX, skipY uintptr")
	yre, yim, xre, xim, w := param("yre"), param("yim"), param("xre"), param("xim"), param("w")
	count, in, out := param("count"), param("in"), param("out") // all in bytes except count
	n := NewScalar()
	in3, out3 := in, out
	if radix > 3 {
		in3, out3 = triple(in), triple(out)
	}
	places := func(p, stride, stride3 Scalar) []Memory {
		at := Memory{Base: p}
		first := []Memory{at, at.Indexed(stride, 1), at.Indexed(stride, 2), at.Indexed(stride3, 1), at.Indexed(stride, 4)}
		if radix <= 5 {
			return first[:radix]
		}
		last := Memory{Base: NewScalar()}
		Address(last.Base, first[4])
		return append(first[:4], last, last.Indexed(stride, 1), last.Indexed(stride, 2), last.Indexed(stride3, 1))
	}
	run := func(name string, factors bool) {
		Label(name)
		load := func(from ...int) (x complexes) {
			re, im := places(xre, in, in3), places(xim, in, in3)
			for _, i := range from {
				x.re, x.im = append(x.re, m.load(re[i])), append(x.im, m.load(im[i]))
			}
			return x
		}
		store := func(i int, re, im Vector) {
			if i > 0 && factors {
				re, im = m.turn(re, im, w, 2*(i-1))
			}
			Store(places(yre, out, out3)[i], re)
			Store(places(yim, out, out3)[i], im)
		}
		if radix == 8 {
			m.fourier8(load, store, func(i int) (Memory, Memory) { return places(yre, out, out3)[i], places(yim, out, out3)[i] })
		} else {
			y := map[int]func(complexes) complexes{2: m.fourier2, 3: m.fourier3, 4: m.fourier4, 5: m.fourier5}[radix](load([]int{0, 1, 2, 3, 4}[:radix]...))
			for i := range radix {
				store(i, y.re[i], y.im[i])
			}
		}
		for _, p := range []Scalar{xre, xim, yre, yim} {
			Increase(p, Number(m.bytes()))
		}
		Countdown(n, m.bytes(), name)
	}
	Label("factor")
	Reload(n, "part")
	JumpZero(w, "plain")
	run("run", true)
	Increase(w, Number(2*m.size*(radix-1)))
	Label("next")
	Reload(n, "skipX")
	Increase(xre, n)
	Increase(xim, n)
	Reload(n, "skipY")
	Increase(yre, n)
	Increase(yim, n)
	Countdown(count, 1, "factor")
	End()
	Label("plain")
	run("plainRun", false)
	Jump("next")
}

// turnRows multiplies rows of complex numbers by two factors: one per row, at s, and one per element, at v. After each
// row of width bytes the pointers skip the gap before the next row.
func (m sideBySide) turnRows() {
	m.start("turnRows", "yre, yim, xre, xim, s, vre, vim unsafe.Pointer, rows, width, skipX, skipY, skipV uintptr")
	yre, yim, xre, xim := param("yre"), param("yim"), param("xre"), param("xim")
	s, vre, vim, rows := param("s"), param("vre"), param("vim"), param("rows")
	n := NewScalar()
	Label("row")
	Reload(n, "width")
	Label("number")
	c, d := m.turn(m.load(Memory{Base: vre}), m.load(Memory{Base: vim}), s, 0)
	re, im := m.load(Memory{Base: xre}), m.load(Memory{Base: xim})
	x, y := m.vector(), m.vector()
	Multiply(x, re, c)
	Multiply(y, re, d)
	SubtractProduct(x, im, d)
	AddProduct(y, im, c)
	Store(Memory{Base: yre}, x)
	Store(Memory{Base: yim}, y)
	pointers := [][]Scalar{{xre, xim}, {yre, yim}, {vre, vim}}
	for _, pair := range pointers {
		Increase(pair[0], Number(m.bytes()))
		Increase(pair[1], Number(m.bytes()))
	}
	Countdown(n, m.bytes(), "number")
	for i, skip := range []string{"skipX", "skipY", "skipV"} {
		Reload(n, skip)
		Increase(pointers[i][0], n)
		Increase(pointers[i][1], n)
	}
	Increase(s, Number(2*m.size))
	Countdown(rows, 1, "row")
	End()
}

// turn multiplies a number by the complex factor at w[at].
func (m sideBySide) turn(re, im Vector, w Scalar, at int) (Vector, Vector) {
	c, s := m.factor(w, at), m.factor(w, at+1)
	x, y := m.vector(), m.vector()
	Multiply(x, re, c)
	Multiply(y, re, s)
	SubtractProduct(x, im, s)
	AddProduct(y, im, c)
	return x, y
}

// sumAndDifference replaces a and b by a + b and a − b.
func (m sideBySide) sumAndDifference(a, b Vector) (Vector, Vector) {
	sum := m.vector()
	Add(sum, a, b)
	Subtract(b, a, b)
	return sum, b
}

func (m sideBySide) fourier2(x complexes) complexes {
	x.re[0], x.re[1] = m.sumAndDifference(x.re[0], x.re[1])
	x.im[0], x.im[1] = m.sumAndDifference(x.im[0], x.im[1])
	return x
}

// fourier3: with t = b + c and s = √3/2·(b − c), the results are a + t and a − t/2 ∓ i·s.
func (m sideBySide) fourier3(x complexes) complexes {
	half, root := m.constant("half", 0.5), m.constant("sin60", 0.86602540378443864676)
	for _, v := range []vectors{x.re, x.im} {
		v[1], v[2] = m.sumAndDifference(v[1], v[2])
		first := m.vector()
		Add(first, v[0], v[1])
		Multiply(v[1], v[1], half)
		Subtract(v[1], v[0], v[1])
		Multiply(v[2], v[2], root)
		v[0] = first
	}
	r, j := x.re, x.im
	r[1], j[2] = m.sumAndDifference(r[1], j[2]) // real parts of results 1 and 2
	j[1], r[2] = m.sumAndDifference(j[1], r[2]) // imaginary parts of results 2 and 1
	return complexes{vectors{r[0], r[1], j[2]}, vectors{j[0], r[2], j[1]}}
}

func (m sideBySide) fourier4(x complexes) complexes {
	for _, v := range []vectors{x.re, x.im} {
		v[0], v[2] = m.sumAndDifference(v[0], v[2])
		v[1], v[3] = m.sumAndDifference(v[1], v[3])
		v[0], v[1] = m.sumAndDifference(v[0], v[1]) // results 0 and 2
	}
	r, j := x.re, x.im
	r[2], j[3] = m.sumAndDifference(r[2], j[3]) // real parts of results 1 and 3
	j[2], r[3] = m.sumAndDifference(j[2], r[3]) // imaginary parts of results 3 and 1
	return complexes{vectors{r[0], r[2], r[1], j[3]}, vectors{j[0], r[3], j[1], j[2]}}
}

// fourier8 computes two transforms of length 4, of the elements with even and with odd indices, multiplies the latter
// by eighth roots of unity, and forms sums and differences. If there are too few registers for both, the former is kept
// in the memory of the results.
func (m sideBySide) fourier8(load func(from ...int) complexes, store func(i int, re, im Vector), place func(i int) (Memory, Memory)) {
	even := m.fourier4(load(0, 2, 4, 6))
	for i := 0; i < 4 && !m.wide; i++ {
		re, im := place(i)
		Store(re, even.re[i])
		Store(im, even.im[i])
	}
	odd := m.fourier4(load(1, 3, 5, 7))
	root := m.constant("root", 0.70710678118654752440)
	for i := range 4 {
		var re, im Vector
		if m.wide {
			re, im = even.re[i], even.im[i]
		} else {
			r, j := place(i)
			re, im = m.load(r), m.load(j)
		}
		r, j := odd.re[i], odd.im[i]
		switch i { // multiply by 1, (1-i)/√2, -i and (-1-i)/√2
		case 0:
			r, r2 := m.sumAndDifference(re, r)
			j, j2 := m.sumAndDifference(im, j)
			store(i, r, j)
			store(i+4, r2, j2)
			continue
		case 1, 3:
			r, j = m.sumAndDifference(j, r) // im + re and im - re
			Multiply(r, r, root)
			Multiply(j, j, root)
			if i == 3 {
				r, j = j, r // the imaginary part will be subtracted
			}
		case 2:
			r, j = j, r
		}
		r, r2 := m.sumAndDifference(re, r)
		j, j2 := m.sumAndDifference(im, j)
		if i > 1 {
			j, j2 = j2, j
		}
		store(i, r, j)
		store(i+4, r2, j2)
	}
}

// fourier5: with t = b + e, u = c + d, v = b − e and w = c − d, the results are a + t + u, a + cos72·t − cos36·u ∓
// i·(sin72·v + sin36·w) and a − cos36·t + cos72·u ∓ i·(sin36·v − sin72·w).
func (m sideBySide) fourier5(x complexes) complexes {
	cos72, cos36 := m.constant("cos72", 0.30901699437494742410), m.constant("cos36", 0.80901699437494742410)
	sin72, sin36 := m.constant("sin72", 0.95105651629515357212), m.constant("sin36", 0.58778525229247312917)
	for _, v := range []vectors{x.re, x.im} {
		v[1], v[4] = m.sumAndDifference(v[1], v[4])
		v[2], v[3] = m.sumAndDifference(v[2], v[3])
		first, second, third := m.vector(), m.vector(), m.vector()
		Add(first, v[1], v[2])
		Add(first, v[0], first)
		Copy(second, v[0])
		AddProduct(second, v[1], cos72)
		SubtractProduct(second, v[2], cos36)
		SubtractProduct(v[0], v[1], cos36)
		AddProduct(v[0], v[2], cos72)
		Multiply(third, v[4], sin72)
		AddProduct(third, v[3], sin36)
		Multiply(v[4], v[4], sin36)
		SubtractProduct(v[4], v[3], sin72)
		v[0], v[1], v[2], v[3] = first, second, v[0], third
	}
	r, j := x.re, x.im
	r[1], j[3] = m.sumAndDifference(r[1], j[3]) // real parts of results 1 and 4
	r[2], j[4] = m.sumAndDifference(r[2], j[4]) // of results 2 and 3
	j[1], r[3] = m.sumAndDifference(j[1], r[3]) // imaginary parts of results 4 and 1
	j[2], r[4] = m.sumAndDifference(j[2], r[4]) // of results 3 and 2
	return complexes{vectors{r[0], r[1], r[2], j[4], j[3]}, vectors{j[0], r[3], r[4], j[2], j[1]}}
}

// eachPair emits a loop over elements of width bytes and their factors, in which some pointers go forward and others
// backward; body handles one vector of an element.
func (m sideBySide) eachPair(count Scalar, forward, backward []Scalar, factors Scalar, body func()) {
	n := NewScalar()
	Label("pair")
	Reload(n, "width")
	Label("lane")
	body()
	for _, p := range append(forward, backward...) {
		Increase(p, Number(m.bytes()))
	}
	Countdown(n, m.bytes(), "lane")
	Reload(n, "width")
	for range 2 {
		for _, p := range backward {
			Decrease(p, n)
		}
	}
	Increase(factors, Number(2*m.size))
	Countdown(count, 1, "pair")
}

// splitReal computes the transform of a real line from that of complex numbers, which are pairs of the line's adjacent
// elements. The even part of the complex transform is that of the elements with even indices, the odd part that of the
// others; the result is the former plus factors times the latter.
func (m sideBySide) splitReal() {
	m.start("splitReal", "fre, fim, bre, bim, w unsafe.Pointer, count, width uintptr")
	fre, fim, bre, bim, w, count := param("fre"), param("fim"), param("bre"), param("bim"), param("w"), param("count")
	half := m.load(m.constant("half", 0.5))
	m.eachPair(count, []Scalar{fre, fim}, []Scalar{bre, bim}, w, func() {
		evenRe, oddIm := m.sumAndDifference(m.load(Memory{Base: bre}), m.load(Memory{Base: fre}))
		oddRe, evenIm := m.sumAndDifference(m.load(Memory{Base: fim}), m.load(Memory{Base: bim}))
		for _, v := range []Vector{evenRe, evenIm, oddRe, oddIm} {
			Multiply(v, v, half)
		}
		re, im := m.turn(oddRe, oddIm, w, 0)
		sum, difference := m.sumAndDifference(evenRe, re)
		Store(Memory{Base: fre}, sum)
		Store(Memory{Base: bre}, difference)
		sum, difference = m.sumAndDifference(im, evenIm)
		Store(Memory{Base: fim}, sum)
		Store(Memory{Base: bim}, difference)
	})
	End()
}

// joinReal is the inverse of splitReal, without the factor ½ and with conjugate factors.
func (m sideBySide) joinReal() {
	m.start("joinReal", "fre, fim, bre, bim, w unsafe.Pointer, count, width uintptr")
	fre, fim, bre, bim, w, count := param("fre"), param("fim"), param("bre"), param("bim"), param("w"), param("count")
	m.eachPair(count, []Scalar{fre, fim}, []Scalar{bre, bim}, w, func() {
		evenRe, oddRe := m.sumAndDifference(m.load(Memory{Base: fre}), m.load(Memory{Base: bre}))
		oddIm, evenIm := m.sumAndDifference(m.load(Memory{Base: fim}), m.load(Memory{Base: bim}))
		re, im := m.turn(oddRe, oddIm, w, 0)
		sum, difference := m.sumAndDifference(evenRe, im)
		Store(Memory{Base: bre}, sum)
		Store(Memory{Base: fre}, difference)
		sum, difference = m.sumAndDifference(re, evenIm)
		Store(Memory{Base: fim}, sum)
		Store(Memory{Base: bim}, difference)
	})
	End()
}
