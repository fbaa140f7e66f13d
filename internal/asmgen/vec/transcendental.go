package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// The package's math32.go explains the reductions and coefficients.

// horner evaluates a polynomial, highest coefficient first.
func (m machine) horner(name string, x vectors, coefficients ...float64) vectors {
	p := m.vectors(len(x))
	for i, c := range coefficients {
		at := Constant(fmt.Sprintf("%s%d", name, i), float(c))
		p.each(func(j int) {
			if i == 0 {
				Load(p[j], at)
			} else {
				MultiplyAddConstant(p[j], x[j], at)
			}
		})
	}
	return p
}

// clamp limits x to a range; NaN stays, since the instructions return their last source for it.
func (m machine) clamp(x vectors, low, high Memory) {
	bound := m.vector()
	Load(bound, low)
	x.each(func(i int) { Max(x[i], bound, x[i]) })
	bound = m.vector()
	Load(bound, high)
	x.each(func(i int) { Min(x[i], bound, x[i]) })
}

func (m machine) exp(x vectors) vectors {
	m.clamp(x, Constant("expMin", float(-104)), Constant("expMax", float(89)))
	return m.expWithin(x)
}

// expWithin is exp of numbers from -104 to 89.
func (m machine) expWithin(x vectors) vectors {
	n, whole := m.vectors(len(x)), m.vectors(len(x))
	log2e := Constant("log2e", float(1.44269504088896341))
	x.each(func(i int) { Multiply(n[i], x[i], log2e) })
	if m.wide {
		x.each(func(i int) { Round(n[i], n[i], Nearest) })
	} else {
		x.each(func(i int) { ToInt(whole[i], n[i]) })
		x.each(func(i int) { ToFloat(n[i], whole[i]) })
	}
	high, low := Constant("ln2High", float(0.693359375)), Constant("ln2Low", float(-2.12194440e-4))
	x.each(func(i int) { SubtractProduct(x[i], n[i], high) })
	x.each(func(i int) { SubtractProduct(x[i], n[i], low) })
	p := m.horner("expP", x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := m.vector()
	x.each(func(i int) {
		Multiply(square, x[i], x[i])
		MultiplyAdd(p[i], square, x[i])
	})
	x.each(func(i int) { Add(p[i], p[i], one()) })
	return m.timesPower(p, n, whole)
}

// exp2 is 2ⁿ·2ᶠ with the fraction f = x − n, which is exact. Its polynomial interpolates at Chebyshev nodes, with error
// 2⁻²⁶.
func (m machine) exp2(x vectors) vectors {
	m.clamp(x, Constant("exp2Min", float(-151)), Constant("exp2Max", float(128)))
	n, whole := m.vectors(len(x)), m.vectors(len(x))
	if m.wide {
		x.each(func(i int) { Round(n[i], x[i], Nearest) })
	} else {
		x.each(func(i int) { ToInt(whole[i], x[i]) })
		x.each(func(i int) { ToFloat(n[i], whole[i]) })
	}
	x.each(func(i int) { Subtract(x[i], x[i], n[i]) })
	p := m.horner("fractionP", x, 0.00015453163, 0.0013390863, 0.009618083, 0.05550357, 0.2402265, 0.6931472, 1)
	return m.timesPower(p, n, whole)
}

// timesPower replaces p by p·2ⁿ. The integers n are given as floats and, for vectors that are not wide, also as
// integers.
func (m machine) timesPower(p, n, whole vectors) vectors {
	if m.wide {
		p.each(func(i int) { Scale(p[i], p[i], n[i]) })
		return p
	}
	bias := Constant("exponentBias", 127)
	p.each(func(i int) { // 2ⁿ in two steps: n = half + (n − half)
		half, rest := m.vector(), whole[i]
		ShiftRightSigned(half, rest, 1)
		SubtractInt(rest, rest, half)
		AddInt(half, half, bias)
		AddInt(rest, rest, bias)
		ShiftLeft(half, half, 23)
		ShiftLeft(rest, rest, 23)
		Multiply(p[i], p[i], half)
		Multiply(p[i], p[i], rest)
	})
	return p
}

// log splits x into 2ᵉ·(1 + v).
func (m machine) log(x vectors) vectors {
	v, e := m.vectors(len(x)), m.vectors(len(x))
	x.each(func(i int) {
		v[i], e[i] = m.binary(x[i])
		Subtract(v[i], v[i], one())
	})
	p := m.horner("logP", v, 0.03754573315, -0.09102509916, 0.1169867888, -0.1272983551, 0.1427677274, -0.1665519774, 0.1999957561, -0.2500016689,
		0.3333334029, -0.5)
	p.each(func(i int) {
		square, low := m.vector(), m.vector()
		Multiply(square, v[i], v[i])
		Multiply(low, e[i], Constant("ln2Low", float(ln2Low)))
		MultiplyAdd(p[i], square, low)
		Add(p[i], p[i], v[i])
		AddProduct(p[i], e[i], Constant("ln2High", float(ln2High)))
		// Arguments that are not positive finite numbers.
		if m.wide {
			FixUp(p[i], x[i], Constant("logFixUp", logFixUp))
			return
		}
		// Here the results have the signs of the infinities that 0 and +∞ give.
		zero, kept := m.vector(), m.vector()
		Zero(zero)
		Keep(kept, Either(Compare(Equal, x[i], zero), Compare(NotLessEqual, x[i], Constant("largest", 0x7f7fffff))), pattern(0x7f800000))
		MultiplyAdd(p[i], kept, p[i])
		SetWhere(p[i], Compare(NotLessEqual, zero, x[i]))
	})
	return p
}

// logFixUp has four bits for each class of numbers, from negative ones up to NaN: NaN stays, 0 becomes −∞, +∞ stays,
// and negative numbers become NaN.
const logFixUp = 0x03530422

// binary splits a positive number into a significand in [¾, 1½) and an exponent of two. For numbers that are not
// positive, and for subnormals if they are flushed, the results are arbitrary.
func (m machine) binary(x vector) (v, e vector) {
	v, e = m.vector(), m.vector()
	if m.wide {
		Fraction(v, x, FromThreeQuarters)
		Exponent(e, x)
		half := m.vector()
		Exponent(half, v) // -1 below 1
		Subtract(e, e, half)
		return v, e
	}
	adjust, power, zero := m.vector(), m.vector(), m.vector()
	tiny := Compare(LessThan, x, Constant("smallestNormal", 1<<23))
	Keep(v, tiny, pattern(float(1)^float(1<<23))) // blends take three times as long on some processors
	Xor(v, v, one())
	Zero(zero)
	MultiplyAdd(v, x, zero) // −0 becomes 0
	Keep(adjust, tiny, Constant("minus23", float(-23)))
	SubtractInt(power, v, number(0.75))
	AndInt(power, power, Constant("exponentBits", 0xff800000))
	SubtractInt(v, v, power)
	ShiftRightSigned(power, power, 23)
	ToFloat(e, power)
	Add(e, e, adjust)
	return v, e
}

// squash is tanh with fewer instructions, for recurrent cells: its error is at most 6 units in the last place, and near
// 0, 6 units of 0.0005.
func (m machine) squash(x vectors) vectors {
	// Coefficients of the rational minimax approximation used by Eigen: x·P(x²)/Q(x²). With fused multiplication the
	// result is exactly ±1 at the bounds.
	m.clamp(x, Constant("tanhMin", float(-7.99881172180175781)), Constant("tanhMax", float(7.99881172180175781)))
	square := m.vectors(len(x))
	x.each(func(i int) { Multiply(square[i], x[i], x[i]) })
	p := m.horner("tanhP", square, -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
		1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03)
	x.each(func(i int) { Multiply(p[i], p[i], x[i]) })
	q := m.horner("tanhQ", square, 1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
	x.each(func(i int) { Divide(p[i], p[i], q[i]) })
	return p
}

func (m machine) sigmoid() func(x vectors) vectors { return m.single(m.sigmoidByExponential) }
