package main

import (
	"fmt"
	"slices"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Functions by tables: |x| is divided into 8 intervals, the number of floats in a vector of AVX2. Each interval has a
// polynomial, whose coefficients are looked up in registers. All machines compute the same bits. Tanh and
// sigmoid are computed otherwise: see by_exponential.go.

// erfTable holds the coefficients of polynomials in t − b, constant last, for 8 intervals of t below 4 of equal length,
// which begin at b. Those of the first interval are of erf(t) − t.
var erfTable = [...][8]float64{
	{-0.0178647153, 0.0167984515, 0.00572604546, -0.00826703198, -0.00382494042, 0.00462096557, 0.00336634903, -0.00387533335},
	{-0.00818717573, -0.0558448881, 0.0103292651, 0.0238086861, 0.0043018423, -0.0102527067, -0.0065639643, 0.00724769989},
	{0.115990847, 0.00860440265, -0.0703815669, -0.0180252735, 0.00951850042, 0.0116967307, 0.0054419213, -0.00540192518},
	{-0.00059846224, 0.183077455, 0.0690491721, -0.04339635, -0.0329578891, -0.0107548824, -0.00274464744, 0.00202521286},
	{-0.376072496, -0.146514654, 0.138469279, 0.138503879, 0.0479043759, 0.00878673326, 0.00113804988, -0.000385617896},
	{-1.88782872e-06, -0.439382792, -0.415123045, -0.178369105, -0.041299548, -0.00549160177, -0.000454477937, 2.60207653e-05},
	{0.128379181, 0.878782094, 0.415108383, 0.118929058, 0.0206653606, 0.00218041055, 0.000140955541, 3.32023569e-06},
	{0, 0.520499885, 0.842700779, 0.966105163, 0.995322287, 0.999593019, 0.999977887, 0.999999285},
}

// erfcTable holds those of e^(t²)·erfc(t) in t − c, for 8 intervals of t below 10.1, at whose ends 1 + erfcScale·t
// forms a geometric sequence. Each c, chosen where the function is very near a float32, is in erfcCenters.
var erfcTable = [...][8]float64{
	{-0.050711669, -0.0151431402, -0.00322775706, -0.000480282557, -5.08375088e-05, -4.08618689e-06, -2.73456948e-07, -1.68646554e-08},
	{0.0927249864, 0.0293768458, 0.0068450151, 0.00116161001, 0.000147921397, 1.50944588e-05, 1.35125458e-06, 1.15542335e-07},
	{-0.174762651, -0.0609105229, -0.0161813814, -0.00327326101, -0.000522537914, -7.02377802e-05, -8.5946549e-06, -1.02647164e-06},
	{0.306235641, 0.119012445, 0.0367131829, 0.0090553714, 0.00185567827, 0.0003350107, 5.67817115e-05, 9.52992832e-06},
	{-0.488424122, -0.213985533, -0.0776786208, -0.0237032361, -0.00632117409, -0.00154929818, -0.000366445776, -8.68639399e-05},
	{0.694158018, 0.348552972, 0.151916564, 0.0586114228, 0.0207519159, 0.00701173302, 0.00233716704, 0.000786820892},
	{-0.848724604, -0.501005769, -0.270017087, -0.135701343, -0.065426968, -0.0310275946, -0.0147334179, -0.00708564324},
	{0.836097121, 0.607325137, 0.424750298, 0.290481299, 0.197139278, 0.134029374, 0.0917515457, 0.0634227619},
}

var erfcCenters = [8]float64{0.167238086, 0.516505361, 1.01043141, 1.70867765, 2.69594216, 4.09369802, 6.06881189, 8.83983517}

const erfcScale = 1.48

// pieces are a function's tables.
type pieces struct {
	machine
	rows []Operand // the highest coefficients first; in registers for AVX-512, but in memory in functions that package jit inlines
}

// pieces makes the tables. Each is stored twice in a row, since wide vectors look up by four bits.
func (m machine) pieces(name string, coefficients [][8]float64) pieces {
	p := pieces{machine: m}
	for i, row := range coefficients {
		at := table(fmt.Sprintf("%s%d", name, i), [16]float64(slices.Concat(row[:], row[:])))
		if !m.wide || m.inline {
			p.rows = append(p.rows, at)
			continue
		}
		p.rows = append(p.rows, m.copy(at))
	}
	return p
}

// interval converts, in place, the number of an interval (its last bits) to the machine's lookup index.
func (m machine) interval(index vector) vector {
	if m.wide {
		return index
	}
	OnARM(func() { // lookups are by bytes there
		AndInt(index, index, Constant("lookupBits", 7))
		ShiftLeft(index, index, 2)
		MultiplyInt(index, index, Constant("lookupBytes", 0x01010101))
		AddInt(index, index, Constant("lookupOffsets", 0x03020100))
	})
	return index
}

// coefficient looks up a coefficient of an interval.
func (p pieces) coefficient(row int, of vector) vector {
	c := p.vector()
	Lookup(c, of, p.rows[row])
	return c
}

// slope is the polynomial of y without its constant, divided by y.
func (p pieces) slope(y, of vectors) vectors {
	q := make(vectors, len(y))
	for row := range p.rows[:len(p.rows)-1] {
		y.each(func(i int) {
			c := p.coefficient(row, of[i])
			if row > 0 {
				MultiplyAdd(q[i], y[i], c)
			} else {
				q[i] = c
			}
		})
	}
	return q
}

// odd returns f(|x|) with the sign of x.
func (m machine) odd(y, x vectors) vectors {
	x.each(func(i int) {
		And(x[i], x[i], signBit())
		Or(y[i], y[i], x[i])
	})
	return y
}

// magnitudes is |x|, limited to a maximum; NaN stays.
func (m machine) magnitudes(x vectors, most Memory) vectors {
	t := m.vectors(len(x))
	x.each(func(i int) { And(t[i], x[i], magnitude()) })
	bound := m.copy(most)
	x.each(func(i int) { Min(t[i], bound, t[i]) })
	return t
}

func (m machine) tanh() func(x vectors) vectors { return m.single(m.tanhByExponential) }

func (m machine) erfByTable() func(x vectors) vectors {
	p := m.pieces("erfTable", erfTable[:])
	return func(x vectors) vectors {
		t, y, of := m.magnitudes(x, Constant("erfMost", 0x407fffff)), m.vectors(len(x)), make(vectors, len(x))
		x.each(func(i int) {
			n, begin := m.mul(t[i], number(2)), m.vector()
			TruncateToInt(n, n)
			ToFloat(begin, n)
			Copy(y[i], t[i])
			SubtractProduct(y[i], begin, Constant("half", float(0.5)))
			of[i] = m.interval(n)
		})
		q := p.slope(y, of)
		q.each(func(i int) {
			c := p.coefficient(len(p.rows)-1, of[i])
			Blend(c, Compare(LessThan, t[i], Constant("half", float(0.5))), t[i])
			MultiplyAdd(q[i], y[i], c)
		})
		return m.odd(q, x)
	}
}

// erfcByTable is e^(−a²) times the table's function, or 2 minus that. The rounding errors of the square, of the table's
// last sum and of the exponential are corrected, since the results are small.
func (m machine) erfcByTable() func(x vectors) vectors {
	turned := func(row [8]float64) [8]float64 { // the index begins with the exponent's last three bits, which are 7 for [1, 2)
		return [8]float64(slices.Concat(row[1:], row[:1]))
	}
	var rows [][8]float64
	for _, row := range erfcTable {
		rows = append(rows, turned(row))
	}
	p := m.pieces("erfcTable", rows)
	centers := m.pieces("erfcCenters", [][8]float64{turned(erfcCenters)})
	return func(x vectors) vectors {
		a, y, of := m.magnitudes(x, Constant("erfcMost", float(10.1))), make(vectors, len(x)), make(vectors, len(x))
		x.each(func(i int) {
			b := m.fma(a[i], number(erfcScale), one())
			Multiply(b, b, b)
			ShiftRight(b, b, 23)
			of[i] = m.interval(b)
			y[i] = m.sub(a[i], centers.coefficient(0, of[i]))
		})
		q, result := p.slope(y, of), make(vectors, len(x))
		x.each(func(i int) { result[i] = m.erfcOf(x[i], a[i], y[i], q[i], p.coefficient(len(p.rows)-1, of[i])) })
		return result
	}
}

// erfcOf is e^(−a²)·(q·y + c), or 2 minus that for a negative x.
func (m machine) erfcOf(x, a, y, q, c vector) vector {
	r := m.fma(q, y, c)
	rest := m.fma(q, y, m.sub(c, r))
	s := m.mul(a, a)
	lost := m.fms(a, a, s)
	n := m.whole(m.mul(s, number(-log2e)))
	whole := m.float(n)
	t := m.add(m.fma(whole, number(ln2High), s), m.fma(whole, number(ln2Low), lost)) // a² = t − n·ln 2
	fallen := m.poly(t, -0.0001974839543, 0.001393302809, -0.008333561011, 0.04166648537, -0.1666666567, 0.5)
	fallen = m.fms(m.mul(t, t), fallen, t) // e⁻ᵗ − 1
	far := m.add(r, m.fma(r, fallen, rest))
	if m.wide {
		Scale(far, far, whole)
	} else {
		far = m.power2(far, n)
	}
	return m.choose(Compare(LessThan, x, m.zeros(1)[0]), m.sub(m.copy(number(2)), far), far)
}
