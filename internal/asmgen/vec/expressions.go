package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Expressions on single vectors: each function returns a new vector and leaves its operands unchanged.

type vector = Vector

// operation is dst = f(a, b).
type operation = func(dst, a Vector, b Operand)

// number is the memory of the constant v repeated over a vector.
func number(v float64) Memory { return pattern(float(v)) }

func pattern(bits uint32) Memory { return Constant(fmt.Sprintf("c%08x", bits), bits) }

func (m machine) copy(x Operand) vector {
	d := m.vector()
	Load(d, x)
	return d
}

func (m machine) add(a, b Operand) vector { return m.two(Add, a, b) }
func (m machine) sub(a, b Operand) vector { return m.two(Subtract, a, b) }
func (m machine) mul(a, b Operand) vector { return m.two(Multiply, a, b) }
func (m machine) div(a, b Operand) vector { return m.two(Divide, a, b) }

// two computes f(a, b), where b may be in memory; if a is in memory, it is loaded first.
func (m machine) two(f operation, a, b Operand) vector {
	x, ok := a.(Vector)
	if !ok {
		x = m.copy(a)
	}
	d := m.vector()
	f(d, x, b)
	return d
}

// fma is a·b + c, fnma c − a·b, fms a·b − c. c may be in memory; in the first two, b may be instead.
func (m machine) fma(a vector, b, c Operand) vector { return m.fused(MultiplyAdd, AddProduct, a, b, c) }
func (m machine) fnma(a vector, b, c Operand) vector {
	return m.fused(SubtractScaled, SubtractProduct, a, b, c)
}

func (m machine) fms(a, b vector, c Operand) vector {
	d := m.copy(a)
	MultiplySubtract(d, b, c)
	return d
}

func (m machine) fused(onFactor, onSum operation, a vector, b, c Operand) vector {
	if factor, ok := b.(Vector); ok {
		d := m.copy(a)
		onFactor(d, factor, c)
		return d
	}
	d := m.copy(c)
	onSum(d, a, b)
	return d
}

// poly evaluates a polynomial by Horner's rule, highest coefficient first.
func (m machine) poly(x vector, coefficients ...float64) vector {
	p := m.copy(number(coefficients[0]))
	for _, c := range coefficients[1:] {
		MultiplyAddConstant(p, x, number(c))
	}
	return p
}

func (m machine) abs(x vector) vector      { return m.two(And, x, magnitude()) }
func (m machine) sign(x vector) vector     { return m.two(And, x, signBit()) }
func (m machine) join(a, b vector) vector  { return m.two(Or, a, b) }
func (m machine) flip(x, by vector) vector { return m.two(Xor, x, by) }
func (m machine) sqrt(x vector) vector {
	d := m.vector()
	Sqrt(d, x)
	return d
}

func (m machine) whole(x vector) vector { // nearest integers, in integer format
	d := m.vector()
	ToInt(d, x)
	return d
}

func (m machine) float(x vector) vector {
	d := m.vector()
	ToFloat(d, x)
	return d
}

func (m machine) bits(x vector, mask uint32) vector {
	return m.two(AndInt, x, pattern(mask))
}

func (m machine) shift(f func(dst, v Vector, by int), n int, x vector) vector {
	d := m.vector()
	f(d, x, n)
	return d
}

func (m machine) round(how int, x vector) vector {
	d := m.vector()
	Round(d, x, how)
	return d
}

// choose selects yes where the mask is set, else no.
func (m machine) choose(k Mask, yes, no Operand) vector {
	d := m.copy(no)
	Blend(d, k, yes)
	return d
}

// small is x where |x| is below a bound, else y: this preserves the signs of zeros. The product turns subnormals into
// zeros if the processor flushes them.
func (m machine) small(bound float64, x, y vector) vector {
	return m.choose(Compare(LessThan, m.abs(x), number(bound)), m.mul(x, one()), y)
}
