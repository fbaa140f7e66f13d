package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// The reductions and coefficients are those of math32.go in the package, which explains them.

// horner evaluates a polynomial, highest coefficient first.
func (m machine) horner(name string, x vectors, coefficients ...float64) vectors {
	p := m.vectors(len(x))
	for i, c := range coefficients {
		at := constant(fmt.Sprintf("%s%d", name, i), float(c))
		p.each(func(j int) {
			if i == 0 {
				VMOVUPS(at, p[j])
			} else if m.wide {
				VFMADD213PS_BCST(at, x[j], p[j])
			} else {
				VFMADD213PS(at, x[j], p[j])
			}
		})
	}
	return p
}

// clamp keeps x within two bounds; NaN stays, since the instructions return their last source for it.
func (m machine) clamp(x vectors, low, high Mem) {
	bound := m.vector()
	VMOVUPS(low, bound)
	x.each(func(i int) { VMAXPS(x[i], bound, x[i]) })
	bound = m.vector()
	VMOVUPS(high, bound)
	x.each(func(i int) { VMINPS(x[i], bound, x[i]) })
}

func (m machine) exp(x vectors) vectors {
	m.clamp(x, constant("expMin", float(-104)), constant("expMax", float(89)))
	n, whole := m.vectors(len(x)), m.vectors(len(x))
	log2e := constant("log2e", float(1.44269504088896341))
	x.each(func(i int) { VMULPS(log2e, x[i], n[i]) })
	x.each(func(i int) { VCVTPS2DQ(n[i], whole[i]) })
	x.each(func(i int) { VCVTDQ2PS(whole[i], n[i]) })
	high, low := constant("ln2High", float(0.693359375)), constant("ln2Low", float(-2.12194440e-4))
	x.each(func(i int) { VFNMADD231PS(high, n[i], x[i]) })
	x.each(func(i int) { VFNMADD231PS(low, n[i], x[i]) })
	p := m.horner("expP", x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := m.vector()
	x.each(func(i int) {
		VMULPS(x[i], x[i], square)
		VFMADD213PS(x[i], square, p[i])
	})
	x.each(func(i int) { VADDPS(one(), p[i], p[i]) })
	if m.wide {
		x.each(func(i int) { VSCALEFPS(n[i], p[i], p[i]) })
		return p
	}
	bias := constant("exponentBias", 127)
	x.each(func(i int) { // 2ⁿ in two steps: n = half + (n − half)
		half, rest := m.vector(), whole[i]
		VPSRAD(U8(1), rest, half)
		VPSUBD(half, rest, rest)
		VPADDD(bias, half, half)
		VPADDD(bias, rest, rest)
		VPSLLD(U8(23), half, half)
		VPSLLD(U8(23), rest, rest)
		VMULPS(half, p[i], p[i])
		VMULPS(rest, p[i], p[i])
	})
	return p
}

func (m machine) log(x vectors) vectors {
	result := m.vectors(len(x))
	x.each(func(i int) {
		v, scaled, e, adjust := m.vector(), m.vector(), m.vector(), m.vector()
		VMOVAPS(x[i], v)
		tiny := m.compare(lessThan, v, constant("smallestNormal", 1<<23))
		VMULPS(constant("two23", float(1<<23)), v, scaled)
		VXORPS(adjust, adjust, adjust)
		m.blend(tiny, scaled, v)
		m.blend(tiny, constant("minus23", float(-23)), adjust)
		VPSRAD(U8(23), v, e)
		VPSUBD(constant("exponentHalf", 126), e, e)
		VCVTDQ2PS(e, e)
		VADDPS(adjust, e, e)
		// v becomes the significand in [½, 1), and below √½ is doubled.
		if m.wide {
			VPANDD(constant("fraction", 0x7fffff), v, v)
			VPORD(constant("exponentOfHalf", 126<<23), v, v)
		} else {
			VPAND(constant("fraction", 0x7fffff), v, v)
			VPOR(constant("exponentOfHalf", 126<<23), v, v)
		}
		low := m.compare(lessThan, v, constant("sqrtHalf", float(0.707106781186547524)))
		step := m.vector()
		m.keep(low, one(), step)
		VSUBPS(step, e, e)
		m.keep(low, v, step)
		VADDPS(step, v, v)
		VSUBPS(one(), v, v)
		z := vectors{v}
		p := m.horner("logP", z, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
			2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)[0]
		square := m.vector()
		VMULPS(v, v, square)
		VMULPS(v, p, p)
		VMULPS(square, p, p)
		VFMADD231PS(constant("ln2Low", float(-2.12194440e-4)), e, p)
		VFNMADD231PS(constant("half", float(0.5)), square, p)
		VADDPS(v, p, p)
		VFMADD231PS(constant("ln2High", float(0.693359375)), e, p)
		// What is not a positive finite number.
		m.blend(m.compare(notLessEq, x[i], constant("largest", 0x7f7fffff)), x[i], p)
		zero := m.vector()
		VXORPS(zero, zero, zero)
		m.blend(m.compare(lessThan, x[i], zero), notANumber(), p)
		m.blend(m.compare(equal, x[i], zero), constant("minusInfinity", 0xff800000), p)
		VMOVAPS(p, result[i])
	})
	return result
}

func (m machine) tanh(x vectors) vectors {
	original := m.vectors(len(x))
	x.each(func(i int) { VMOVAPS(x[i], original[i]) })
	p := m.squash(x)
	x.each(func(i int) {
		VANDPS(magnitude(), original[i], x[i])
		m.blend(m.compare(lessThan, x[i], constant("tanhSmall", float(0.0004))), original[i], p[i])
	})
	return p
}

// squash is tanh but for the last bits of results near 0.
func (m machine) squash(x vectors) vectors {
	// With fused multiplication the result is exactly ±1 here; without, at another place (see math32.go).
	m.clamp(x, constant("tanhMin", float(-7.99881172180175781)), constant("tanhMax", float(7.99881172180175781)))
	square := m.vectors(len(x))
	x.each(func(i int) { VMULPS(x[i], x[i], square[i]) })
	p := m.horner("tanhP", square, -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
		1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03)
	x.each(func(i int) { VMULPS(x[i], p[i], p[i]) })
	q := m.horner("tanhQ", square, 1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
	x.each(func(i int) { VDIVPS(q[i], p[i], p[i]) })
	return p
}

func (m machine) sigmoid(x vectors) vectors {
	negative := m.vectors(len(x))
	x.each(func(i int) { VORPS(signBit(), x[i], negative[i]) })
	e := m.exp(negative)
	x.each(func(i int) {
		numerator, zero := m.vector(), m.vector()
		VXORPS(zero, zero, zero)
		VMOVUPS(one(), numerator)
		m.blend(m.compare(lessThan, x[i], zero), e[i], numerator)
		VADDPS(one(), e[i], e[i])
		VDIVPS(e[i], numerator, e[i])
	})
	return e
}

// erf is x + x·P(x²) for |x| up to erfSplit, and 1 − exp(|x|·Q(|x|)) with the sign of x beyond.
func (m machine) erf(x vectors) vectors {
	t, square, original := m.vectors(len(x)), m.vectors(len(x)), m.vectors(len(x))
	x.each(func(i int) {
		VMOVAPS(x[i], original[i])
		VANDPS(magnitude(), x[i], t[i])
		VMULPS(x[i], x[i], square[i])
	})
	near := m.horner("erfP", square, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
	near.each(func(i int) { VFMADD213PS(original[i], original[i], near[i]) })
	m.clamp(t, constant("zero", 0), constant("erfMax", float(4)))
	r := m.horner("erfQ", t, -1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2, -1.06777877e-1, -6.34846687e-1, -1.28717512e-1)
	r.each(func(i int) { VFMSUB213PS(t[i], t[i], r[i]) }) // r·t − t
	e := m.exp(r)
	split := m.vector()
	VMOVUPS(constant("erfSplit", float(0.927734375)), split)
	e.each(func(i int) {
		far, sign := m.vector(), m.vector()
		VMOVUPS(one(), far)
		VSUBPS(e[i], far, far)
		VANDPS(signBit(), original[i], sign)
		VORPS(sign, far, far)
		m.blend(m.compare(greaterThan, t[i], split), far, near[i])
	})
	return near
}
