package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// masks emits the functions that compute bytes from floats and integers, and those that use such bytes.
func (m machine) masks() {
	comparisons := []struct {
		name string
		f    func(a, b vector) Mask
	}{
		{"floatEqual", func(a, b vector) Mask { return Compare(Equal, a, b) }},
		{"floatNotEqual", func(a, b vector) Mask { return Compare(NotEqual, a, b) }},
		{"floatLess", func(a, b vector) Mask { return Compare(LessThan, a, b) }},
		{"floatLessEqual", func(a, b vector) Mask { return Compare(LessEqual, a, b) }},
		{"intEqual", func(a, b vector) Mask { return CompareInt(Equal, a, b) }},
		{"intNotEqual", func(a, b vector) Mask { return Not(CompareInt(Equal, a, b)) }},
		{"intLess", func(a, b vector) Mask { return CompareInt(LessThan, a, b) }},
		{"intLessEqual", func(a, b vector) Mask { return Not(CompareInt(LessThan, b, a)) }},
	}
	for _, c := range comparisons {
		m.begin("compare", c.name, "dst, a, b unsafe.Pointer, n uintptr", "")
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		m.loop(4, n, []Scalar{a, b}, func(offsets []int) {
			for _, o := range offsets {
				k := c.f(m.copy(Memory{Base: a, Offset: o}), m.copy(Memory{Base: b, Offset: o}))
				StoreMask(Memory{Base: dst, Offset: o / 4}, k)
			}
			Increase(dst, Number(len(offsets)*m.bytes()/4))
		})
		End()
	}
	tests := []struct {
		name string
		f    func(x vector) Mask
	}{
		{"floatNotZero", func(x vector) Mask { return Compare(NotEqual, x, m.zeros(1)[0]) }},
		{"floatFinite", func(x vector) Mask { return Compare(LessThan, m.abs(x), pattern(0x7f800000)) }},
	}
	for _, c := range tests {
		m.begin("test", c.name, "dst, x unsafe.Pointer, n uintptr", "")
		dst, x, n := param("dst"), param("x"), param("n")
		m.loop(4, n, []Scalar{x}, func(offsets []int) {
			for _, o := range offsets {
				k := c.f(m.copy(Memory{Base: x, Offset: o}))
				StoreMask(Memory{Base: dst, Offset: o / 4}, k)
			}
			Increase(dst, Number(len(offsets)*m.bytes()/4))
		})
		End()
	}

	m.begin("", "choose", "dst, bytes, a, b unsafe.Pointer, n uintptr", "")
	dst, bytes, a, b, n := param("dst"), param("bytes"), param("a"), param("b"), param("n")
	m.loop(4, n, []Scalar{dst, a, b}, func(offsets []int) {
		for _, o := range offsets {
			k := LoadMask(Memory{Base: bytes, Offset: o / 4})
			Store(Memory{Base: dst, Offset: o}, m.choose(k, Memory{Base: a, Offset: o}, Memory{Base: b, Offset: o}))
		}
		Increase(bytes, Number(len(offsets)*m.bytes()/4))
	})
	End()

	m.begin("", "fromBytes", "dst, x unsafe.Pointer, n uintptr", "")
	dst, x, n := param("dst"), param("x"), param("n")
	m.loop(4, n, []Scalar{dst}, func(offsets []int) {
		for _, o := range offsets {
			v := m.vector()
			WidenBytes(v, Memory{Base: x, Offset: o / 4})
			Store(Memory{Base: dst, Offset: o}, m.float(v))
		}
		Increase(x, Number(len(offsets)*m.bytes()/4))
	})
	End()
}

// integers emits arithmetic on 32-bit integers and their conversions.
func (m machine) integers() {
	for _, k := range []struct {
		name string
		f    func(a, b vector) vector
	}{
		{"addInt", func(a, b vector) vector { return m.two(AddInt, a, b) }},
		{"subInt", func(a, b vector) vector { return m.two(SubtractInt, a, b) }},
		{"mulInt", func(a, b vector) vector { return m.two(MultiplyInt, a, b) }},
		{"maxInt", func(a, b vector) vector { return m.two(MaxInt, a, b) }},
		{"minInt", func(a, b vector) vector { return m.two(MinInt, a, b) }},
		{"shiftLeftInt", func(a, b vector) vector { return m.two(ShiftLeftBy, a, b) }},
		{"shiftRightInt", func(a, b vector) vector { return m.two(ShiftRightSignedBy, a, b) }},
		{"shiftRightUint", func(a, b vector) vector { return m.two(ShiftRightBy, a, b) }},
	} {
		m.begin("integer", k.name, "dst, a, b unsafe.Pointer, n uintptr", "")
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		m.loop(4, n, []Scalar{dst, a, b}, func(offsets []int) {
			for _, o := range offsets {
				Store(Memory{Base: dst, Offset: o}, k.f(m.copy(Memory{Base: a, Offset: o}), m.copy(Memory{Base: b, Offset: o})))
			}
		})
		End()
	}
	for _, k := range []struct {
		name string
		f    func(x vector) vector
	}{
		{"intToFloat", m.float},
		{"floatToInt", m.truncated},
		{"negInt", func(x vector) vector { return m.negatedInt(x) }},
		{"absInt", func(x vector) vector { return m.two(MaxInt, x, m.negatedInt(x)) }},
		{"signInt", func(x vector) vector { return m.two(MinInt, m.two(MaxInt, x, pattern(0xffffffff)), pattern(1)) }},
	} {
		m.begin("integerConversion", k.name, "dst, x unsafe.Pointer, n uintptr", "")
		dst, x, n := param("dst"), param("x"), param("n")
		m.loop(4, n, []Scalar{dst, x}, func(offsets []int) {
			for _, o := range offsets {
				Store(Memory{Base: dst, Offset: o}, k.f(m.copy(Memory{Base: x, Offset: o})))
			}
		})
		End()
	}
}

func (m machine) negatedInt(x vector) vector {
	y := m.zeros(1)[0]
	SubtractInt(y, y, x)
	return y
}

// truncated converts x to an integer, truncating. It saturates, and NaN gives 0.
func (m machine) truncated(x vector) vector {
	y := m.vector()
	TruncateToInt(y, x)
	y = m.choose(Compare(GreaterThan, x, number(2147483520)), pattern(0x7fffffff), y)
	return m.choose(Compare(Unordered, x, x), pattern(0), y)
}
