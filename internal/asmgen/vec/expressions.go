package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Expressions on single vectors: every function returns a new one and leaves its operands alone.

type vector = reg.VecVirtual

// number returns the place of v, repeated over a vector.
func number(v float64) Mem { return pattern(float(v)) }

func pattern(bits uint32) Mem { return constant(fmt.Sprintf("c%08x", bits), bits) }

func (m machine) copy(x Op) vector {
	d := m.vector()
	VMOVUPS(x, d)
	return d
}

func (m machine) add(a, b Op) vector { return m.two(VADDPS, a, b) }
func (m machine) sub(a, b Op) vector { return m.two(VSUBPS, a, b) }
func (m machine) mul(a, b Op) vector { return m.two(VMULPS, a, b) }
func (m machine) div(a, b Op) vector { return m.two(VDIVPS, a, b) }

// two computes f(a, b), of which b may be in memory; if a is, it is loaded first.
func (m machine) two(f func(...Op), a, b Op) vector {
	if _, ok := a.(Mem); ok {
		a = m.copy(a)
	}
	d := m.vector()
	f(b, a, d)
	return d
}

// fma is a·b + c, fnma c − a·b, fms a·b − c; c may be in memory, or b instead of it in the first two.
func (m machine) fma(a vector, b, c Op) vector  { return m.fused(VFMADD213PS, VFMADD231PS, a, b, c) }
func (m machine) fnma(a vector, b, c Op) vector { return m.fused(VFNMADD213PS, VFNMADD231PS, a, b, c) }

func (m machine) fms(a, b vector, c Op) vector {
	d := m.copy(a)
	VFMSUB213PS(c, b, d)
	return d
}

func (m machine) fused(onFactor, onSum func(...Op), a vector, b, c Op) vector {
	if _, ok := b.(Mem); ok {
		d := m.copy(c)
		onSum(b, a, d)
		return d
	}
	d := m.copy(a)
	onFactor(c, b, d)
	return d
}

// poly is Horner's rule, highest coefficient first.
func (m machine) poly(x vector, coefficients ...float64) vector {
	p := m.copy(number(coefficients[0]))
	for _, c := range coefficients[1:] {
		if m.wide {
			VFMADD213PS_BCST(number(c), x, p)
		} else {
			VFMADD213PS(number(c), x, p)
		}
	}
	return p
}

func (m machine) abs(x vector) vector      { return m.two(VANDPS, x, magnitude()) }
func (m machine) sign(x vector) vector     { return m.two(VANDPS, x, signBit()) }
func (m machine) join(a, b vector) vector  { return m.two(VORPS, a, b) }
func (m machine) flip(x, by vector) vector { return m.two(VXORPS, x, by) }
func (m machine) sqrt(x vector) vector {
	d := m.vector()
	VSQRTPS(x, d)
	return d
}

func (m machine) whole(x vector) vector { // the nearest integer, as one
	d := m.vector()
	VCVTPS2DQ(x, d)
	return d
}

func (m machine) float(x vector) vector {
	d := m.vector()
	VCVTDQ2PS(x, d)
	return d
}

func (m machine) bits(x vector, mask uint32) vector {
	if m.wide {
		return m.two(VPANDD, x, pattern(mask))
	}
	return m.two(func(o ...Op) { VPAND(o[0], o[1], o[2]) }, x, pattern(mask))
}

func (m machine) shift(f func(...Op), n uint64, x vector) vector {
	d := m.vector()
	f(U8(n), x, d)
	return d
}

// How to round.
const (
	nearest    = 0
	downwards  = 1
	upwards    = 2
	towardZero = 3
)

func (m machine) round(how uint64, x vector) vector {
	d := m.vector()
	if m.wide {
		VRNDSCALEPS(U8(how|8), x, d)
	} else {
		VROUNDPS(U8(how|8), x, d)
	}
	return d
}

// choose is yes where the mask is set, else no.
func (m machine) choose(k mask, yes, no Op) vector {
	d := m.copy(no)
	m.blend(k, yes, d)
	return d
}

// odd tells where the lowest bit of integers is set.
func (m machine) odd(x vector) mask {
	if m.wide {
		k := K()
		VPTESTMD(pattern(1), x, k)
		return mask{bits: k}
	}
	return mask{lanes: m.shift(VPSRAD, 31, m.shift(VPSLLD, 31, x))}
}

// small returns x where its magnitude is below a bound, else y: this keeps zeros' signs. The product makes zeros of denormals where they are flushed.
func (m machine) small(bound float64, x, y vector) vector {
	return m.choose(m.compare(lessThan, m.abs(x), number(bound)), m.mul(x, one()), y)
}
