package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// split writes the digits of n numbers, in whole vectors: it multiplies each number by a power of two, converts it to
// an integer, and writes its digits to three planes. 128 is added to each digit, with carries and borrows between them,
// so that digits are unsigned bytes. A vector of the sums of each digit goes to sums. how has the power of two, and the
// bits to flip in each byte: 128 for signed digits.
func split(m Machine) {
	Begin(m, "split", "to, plane, x, sums, how, n uintptr", "")
	Doc("split" + m.Name + " writes the digits of n numbers.")
	to, plane, x, sums, how, n := Parameter("to"), Parameter("plane"), Parameter("x"), Parameter("sums"), Parameter("how"), Parameter("n")
	v, digit, factor, bias, low, signs := NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes)
	Broadcast(factor, Memory{Base: how})
	Broadcast(signs, Memory{Base: how, Offset: 4})
	Load(bias, Constant("digitBias", 0x808080))
	Load(low, Constant("lowByte", 0xff))
	var total [digits]Vector
	for d := range total {
		total[d] = NewVector(m.Bytes)
		Zero(total[d])
	}
	Label("loop")
	Load(v, Memory{Base: x})
	Multiply(v, v, factor)
	ToInt(v, v)
	AddInt(v, v, bias)
	for d := range digits {
		AndInt(digit, v, low)
		if d < digits-1 {
			ShiftRight(v, v, 8)
		}
		AddInt(total[d], total[d], digit)
		Xor(digit, digit, signs)
		StoreLowBytes(digitAt(to, plane, d), digit)
	}
	Increase(x, Number(m.Bytes))
	Increase(to, Number(m.Bytes/4))
	Countdown(n, m.Bytes/4, "loop")
	for d := range total {
		StoreInt(Memory{Base: sums, Offset: m.Bytes * d}, total[d])
	}
	End()
}

// largest stores a vector of the largest bits, without the sign, of n numbers, in whole vectors: these are the bits of
// the largest magnitude if all numbers are finite, and larger than those of any finite number if not.
func largest(m Machine) {
	Begin(m, "largest", "to, x, n uintptr", "")
	Doc("largest" + m.Name + " stores a vector of the largest bits, without the signs, of n numbers.")
	to, x, n := Parameter("to"), Parameter("x"), Parameter("n")
	top, v, bits := NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes)
	Load(bits, Constant("allButSign", 0x7fffffff))
	Zero(top)
	Label("loop")
	LoadInt(v, Memory{Base: x})
	AndInt(v, v, bits)
	MaxInt(top, top, v)
	Increase(x, Number(m.Bytes))
	Countdown(n, m.Bytes/4, "loop")
	StoreInt(Memory{Base: to}, top)
	End()
}
