package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// optimizers emits the update steps in the package's optimizer.go.
func (m machine) optimizers() {
	m.begin("", "adam", "w, m, v, gradient *float32, n uintptr, scalars unsafe.Pointer", "")
	w, mom, vel, g, n, scalars := param("w"), param("m"), param("v"), param("gradient"), param("n"), param("scalars")
	alpha, beta1, beta2 := m.broadcast(scalars, 0), m.broadcast(scalars, 1), m.broadcast(scalars, 2)
	epsilon, scale, decay := m.broadcast(scalars, 3), m.broadcast(scalars, 4), m.broadcast(scalars, 5)
	m.loop(2, n, []Scalar{w, mom, vel, g}, func(offsets []int) {
		for _, o := range offsets {
			at := func(p Scalar) Memory { return Memory{Base: p, Offset: o} }
			gi, mi, vi, wi, t := m.vector(), m.vector(), m.vector(), m.vector(), m.vector()
			Multiply(gi, scale, at(g))
			Load(mi, at(mom))
			Load(vi, at(vel))
			Load(wi, at(w))
			Subtract(t, gi, mi)
			AddProduct(mi, t, beta1)
			MultiplySubtract(gi, gi, vi) // g² − v
			AddProduct(vi, gi, beta2)
			Store(at(mom), mi)
			Store(at(vel), vi)
			Sqrt(vi, vi)
			Add(vi, vi, epsilon)
			Multiply(mi, mi, alpha)
			Divide(mi, mi, vi)
			SubtractProduct(wi, wi, decay)
			Subtract(wi, wi, mi)
			Store(at(w), wi)
		}
	})
	End()

	for _, nesterov := range []bool{false, true} {
		name := "momentum"
		if nesterov {
			name = "nesterov"
		}
		m.begin("", name, "w, v, gradient *float32, n uintptr, scalars unsafe.Pointer", "")
		w, vel, g, n, scalars := param("w"), param("v"), param("gradient"), param("n"), param("scalars")
		rate, mu, decay := m.broadcast(scalars, 0), m.broadcast(scalars, 1), m.broadcast(scalars, 2)
		m.loop(4, n, []Scalar{w, vel, g}, func(offsets []int) {
			for _, o := range offsets {
				at := func(p Scalar) Memory { return Memory{Base: p, Offset: o} }
				step, vi, wi := m.vector(), m.vector(), m.vector()
				Multiply(step, rate, at(g))
				Load(vi, at(vel))
				Load(wi, at(w))
				MultiplySubtract(vi, mu, step)
				Store(at(vel), vi)
				if nesterov {
					MultiplySubtract(vi, mu, step)
				}
				SubtractProduct(wi, wi, decay)
				Add(wi, wi, vi)
				Store(at(w), wi)
			}
		})
		End()
	}
}

// conversions emits conversions between half precision and float32.
func (m machine) conversions() {
	m.begin("", "widenF16", "dst *float32, x unsafe.Pointer, n uintptr", "")
	dst, x, n := param("dst"), param("x"), param("n")
	m.loop(1, n, []Scalar{dst}, func([]int) {
		v := m.vector()
		LoadFloat16(v, Memory{Base: x})
		Store(Memory{Base: dst}, v)
		Increase(x, Number(m.bytes()/2))
	})
	End()

	m.begin("", "narrowF16", "dst unsafe.Pointer, x *float32, n uintptr", "")
	dst, x, n = param("dst"), param("x"), param("n")
	m.loop(1, n, []Scalar{x}, func([]int) {
		v := m.vector()
		Load(v, Memory{Base: x})
		StoreFloat16(Memory{Base: dst}, v)
		Increase(dst, Number(m.bytes()/2))
	})
	End()

	m.begin("", "widenBF16", "dst *float32, x unsafe.Pointer, n uintptr", "")
	dst, x, n = param("dst"), param("x"), param("n")
	m.loop(1, n, []Scalar{dst}, func([]int) {
		v := m.vector()
		WidenWords(v, Memory{Base: x})
		ShiftLeft(v, v, 16)
		Store(Memory{Base: dst}, v)
		Increase(x, Number(m.bytes()/2))
	})
	End()

	m.begin("", "narrowBF16", "dst unsafe.Pointer, x *float32, n uintptr", "")
	dst, x, n = param("dst"), param("x"), param("n")
	m.loop(1, n, []Scalar{x}, func([]int) {
		v := m.vector()
		Load(v, Memory{Base: x})
		m.roundBF16(v)
		ShiftRight(v, v, 16)
		StoreLowWords(Memory{Base: dst}, v)
		Increase(dst, Number(m.bytes()/2))
	})
	End()
}

// roundBF16 rounds v to the nearest bfloat16, in the upper half of the bits; the lower half is arbitrary.
func (m machine) roundBF16(v Vector) {
	odd, quiet := m.vector(), m.vector()
	Or(quiet, v, Constant("quietBit", 0x400000))
	nan := Compare(Unordered, v, v)
	ShiftLeft(odd, v, 15) // the last retained bit, as 0 or 1: ties go to even
	ShiftRight(odd, odd, 31)
	AddInt(v, v, Constant("belowHalf", 0x7fff))
	AddInt(v, v, odd)
	Blend(v, nan, quiet)
}
