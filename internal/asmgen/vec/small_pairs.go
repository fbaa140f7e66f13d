package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// smallType is a type of integers that are widened to 32 bits when loaded.
type smallType struct {
	name   string
	size   int
	signed bool
	load   func(dst Vector, from Memory)
}

var smallTypes = []smallType{{"Int8", 1, true, WidenSignedBytes}, {"Uint8", 1, false, WidenBytes}, {"Int16", 2, true, WidenSignedWords}, {"Uint16", 2, false, WidenWords}}

// smallPairs emits operations on 8-bit and 16-bit integers that are computed in 32 bits; n counts elements.
func (m machine) smallPairs() {
	for _, t := range smallTypes {
		right := ShiftRightBy
		if t.signed {
			right = ShiftRightSignedBy
		}
		for _, k := range []struct {
			name string
			f    func(a, b vector) vector
		}{
			{"div", func(a, b vector) vector { return m.unlessZero(b, m.quotient(a, b)) }},
			{"rem", func(a, b vector) vector {
				return m.unlessZero(b, m.two(SubtractInt, a, m.two(MultiplyInt, m.quotient(a, b), b)))
			}},
			{"shiftLeft", func(a, b vector) vector { return m.two(ShiftLeftBy, a, b) }},
			{"shiftRight", func(a, b vector) vector { return m.two(right, a, b) }},
		} {
			m.begin("smallPair", k.name+t.name, "dst, a, b unsafe.Pointer, n uintptr", "")
			dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
			x, y := m.vector(), m.vector()
			m.smallLoop(t, n, []Scalar{dst, a, b}, func() {
				t.load(x, Memory{Base: a})
				t.load(y, Memory{Base: b})
				m.storeSmall(t, Memory{Base: dst}, k.f(x, y))
			})
		}
	}
	for _, t := range append(smallTypes, smallType{"Int32", 4, true, LoadInt}, smallType{"Uint32", 4, false, LoadInt}) {
		m.begin("power", "power"+t.name, "dst, a, b unsafe.Pointer, n, bits uintptr", "")
		Doc(fmt.Sprintf("power%s%s: dst = a to the power b, whose numbers have no more bits than that.", t.name, m.Name))
		dst, a, b, n, bits := param("dst"), param("a"), param("b"), param("n"), param("bits")
		m.smallLoop(t, n, []Scalar{dst, a, b}, func() {
			x, y := m.vector(), m.vector()
			t.load(x, Memory{Base: a})
			t.load(y, Memory{Base: b})
			m.storeSmall(t, Memory{Base: dst}, m.integerPower(t.signed, x, y, bits))
		})
	}
}

// smallLoop emits a loop over n > 0 elements, a multiple of a vector's 32-bit lanes, and the function's end.
func (m machine) smallLoop(t smallType, n Scalar, pointers []Scalar, body func()) {
	Label("next")
	body()
	lanes := m.bytes() / 4
	for _, p := range pointers {
		Increase(p, Number(lanes*t.size))
	}
	Countdown(n, lanes, "next")
	End()
}

// storeSmall stores the lowest bits of 32-bit integers.
func (m machine) storeSmall(t smallType, to Memory, v vector) {
	switch {
	case t.size == 4:
		StoreInt(to, v)
	case m.wide && t.size == 2:
		StoreLowWords(to, v)
	case m.wide:
		StoreLowBytes(to, v)
	case t.size == 2:
		StoreLowWords(to, m.bits(v, 0xffff))
	default:
		StoreLowBytes(to, m.bits(v, 0xff))
	}
}

// quotient divides integers of at most 17 bits as floats: no quotient is rounded up to an integer.
func (m machine) quotient(a, b vector) vector {
	q := m.div(m.float(a), m.float(b))
	TruncateToInt(q, q)
	return q
}

// unlessZero is v where b is not 0, else 0.
func (m machine) unlessZero(b, v vector) vector {
	zero := m.vector()
	ZeroInt(zero)
	d := m.vector()
	Keep(d, Not(CompareInt(Equal, b, zero)), v)
	return d
}

// integerPower is x to the power y by squaring, for the given number of bits of y. A negative power of anything but 1
// and −1 is 0.
func (m machine) integerPower(signed bool, x, y vector, bits Scalar) vector {
	power, left, result, count := m.copy(x), m.copy(y), m.every(1), NewScalar()
	Assign(count, bits)
	Label("bit")
	Blend(result, Odd(left), m.two(MultiplyInt, result, power))
	MultiplyInt(power, power, power)
	ShiftRight(left, left, 1)
	Countdown(count, 1, "bit")
	if !signed {
		return result
	}
	one, minus := m.vector(), m.vector()
	MaskLanes(one, CompareInt(Equal, x, m.every(1)))
	MaskLanes(minus, CompareInt(Equal, x, m.every(0xffffffff)))
	OrInt(one, one, minus)
	nonNegative := m.two(Xor, m.shift(ShiftRightSigned, 31, y), m.every(0xffffffff))
	OrInt(one, one, nonNegative)
	AndInt(result, result, one)
	return result
}
