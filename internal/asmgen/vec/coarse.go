package main

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Functions whose results are then rounded to the 8 bits of bfloat16: they compute 15 bits, in about half the
// instructions of those that compute all 24. They are for AVX-512, whose registers hold a table of 16 numbers. Results
// for numbers that are not finite, and results that underflow, are those of the other functions.

// coarseNormal holds, highest coefficient first, polynomials in x that approximate log₂Φ(x) with error 2⁻¹⁶: number i,
// modulo 16, is used around i·coarseWidth, from −12 to 3.
var coarseNormal = [...][16]float64{
	{0.00672248533, -0.00248698207, -0.0101728344, -0.00181607741, 8.43246105e-06, 1.17354271e-05, 1.67959851e-05, 2.4839855e-05, 3.81866939e-05, 6.14781348e-05, 0.000104611184, 0.000190240208, 0.000374238014, 0.000803441829, 0.00186339497, 0.00428902983},
	{0.0523899461, 0.0806852925, 0.124903063, 0.0281522234, 0.0006375735, 0.000814819951, 0.00106263486, 0.0014187761, 0.00194700824, 0.00275933798, 0.00406077587, 0.00624129798, 0.0100599783, 0.0169464323, 0.0289812844, 0.0453586986},
	{-0.459197837, -0.493766877, -0.587149601, -0.164307255, -0.700913754, -0.697345532, -0.692792602, -0.686876186, -0.679030846, -0.66839686, -0.653653565, -0.632795947, -0.603001306, -0.561394421, -0.509729825, -0.467292693},
	{1.15110667, 1.17035343, 1.25504522, 0.428241902, 0.391830894, 0.423769361, 0.460963656, 0.50467179, 0.556495423, 0.618422072, 0.692743875, 0.781568139, 0.885153092, 0.997357439, 1.09677267, 1.14679702},
	{-1.0000006, -1.00402825, -1.03115294, -0.420920234, -2.2341975, -2.12695215, -2.01295391, -1.8917971, -1.76333094, -1.62796994, -1.48729816, -1.34520166, -1.20980179, -1.09583645, -1.02348081, -1.00087579},
}

const (
	coarseWidth = 1.17
	coarseLeast = -14.62 // x·Φ(x) is 0 in float32 here, and log₂Φ(x) slightly below an integer
	coarseMost  = 4.09   // above this, 1 − Φ(x) is below 2⁻¹⁵
)

// coarseSlopes holds, highest coefficient first, polynomials in t that approximate e^(t²/2)·Φ(−t) − t/√(2π) with
// relative error 2⁻¹⁶ (except near its zero), in the intervals of millsTable.
var coarseSlopes = [...][16]float64{
	{-0.105281711, -0.0674230673, -0.0430254803, -0.0317666325, -0.0181172892, -0.00923766644, -0.00509365248, -0.00298446722, -0.00149853117, -0.000663787101, -0.000332420984, -0.000182711477, -8.66686233e-05, -3.69571111e-05, -1.82310828e-05, -9.97894424e-06},
	{0.245739454, 0.217994181, 0.181071268, 0.155969644, 0.114638313, 0.0758514714, 0.0514175654, 0.0357882614, 0.0222027739, 0.0124073652, 0.00751138367, 0.00484575718, 0.00280359875, 0.00148884992, 0.000879497457, 0.000560905998},
	{-0.797665905, -0.790590806, -0.771726764, -0.753051069, -0.711082469, -0.654332665, -0.60618489, -0.567516022, -0.526020207, -0.487609125, -0.463457262, -0.44761863, -0.433120327, -0.421507183, -0.414888914, -0.410785019},
	{0.49999817, 0.499371843, 0.496119599, 0.491482667, 0.477195767, 0.449376467, 0.417665586, 0.385721026, 0.343380945, 0.293041704, 0.25326187, 0.22185565, 0.187489699, 0.153227406, 0.129234066, 0.111595565},
}

// coarseSlopeMost is where gelu' becomes 0, because its power of two does.
const coarseSlopeMost = 13.35

// piece evaluates polynomials at x; each lane's index selects the polynomial in the tables.
func (m machine) piece(name string, x, index vector, tables [][16]float64) vector {
	p := m.vector()
	Lookup(p, index, table(name+"0", tables[0]))
	for i, row := range tables[1:] {
		c := m.vector()
		Lookup(c, index, table(fmt.Sprint(name, i+1), row))
		MultiplyAdd(p, x, c)
	}
	return p
}

const roundShift = 12582912

// coarsePower is 2ᶠ for |f| ≤ ½.
func (m machine) coarsePower(f vector) vector {
	return m.poly(f, 0.00957011578, 0.0559178598, 0.240247444, 0.693121814, 0.999999262)
}

// coarseGelu is x·2^(log₂Φ(x)), with NaN for −Inf. If Φ(x) is subnormal but x·Φ(x) is not, a processor that flushes
// subnormals would lose Φ(x); therefore x is scaled. For numbers below −158 the exponent of two is x itself, without
// the lower limit: they become −0, and −Inf·2^(−Inf) is NaN.
func (m machine) coarseGelu(x vector) vector {
	shift := number(roundShift)
	v := m.limit(x, coarseLeast, coarseMost)
	log := m.piece("coarseNormal", v, m.fma(v, number(1/coarseWidth), shift), coarseNormal[:])
	n := m.sub(m.add(log, shift), shift)
	d := m.mul(m.coarsePower(m.sub(log, n)), x)
	Min(n, n, x)
	Scale(d, d, n)
	return d
}

// coarseGeluGrad is dy·gelu'(x). With t = |x|, gelu'(x) is e^(−t²/2)·S(t) for x < 0, and 1 minus that otherwise; NaN
// for infinities.
func (m machine) coarseGeluGrad(x, dy vector) vector {
	t := m.abs(x)
	bounded := m.copy(number(coarseSlopeMost))
	Min(bounded, bounded, t) // for NaN, Min returns its last source
	tables := make([][16]float64, len(coarseSlopes))
	for i, row := range coarseSlopes {
		tables[i] = [16]float64(slices.Concat(row[4:], row[:4]))
	}
	p := m.piece("coarseSlopes", bounded, m.shift(ShiftRight, 21, m.add(bounded, one())), tables)
	square := m.mul(bounded, bounded)
	scale := number(math.Log2E / 2)
	shifted := m.fnma(square, scale, number(roundShift))
	f := m.fnma(square, scale, m.sub(m.copy(number(roundShift)), shifted))
	p = m.mul(p, m.coarsePower(f))
	p = m.two(AddInt, p, m.shift(ShiftLeft, 23, shifted))
	zero := m.zeros(1)[0]
	slope := m.choose(Compare(LessThan, x, zero), p, m.sub(m.copy(one()), p))
	return m.mul(m.fma(x, zero, slope), dy)
}

// coarsePowers is e^(sign·x), for results from 2⁻¹⁵⁰ to 2¹²⁷.
func (m machine) coarsePowers(x vector, sign float64) vector {
	scale, shift := number(sign*math.Log2E), number(roundShift)
	n := m.sub(m.fma(x, scale, shift), shift)
	f := m.fms(x, m.copy(scale), n)
	d := m.coarsePower(f)
	Scale(d, d, n)
	return d
}

func (m machine) coarseExp(x vector) vector { return m.coarsePowers(m.limit(x, -104, 89), 1) }

// coarseSigmoid is 1/(1 + e⁻ˣ). The reciprocal is a 14-bit estimate improved by one Newton step. If it would be
// subnormal, it is 0.
func (m machine) coarseSigmoid(x vector) vector {
	sum := m.add(m.coarsePowers(m.limit(x, -87.5, 30), -1), one())
	y := m.vector()
	Inverse(y, sum)
	return m.fma(m.fnma(sum, y, m.copy(one())), y, y)
}

// coarseUnary are the functions of one vector.
func (m machine) coarseUnary() []unaryKernel {
	return []unaryKernel{{name: "coarseGelu", f: m.single(m.coarseGelu)}, {name: "coarseExp", f: m.single(m.coarseExp)},
		{name: "coarseSigmoid", f: m.single(m.coarseSigmoid)}}
}

// coarseKernels emits dst = f(x), and dst = dy·gelu'(x).
func (m machine) coarseKernels() {
	if !m.wide {
		return
	}
	for _, k := range m.coarseUnary() {
		m.beginWide(k.name, "dst, x *float32, n uintptr")
		dst, x, n := param("dst"), param("x"), param("n")
		m.loop(1, n, []Scalar{dst, x}, func([]int) {
			Store(Memory{Base: dst}, k.f(vectors{m.copy(Memory{Base: x})})[0])
		})
		End()
	}
	m.beginWide("coarseGeluGrad", "dst, dy, x *float32, n uintptr")
	dst, dy, x, n := param("dst"), param("dy"), param("x"), param("n")
	m.loop(1, n, []Scalar{dst, dy, x}, func([]int) {
		Store(Memory{Base: dst}, m.coarseGeluGrad(m.copy(Memory{Base: x}), m.copy(Memory{Base: dy})))
	})
	End()
}
