package main

import (
	"fmt"
	"slices"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Functions by tables: 16 intervals of |x| have a polynomial each, whose coefficients are looked up in registers. All
// machines compute the same.

// tanhTable holds the coefficients of polynomials in t − b, constant last, for intervals of t that begin at b: there
// are four of one length in each of 1 ≤ t + 1 < 2, below 4, 8 and 16. From 9 on tanh is 1.
var tanhTable = [...][16]float64{
	{-0.0369773731, -0.103788689, 0.0550616868, -0.0784151256, 0.0179057568, 0.00395944901, -0.000252748345, -0.00200556708,
		-0.000103104408, 3.5504625e-05, 3.29508512e-05, 1.93321321e-05, -2.08163257e-07, 0, 0, 0},
	{0.143084466, 0.0962344334, -0.0947408527, -0.00020324903, -0.0465880074, -0.00247994764, 0.00435486343, 0.00492457626,
		0.000802239636, -3.78535151e-05, -8.95457197e-05, -5.67476345e-05, 1.32162927e-06, 0, 0, 0},
	{-0.00118375779, 0.133100852, 0.182351425, 0.0814434588, 0.0286002867, -0.024310695, -0.0175732318, -0.00923866127,
		-0.00283664302, -0.000224367875, 6.45490873e-05, 5.89599476e-05, -3.35637469e-06, 0, 0, 0},
	{-0.333270192, -0.256121844, -0.0963785648, 0.0441871881, 0.103250794, 0.0875533521, 0.0420182869, 0.0173336994,
		0.006336377, 0.000782917137, 5.68635187e-05, -1.83585526e-05, 4.66478014e-06, 0, 0, 0},
	{-1.0973024e-06, -0.230273873, -0.363309354, -0.379059225, -0.319798201, -0.1635288, -0.0680981874, -0.026273232,
		-0.00978814624, -0.00131515483, -0.000166615922, -1.64391331e-05, -4.50438392e-06, 0, 0, 0},
	{1, 0.940015793, 0.78644526, 0.596588731, 0.419971764, 0.180704817, 0.0706503317, 0.026593823,
		0.00986382272, 0.00133885851, 0.000180305273, 2.38783687e-05, 3.53214705e-06, 0, 0, 0},
	{0, 0.244918659, 0.462117165, 0.635148942, 0.761594176, 0.905148268, 0.964027584, 0.986614287,
		0.995054781, 0.999329329, 0.999909222, 0.999987721, 0.999998331, 1, 1, 1},
}

// erfTable holds those for 16 intervals of t below 4 of one length. Those of the first one are of erf(t) − t.
var erfTable = [...][16]float64{
	{0.105633646, 0.0472656563, -0.0296399817, -0.0776230395, -0.0539562702, -0.0367573127, -0.0108997272, 0.00358060375,
		0.00103248609, -0.00124478689, 0.0189529117, -0.00306334626, 0.0123706562, -0.00563959172, -0.0143357664, 0.00283902395},
	{0.00217152503, 0.135840639, 0.193877846, 0.160569355, 0.0621335059, -0.00693531893, -0.0425173715, -0.0443851687,
		-0.0270536635, -0.0124380849, -0.0173244681, 2.68836197e-06, -0.00830434542, 0.00338015473, 0.00893088523, -0.00178122032},
	{-0.3763538, -0.310216457, -0.147936717, 0.0249766782, 0.139676273, 0.167267352, 0.137971103, 0.08922638,
		0.0466260202, 0.0203315131, 0.0103039024, 0.00207324163, 0.00238917954, -0.000603004708, -0.00192621874, 0.000395052426},
	{8.00799899e-06, -0.264952123, -0.439300418, -0.482052505, -0.41521129, -0.295606017, -0.178310469, -0.0922679529,
		-0.0411925465, -0.0159487277, -0.00562265748, -0.00155207945, -0.000561272609, -2.36383275e-05, 0.000156992508, -3.79121229e-05},
	{0.128379121, 1.06001341, 0.878780544, 0.642926872, 0.415110439, 0.236519217, 0.1189273, 0.0527721271,
		0.020662589, 0.00713858055, 0.00218387693, 0.000584418536, 0.00014375888, 2.69616448e-05, -1.08807662e-07, 1.96560632e-06},
	{0, 0.276326388, 0.520499885, 0.711155653, 0.842700779, 0.92290014, 0.966105163, 0.986671686,
		0.995322287, 0.998537302, 0.999593019, 0.999899387, 0.999977887, 0.999995708, 0.999999285, 0.999999881},
}

// pieces are the tables of a function.
type pieces struct {
	machine
	rows []Operand // the highest coefficients first; for AVX-512 in registers, but in functions that package jit writes
}

func (m machine) pieces(name string, coefficients [][16]float64) pieces {
	p := pieces{machine: m}
	for i, row := range coefficients {
		at := table(fmt.Sprintf("%s%d", name, i), row)
		if !m.wide || m.inline {
			p.rows = append(p.rows, at)
			continue
		}
		p.rows = append(p.rows, m.copy(at))
	}
	return p
}

// interval is the number of an interval of each element, as a machine needs it.
type interval struct {
	index vector
	upper Mask // of the second half of the table; not for AVX-512
}

// interval makes one of numbers whose lowest four bits count, and destroys them.
func (m machine) interval(index vector) interval {
	i := interval{index: index}
	if m.wide {
		return i
	}
	i.upper = Signs(m.shift(ShiftRightSigned, 31, m.shift(ShiftLeft, 28, index)))
	OnARM(func() { // instructions there look bytes up
		AndInt(index, index, Constant("lookupBits", 7))
		ShiftLeft(index, index, 2)
		MultiplyInt(index, index, Constant("lookupBytes", 0x01010101))
		AddInt(index, index, Constant("lookupOffsets", 0x03020100))
	})
	return i
}

// coefficient is a row's number of an interval.
func (p pieces) coefficient(row int, of interval) vector {
	c := p.vector()
	Lookup(c, of.index, p.rows[row])
	if !p.wide {
		upper := p.vector()
		Lookup(upper, of.index, p.rows[row].(Memory).Plus(AVX2.Bytes))
		Blend(c, of.upper, upper)
	}
	return c
}

// slope is the polynomial of y without its last coefficient, divided by y.
func (p pieces) slope(y vectors, of []interval) vectors {
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

// magnitudes is |x|, at most a number; NaN stays.
func (m machine) magnitudes(x vectors, most Memory) vectors {
	t := m.vectors(len(x))
	x.each(func(i int) { And(t[i], x[i], magnitude()) })
	bound := m.copy(most)
	x.each(func(i int) { Min(t[i], bound, t[i]) })
	return t
}

func (m machine) tanhByTable() func(x vectors) vectors {
	var rows [][16]float64
	for _, row := range tanhTable { // the index begins with the exponent's last two bits, 3 for [1, 2)
		rows = append(rows, [16]float64(slices.Concat(row[4:], row[:4])))
	}
	p := m.pieces("tanhTable", rows)
	return func(x vectors) vectors {
		y, of := m.magnitudes(x, Constant("tanhMost", float(10))), make([]interval, len(x))
		x.each(func(i int) {
			shifted, begin := m.add(y[i], one()), m.vector()
			AndInt(begin, shifted, Constant("twoBits", 0xffe00000))
			Subtract(begin, begin, one())
			Subtract(y[i], y[i], begin)
			ShiftRight(shifted, shifted, 21)
			of[i] = m.interval(shifted)
		})
		q := p.slope(y, of)
		q.each(func(i int) { MultiplyAdd(q[i], y[i], p.coefficient(len(p.rows)-1, of[i])) })
		return m.odd(q, x)
	}
}

func (m machine) erfByTable() func(x vectors) vectors {
	p := m.pieces("erfTable", erfTable[:])
	return func(x vectors) vectors {
		t, y, of := m.magnitudes(x, Constant("erfMost", 0x407fffff)), m.vectors(len(x)), make([]interval, len(x))
		x.each(func(i int) {
			n, begin := m.mul(t[i], number(4)), m.vector()
			TruncateToInt(n, n)
			ToFloat(begin, n)
			Copy(y[i], t[i])
			SubtractProduct(y[i], begin, Constant("quarter", float(0.25)))
			of[i] = m.interval(n)
		})
		q := p.slope(y, of)
		q.each(func(i int) {
			c := p.coefficient(len(p.rows)-1, of[i])
			Blend(c, Compare(LessThan, t[i], Constant("quarter", float(0.25))), t[i])
			MultiplyAdd(q[i], y[i], c)
		})
		return m.odd(q, x)
	}
}
