package main

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// The package's gelu.go explains the formulas and has the coefficients for the other instruction sets.

// millsTable holds the coefficients of a polynomial for each of 16 intervals, constant last. With y = t + 1 in the
// interval that begins at b, R(t) is the polynomial in y − b, with error 1e-7. Each of [1, 2), [2, 4), [4, 8) and [8,
// 16) is divided into four intervals of equal length. The constants of the first interval are ½ and −1/√(2π).
var millsTable = [...][16]float64{
	{-0.0200422741, -0.0113322018, -0.00562153105, -0.00475257915, -0.00200895406, -0.000857846171, -0.000362996216, -0.000178022936,
		-6.86096828e-05, -2.16180797e-05, -8.02977502e-06, -3.23186578e-06, -1.14847342e-06, -3.37686629e-07, -1.20266179e-07, -4.74383732e-08},
	{0.0607909709, 0.0362398401, 0.0215441957, 0.0145434923, 0.00867287256, 0.00392016163, 0.00186779071, 0.000973191112,
		0.00049692532, 0.000176096306, 7.27430161e-05, 3.33722346e-05, 1.57661125e-05, 5.20158937e-06, 2.06748473e-06, 9.30601743e-07},
	{-0.132772222, -0.084169209, -0.0546577126, -0.0367687382, -0.024945654, -0.0124576259, -0.00667291461, -0.00381886889,
		-0.00228142994, -0.000950023415, -0.000453512941, -0.000239620611, -0.00013586742, -5.37016531e-05, -2.50568173e-05, -1.31303032e-05},
	{0.249988735, 0.170078263, 0.118751325, 0.0849646181, 0.062092118, 0.0351838805, 0.0213082191, 0.0136465803,
		0.00914967805, 0.00460370397, 0.00259447959, 0.00158997567, 0.0010380476, 0.000509902835, 0.000285682647, 0.000175379202},
	{-0.398942083, -0.295434028, -0.224131837, -0.173768505, -0.137363449, -0.0902712792, -0.0627379939, -0.0456138588,
		-0.0343998708, -0.0212994907, -0.0143456683, -0.0102663245, -0.00768772466, -0.00475315936, -0.00321849156, -0.00231988565},
	{0.5, 0.414032102, 0.349618822, 0.30023247, 0.261578292, 0.20578067, 0.168101996, 0.14133133,
		0.12151394, 0.0944106355, 0.0769193023, 0.0647793114, 0.0558934771, 0.0437987894, 0.03597489, 0.0305094142},
}

// table is the memory of 16 constants.
func table(name string, numbers [16]float64) Memory {
	words := make([]uint32, len(numbers))
	for i, v := range numbers {
		words[i] = float(v)
	}
	return Table(name, words)
}

// mills computes R(t) for 0 ≤ t ≤ 14.75; with AVX2, 2⁶⁴ times that.
type mills struct {
	machine
	tables []Operand // for AVX-512: in registers, or in memory for package jit
}

func (m machine) newMills() mills {
	r := mills{machine: m}
	if m.wide {
		for i, row := range millsTable {
			// The index consists of the last two bits of the exponent, which are 3 for [1, 2), and the first two of the
			// fraction.
			rotated := slices.Concat(row[4:], row[:4])
			place := table(fmt.Sprintf("millsTable%d", i), [16]float64(rotated))
			if m.inline {
				r.tables = append(r.tables, place)
				continue
			}
			v := m.vector()
			Load(v, place)
			r.tables = append(r.tables, v)
		}
	}
	return r
}

func (r mills) of(t vectors) vectors {
	if !r.wide {
		numerator := []float64{0.004116336815059185, 0.04063339903950691, 0.18323561549186707, 0.4382955729961395, 0.5}
		for i := range numerator {
			numerator[i] = math.Ldexp(numerator[i], 64)
		}
		n := r.horner("millsN", t, numerator...)
		d := r.horner("millsD", t, 0.01031800638884306, 0.10185927152633667, 0.46947190165519714, 1.202505111694336, 1.674476146697998, 1)
		n.each(func(i int) { Divide(n[i], n[i], d[i]) })
		return n
	}
	index, rest, p := r.vectors(len(t)), r.vectors(len(t)), r.vectors(len(t))
	t.each(func(i int) {
		y := r.vector()
		Add(y, t[i], one())
		ShiftRight(index[i], y, 21)
		AndInt(rest[i], y, Constant("twoBits", 0xffe00000))
		Subtract(rest[i], y, rest[i])
	})
	for k, row := range r.tables {
		t.each(func(i int) {
			if k == 0 {
				Lookup(p[i], index[i], row)
				return
			}
			c := r.vector()
			Lookup(c, index[i], row)
			MultiplyAdd(p[i], rest[i], c)
		})
	}
	return p
}

// normal holds what Φ and φ have in common, for several vectors: with t = min(|x|, 14.75), e^(−t²/2) is power·2ᵏ.
type normal struct {
	t, square, power vectors
	shifted          vectors // k + roundShift
}

func (m machine) normal(x vectors) normal {
	v := normal{t: m.vectors(len(x)), square: m.vectors(len(x)), shifted: m.vectors(len(x))}
	const halfLog2e = math.Log2E / 2
	bound, shift, scale := Constant("normalMax", float(14.75)), Constant("roundShift", float(12582912)), Constant("halfLog2e", float(halfLog2e))
	scaleRest := Constant("halfLog2eRest", float(halfLog2e-float64(float32(halfLog2e))))
	most, rest := m.vector(), m.vectors(len(x))
	Load(most, bound)
	x.each(func(i int) {
		And(v.t[i], x[i], magnitude())
		Min(v.t[i], most, v.t[i]) // for NaN, Min returns its last source
		Multiply(v.square[i], v.t[i], v.t[i])
	})
	x.each(func(i int) {
		Load(v.shifted[i], shift)
		Copy(rest[i], v.shifted[i])
		SubtractProduct(v.shifted[i], v.square[i], scale)
		Subtract(rest[i], rest[i], v.shifted[i])
		SubtractProduct(rest[i], v.square[i], scale)
	})
	x.each(func(i int) { // the rounding errors of the square and of the scale
		lost := m.vector()
		Copy(lost, v.square[i])
		SubtractProduct(lost, v.t[i], v.t[i])
		Multiply(lost, lost, scale)
		SubtractProduct(lost, v.square[i], scaleRest)
		Add(rest[i], rest[i], lost)
	})
	v.power = m.horner("exp2P", rest, 0.001326470053754747, 0.009671534411609173, 0.05550733953714371, 0.24022242426872253, 0.6931470036506653, 1)
	return v
}

// scaled multiplies p (for AVX2, p/2⁶⁴) by 2ᵏ; results below 2⁻¹²⁶ are rounded once. Where p is 0, k must be 0 too; NaN
// may become any number.
func (m machine) scaled(p vectors, v normal) {
	p.each(func(i int) {
		if m.wide {
			Subtract(v.shifted[i], v.shifted[i], Constant("roundShift", float(12582912)))
			Scale(p[i], p[i], v.shifted[i])
			return
		}
		ShiftLeft(v.shifted[i], v.shifted[i], 23)
		AddInt(p[i], p[i], v.shifted[i])
		Multiply(p[i], p[i], Constant("twoMinus64", float(0x1p-64)))
	})
}

// gelu is max(x, 0) − t·Φ(−t). For −Inf it is NaN, because max(x, 0) is computed as (x + |x|)/2.
func (m machine) gelu(r mills, x vectors) {
	v := m.normal(x)
	p := r.of(v.t)
	p.each(func(i int) {
		Multiply(p[i], p[i], v.t[i])
		Multiply(p[i], p[i], v.power[i])
	})
	m.scaled(p, v)
	half := Constant("half", float(0.5))
	x.each(func(i int) {
		size := m.vector()
		And(size, x[i], magnitude())
		Multiply(size, size, half)
		AddProduct(size, x[i], half)
		Subtract(x[i], size, p[i])
	})
}

// geluSlope is h = Φ(−t) − t·φ(t) for negative x, and 1 − h otherwise; NaN for infinities.
func (m machine) geluSlope(r mills, x vectors) {
	v := m.normal(x)
	p := r.of(v.t)
	density := Constant("density", float(0.39894228040143268))
	if !m.wide {
		density = Constant("density64", float(math.Ldexp(0.39894228040143268, 64)))
	}
	p.each(func(i int) {
		SubtractProduct(p[i], v.t[i], density)
		Multiply(p[i], p[i], v.power[i])
	})
	m.scaled(p, v)
	x.each(func(i int) {
		slope, zero := m.vector(), m.zeros(1)[0]
		Load(slope, one())
		Subtract(slope, slope, p[i])
		Blend(slope, Compare(LessThan, x[i], zero), p[i])
		MultiplyAdd(x[i], zero, slope)
	})
}

// geluKernels emits dst = gelu(x) and dst = dy·gelu'(x).
func (m machine) geluKernels() {
	unroll := 1
	if m.wide {
		unroll = 3
	}
	load := func(p Scalar, offsets []int) vectors {
		v := m.vectors(len(offsets))
		v.each(func(i int) { Load(v[i], Memory{Base: p, Offset: offsets[i]}) })
		return v
	}
	m.begin("unary", "gelu", "dst, x *float32, n uintptr", "")
	dst, x, n := param("dst"), param("x"), param("n")
	r := m.newMills()
	m.loop(unroll, n, []Scalar{dst, x}, func(offsets []int) {
		v := load(x, offsets)
		m.gelu(r, v)
		v.each(func(i int) { Store(Memory{Base: dst, Offset: offsets[i]}, v[i]) })
	})
	End()

	m.begin("binary", "geluGrad", "dst, a, b *float32, n uintptr", "")
	dst, dy, x, n := param("dst"), param("a"), param("b"), param("n")
	r = m.newMills()
	m.loop(unroll, n, []Scalar{dst, dy, x}, func(offsets []int) {
		v := load(x, offsets)
		m.geluSlope(r, v)
		v.each(func(i int) {
			Multiply(v[i], v[i], Memory{Base: dy, Offset: offsets[i]})
			Store(Memory{Base: dst, Offset: offsets[i]}, v[i])
		})
	})
	End()
}
