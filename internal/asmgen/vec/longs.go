package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// longs emits operations on 64-bit integers (in tables of functions whose arrays have the size of floats), comparisons,
// and conversions between float32 and float64.
func (m machine) longs() {
	p := precise{m}
	flipped := func(v vector) vector { return p.two(Xor, v, doublePattern(1<<63)) }
	signless := func(a, b vector) Mask { return CompareInt(LessThan, flipped(a), flipped(b)) }
	for _, k := range []struct {
		name string
		f    func(a, b vector) vector
	}{
		{"addLongs", func(a, b vector) vector { return p.two(AddInt, a, b) }},
		{"subLongs", func(a, b vector) vector { return p.two(SubtractInt, a, b) }},
		{"maxLongs", func(a, b vector) vector { return p.choose(lessInts(a, b), b, a) }},
		{"minLongs", func(a, b vector) vector { return p.choose(lessInts(a, b), a, b) }},
		{"maxUlongs", func(a, b vector) vector { return p.choose(signless(a, b), b, a) }},
		{"minUlongs", func(a, b vector) vector { return p.choose(signless(a, b), a, b) }},
	} {
		m.begin("binary64", k.name, "dst, a, b unsafe.Pointer, n uintptr", "")
		Float64()
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		m.doubleLoop(n, []Scalar{dst, a, b}, func() {
			Store(Memory{Base: dst}, k.f(p.copy(Memory{Base: a}), p.copy(Memory{Base: b})))
		})
	}
	m.orderLongs()
	negative := func(x vector) vector { return p.two(SubtractInt, p.zero(), x) }
	for _, k := range []struct {
		name string
		f    func(x vector) vector
	}{
		{"negLongs", negative},
		{"absLongs", func(x vector) vector { return p.choose(lessInts(x, p.zero()), negative(x), x) }},
		{"signLongs", func(x vector) vector { // all bits are set below 0
			y := p.vector()
			MaskLanes(y, lessInts(x, p.zero()))
			return p.two(Or, y, p.shift(ShiftRight, 63, negative(x)))
		}},
	} {
		m.begin("unary64", k.name, "dst, x unsafe.Pointer, n uintptr", "")
		Float64()
		dst, x, n := param("dst"), param("x"), param("n")
		m.doubleLoop(n, []Scalar{dst, x}, func() {
			Store(Memory{Base: dst}, k.f(p.copy(Memory{Base: x})))
		})
	}
	for _, k := range []struct {
		name string
		f    func(a, b vector) Mask
	}{
		{"longsEqual", equalInts}, {"longsNotEqual", notEqualInts}, {"longsLess", lessInts}, {"longsLessEqual", lessEqualInts},
		{"ulongsLess", signless}, {"ulongsLessEqual", func(a, b vector) Mask { return Not(signless(b, a)) }},
	} {
		m.begin("compare64", k.name, "dst, a, b unsafe.Pointer, n uintptr", "")
		Float64()
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		m.halfLoop(n, []Scalar{a, b}, dst, m.bytes()/8, func() {
			StoreMask(Memory{Base: dst}, k.f(p.copy(Memory{Base: a}), p.copy(Memory{Base: b})))
		})
	}
	m.begin("convert64", "floatsToDoubles", "dst, x unsafe.Pointer, n uintptr", "")
	Float64()
	dst, x, n := param("dst"), param("x"), param("n")
	m.halfLoop(n, []Scalar{dst}, x, m.bytes()/2, func() {
		v := m.vector()
		WidenFloats(v, Memory{Base: x})
		Store(Memory{Base: dst}, v)
	})
	m.begin("convert64", "doublesToFloats", "dst, x unsafe.Pointer, n uintptr", "")
	Float64()
	dst, x, n = param("dst"), param("x"), param("n")
	m.halfLoop(n, []Scalar{x}, dst, m.bytes()/2, func() {
		v := m.vector()
		Load(v, Memory{Base: x})
		StoreFloats(Memory{Base: dst}, v)
	})
}

// halfLoop is doubleLoop with one more pointer, which advances by the given number of bytes.
func (m machine) halfLoop(n Scalar, pointers []Scalar, short Scalar, by int, body func()) {
	m.doubleLoop(n, pointers, func() {
		body()
		Increase(short, Number(by))
	})
}

// orderLongs leaves the smaller ones of pairs of integers in x, and the larger ones in y.
func (m machine) orderLongs() {
	m.begin("", "orderLongs", "x, y unsafe.Pointer, n uintptr", "")
	Float64()
	p := precise{m}
	x, y, n := param("x"), param("y"), param("n")
	m.doubleLoop(n, []Scalar{x, y}, func() {
		a, b := p.copy(Memory{Base: x}), p.copy(Memory{Base: y})
		swapped := lessInts(b, a)
		Store(Memory{Base: x}, p.choose(swapped, b, a))
		Store(Memory{Base: y}, p.choose(swapped, a, b))
	})
}
