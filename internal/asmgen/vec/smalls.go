package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// smalls emits arithmetic on 8-bit and 16-bit integers, and on unsigned 32-bit ones; n counts bytes, a multiple of the
// vector length.
func (m machine) smalls() {
	plain := func(p Packed) func(a Vector, b Memory) Vector {
		return func(a Vector, b Memory) Vector {
			Compute(p, a, a, b)
			return a
		}
	}
	bitwise := func(f operation) func(a Vector, b Memory) Vector {
		return func(a Vector, b Memory) Vector {
			f(a, a, b)
			return a
		}
	}
	for _, k := range []struct {
		name string
		f    func(a Vector, b Memory) Vector
	}{
		{"addBytes", plain(AddBytes)}, {"subBytes", plain(SubtractBytes)}, {"maxInt8", plain(MaxInt8)}, {"minInt8", plain(MinInt8)},
		{"maxUint8", plain(MaxUint8)}, {"minUint8", plain(MinUint8)}, {"mulBytes", m.multiplyBytes},
		{"addWords", plain(AddWords)}, {"subWords", plain(SubtractWords)}, {"maxInt16", plain(MaxInt16)}, {"minInt16", plain(MinInt16)},
		{"maxUint16", plain(MaxUint16)}, {"minUint16", plain(MinUint16)}, {"mulWords", plain(MultiplyWords)},
		{"maxUint32", plain(MaxUint32)}, {"minUint32", plain(MinUint32)},
		{"andBits", bitwise(AndInt)}, {"orBits", bitwise(OrInt)}, {"xorBits", bitwise(Xor)},
	} {
		m.begin("packed", k.name, "dst, a, b unsafe.Pointer, n uintptr", "")
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		m.bytesLoop(n, []Scalar{dst, a, b}, func(o int) {
			x := m.vector()
			LoadInt(x, Memory{Base: a, Offset: o})
			StoreInt(Memory{Base: dst, Offset: o}, k.f(x, Memory{Base: b, Offset: o}))
		})
		End()
	}
	for _, k := range []struct {
		name               string
		subtract, max, min Packed
		one                uint32
	}{
		{"Bytes", SubtractBytes, MaxInt8, MinInt8, 0x01010101},
		{"Words", SubtractWords, MaxInt16, MinInt16, 0x00010001},
	} {
		m.packedUnary("neg"+k.name, func(x Vector) Vector { return m.negated(k.subtract, x) })
		m.packedUnary("abs"+k.name, func(x Vector) Vector {
			Compute(k.max, x, x, m.negated(k.subtract, x))
			return x
		})
		m.packedUnary("sign"+k.name, func(x Vector) Vector {
			Compute(k.max, x, x, m.every(0xffffffff))
			Compute(k.min, x, x, m.every(k.one))
			return x
		})
	}
	for _, k := range []struct {
		name string
		mask uint32
	}{{"flipBits", 0xffffffff}, {"flipBools", 0x01010101}} {
		m.packedUnary(k.name, func(x Vector) Vector {
			Xor(x, x, m.every(k.mask))
			return x
		})
	}
	m.widened("int8ToInt", WidenSignedBytes, false, 4)
	m.widened("int8ToFloat", WidenSignedBytes, true, 4)
	m.widened("int16ToInt", WidenSignedWords, false, 2)
	m.widened("int16ToFloat", WidenSignedWords, true, 2)
	m.widened("uint16ToInt", WidenWords, false, 2)
	m.widened("uint16ToFloat", WidenWords, true, 2)
}

// every is a vector with a pattern in all lanes.
func (m machine) every(bits uint32) Vector {
	v := m.vector()
	LoadInt(v, pattern(bits))
	return v
}

func (m machine) packedUnary(name string, f func(x Vector) Vector) {
	m.begin("packedUnary", name, "dst, x unsafe.Pointer, n uintptr", "")
	dst, x, n := param("dst"), param("x"), param("n")
	m.bytesLoop(n, []Scalar{dst, x}, func(o int) {
		v := m.vector()
		LoadInt(v, Memory{Base: x, Offset: o})
		StoreInt(Memory{Base: dst, Offset: o}, f(v))
	})
	End()
}

// widened emits the conversion of n small integers, fit of which fill 32 bits, to 32-bit integers or floats.
func (m machine) widened(name string, widen func(dst Vector, from Memory), float bool, fit int) {
	m.begin("widening", name, "dst, x unsafe.Pointer, n uintptr", "")
	dst, x, n := param("dst"), param("x"), param("n")
	m.loop(4, n, []Scalar{dst}, func(offsets []int) {
		for _, o := range offsets {
			v := m.vector()
			widen(v, Memory{Base: x, Offset: o / fit})
			if float {
				v = m.float(v)
			}
			Store(Memory{Base: dst, Offset: o}, v)
		}
		Increase(x, Number(len(offsets)*m.bytes()/fit))
	})
	End()
}

func (m machine) negated(subtract Packed, x Vector) Vector {
	y := m.vector()
	ZeroInt(y)
	Compute(subtract, y, y, x)
	return y
}

// multiplyBytes multiplies the bytes at even and at odd positions separately; the latter are the upper halves of 16-bit
// numbers.
func (m machine) multiplyBytes(a Vector, at Memory) Vector {
	b, even, odd := m.vector(), m.vector(), m.vector()
	LoadInt(b, at)
	Compute(MultiplyWords, even, a, b)
	ShiftLeftWords(even, even, 8)
	ShiftRightWords(even, even, 8)
	ShiftRightWords(odd, a, 8)
	ShiftRightWords(b, b, 8)
	Compute(MultiplyWords, odd, odd, b)
	ShiftLeftWords(odd, odd, 8)
	OrInt(odd, odd, even)
	return odd
}

// bytesLoop emits a loop over n bytes, four vectors at a time and then one.
func (m machine) bytesLoop(n Scalar, pointers []Scalar, body func(offset int)) {
	for _, unroll := range []int{4, 1} {
		top, bottom := "four", "fourEnd"
		if unroll == 1 {
			top, bottom = "one", "oneEnd"
		}
		Label(top)
		JumpBelow(n, Number(unroll*m.bytes()), bottom)
		for i := range unroll {
			body(i * m.bytes())
		}
		for _, p := range pointers {
			Increase(p, Number(unroll*m.bytes()))
		}
		Decrease(n, Number(unroll*m.bytes()))
		Jump(top)
		Label(bottom)
	}
}
