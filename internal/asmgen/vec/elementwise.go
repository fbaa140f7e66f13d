package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func float(v float64) uint32 { return math.Float32bits(float32(v)) }

func one() Mem        { return constant("one", float(1)) }
func signBit() Mem    { return constant("signBit", 1<<31) }
func magnitude() Mem  { return constant("magnitude", 1<<31-1) }
func notANumber() Mem { return constant("notANumber", 0x7fc00000) }

// binaryKernels emits dst = f(a, b).
func (m machine) binaryKernels() {
	functions := func(f func(a, b vector) vector) func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) {
		return func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) { VMOVAPS(f(a, m.copy(b)), dst) }
	}
	kernels := []struct {
		name   string
		unroll int
		f      func(a reg.VecVirtual, b Mem, dst reg.VecVirtual)
	}{
		{"add", 4, func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) { VADDPS(b, a, dst) }},
		{"sub", 4, func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) { VSUBPS(b, a, dst) }},
		{"mul", 4, func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) { VMULPS(b, a, dst) }},
		{"div", 4, func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) { VDIVPS(b, a, dst) }},
		// For NaN the instructions return b: which is right if b is it.
		{"max", 4, func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) {
			VMAXPS(b, a, dst)
			m.blend(m.compare(unordered, a, a), a, dst)
		}},
		{"min", 4, func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) {
			VMINPS(b, a, dst)
			m.blend(m.compare(unordered, a, a), a, dst)
		}},
		{"reluGrad", 4, func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) {
			y, zero := m.vector(), m.vector()
			VXORPS(zero, zero, zero)
			VMOVUPS(b, y)
			m.keep(m.compare(greaterThan, y, zero), a, dst)
		}},
		{"tanhGrad", 4, func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) {
			y := m.vector()
			VMOVUPS(b, y)
			VFNMADD213PS(one(), y, y)
			VMULPS(y, a, dst)
		}},
		{"sigmoidGrad", 4, func(a reg.VecVirtual, b Mem, dst reg.VecVirtual) {
			y, t := m.vector(), m.vector()
			VMOVUPS(b, y)
			VMOVUPS(one(), t)
			VSUBPS(y, t, t)
			VMULPS(y, t, t)
			VMULPS(t, a, dst)
		}},
		{"pow", 1, functions(m.pow)},
		{"rem", 1, functions(m.rem)},
		{"atan2", 1, functions(m.atan2)},
	}
	for _, k := range kernels {
		m.begin("binary", k.name, "dst, a, b *float32, n uintptr", "")
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		m.loop(k.unroll, n, []reg.GPVirtual{dst, a, b}, func(offsets []int) {
			for _, o := range offsets {
				v, r := m.vector(), m.vector()
				VMOVUPS(Mem{Base: a, Disp: o}, v)
				k.f(v, Mem{Base: b, Disp: o}, r)
				VMOVUPS(r, Mem{Base: dst, Disp: o})
			}
		})
		end()
	}
	m.begin("", "mulAdd", "dst, a, b, c *float32, n uintptr", "")
	dst, a, b, c, n := param("dst"), param("a"), param("b"), param("c"), param("n")
	m.loop(4, n, []reg.GPVirtual{dst, a, b, c}, func(offsets []int) {
		for _, o := range offsets {
			v, w := m.vector(), m.vector()
			VMOVUPS(Mem{Base: a, Disp: o}, v)
			VMOVUPS(Mem{Base: b, Disp: o}, w)
			VFMADD213PS(Mem{Base: c, Disp: o}, w, v)
			VMOVUPS(v, Mem{Base: dst, Disp: o})
		}
	})
	end()
}

// unaryKernels emits dst = f(x).
func (m machine) unaryKernels() {
	unroll := 1
	if m.wide {
		unroll = 2
	}
	kernels := []struct {
		name   string
		unroll int
		f      func(x vectors) vectors // may destroy x
	}{
		{"neg", 4, func(x vectors) vectors { x.each(func(i int) { VXORPS(signBit(), x[i], x[i]) }); return x }},
		{"abs", 4, func(x vectors) vectors { x.each(func(i int) { VANDPS(magnitude(), x[i], x[i]) }); return x }},
		{"relu", 4, func(x vectors) vectors {
			zero := m.vector()
			VXORPS(zero, zero, zero)
			x.each(func(i int) { VMAXPS(x[i], zero, x[i]) }) // for NaN, the last source: x
			return x
		}},
		{"sqrt", 4, func(x vectors) vectors { x.each(func(i int) { VSQRTPS(x[i], x[i]) }); return x }},
		{"rsqrt", 4, func(x vectors) vectors {
			numerator := m.vector()
			VMOVUPS(one(), numerator)
			x.each(func(i int) { VSQRTPS(x[i], x[i]) })
			x.each(func(i int) { VDIVPS(x[i], numerator, x[i]) })
			return x
		}},
		{"exp", 4, m.exp},
		{"log", 2, m.log},
		{"tanh", 4, m.tanh},
		{"sigmoid", 2, m.sigmoid},
		{"erf", 2, m.erf},
		{"floor", 4, m.single(func(x vector) vector { return m.round(downwards, x) })},
		{"ceil", 4, m.single(func(x vector) vector { return m.round(upwards, x) })},
		{"round", 4, m.single(func(x vector) vector { return m.round(nearest, x) })},
		{"sign", 2, m.single(m.signOf)},
		{"expm1", unroll, m.single(m.expm1)},
		{"log1p", unroll, m.single(m.log1p)},
		{"sin", unroll, m.single(m.sin)},
		{"cos", unroll, m.single(m.cos)},
		{"tan", unroll, m.single(m.tan)},
		{"asin", unroll, m.single(m.asin)},
		{"acos", unroll, m.single(m.acos)},
		{"atan", unroll, m.single(m.atan)},
		{"sinh", unroll, m.single(m.sinh)},
		{"cosh", unroll, m.single(m.cosh)},
		{"asinh", unroll, m.single(m.asinh)},
		{"acosh", unroll, m.single(m.acosh)},
		{"atanh", unroll, m.single(m.atanh)},
		{"erfInv", 1, m.single(m.erfInv)},
	}
	for _, k := range kernels {
		m.begin("unary", k.name, "dst, x *float32, n uintptr", "")
		dst, x, n := param("dst"), param("x"), param("n")
		m.loop(k.unroll, n, []reg.GPVirtual{dst, x}, func(offsets []int) {
			v := m.vectors(len(offsets))
			for i, o := range offsets {
				VMOVUPS(Mem{Base: x, Disp: o}, v[i])
			}
			v = k.f(v)
			for i, o := range offsets {
				VMOVUPS(v[i], Mem{Base: dst, Disp: o})
			}
		})
		end()
	}
}

// scalarKernels emits dst = f(x, a, b) with numbers a and b.
func (m machine) scalarKernels() {
	kernels := []struct {
		name string
		f    func(x Mem, a, b, dst reg.VecVirtual)
	}{
		{"affine", func(x Mem, a, b, dst reg.VecVirtual) { VMOVAPS(b, dst); VFMADD231PS(x, a, dst) }},
		{"scale", func(x Mem, a, _, dst reg.VecVirtual) { VMULPS(x, a, dst) }},
		{"addScalar", func(x Mem, a, _, dst reg.VecVirtual) { VADDPS(x, a, dst) }},
		// For NaN the instructions return x, and where it equals the number.
		{"maxScalar", func(x Mem, a, _, dst reg.VecVirtual) { VMAXPS(x, a, dst) }},
		{"minScalar", func(x Mem, a, _, dst reg.VecVirtual) { VMINPS(x, a, dst) }},
		{"axpy", nil},
	}
	for _, k := range kernels {
		m.begin("scalar", k.name, "dst, x *float32, n uintptr, scalars unsafe.Pointer", "")
		dst, x, n, scalars := param("dst"), param("x"), param("n"), param("scalars")
		a, b := m.broadcast(scalars, 0), m.broadcast(scalars, 1)
		m.loop(4, n, []reg.GPVirtual{dst, x}, func(offsets []int) {
			for _, o := range offsets {
				r := m.vector()
				if k.f == nil {
					VMOVUPS(Mem{Base: dst, Disp: o}, r)
					VFMADD231PS(Mem{Base: x, Disp: o}, a, r)
				} else {
					k.f(Mem{Base: x, Disp: o}, a, b, r)
				}
				VMOVUPS(r, Mem{Base: dst, Disp: o})
			}
		})
		end()
	}
}
