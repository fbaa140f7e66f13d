package main

import (
	"math"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

func float(v float64) uint32 { return math.Float32bits(float32(v)) }

func one() Memory        { return Constant("one", float(1)) }
func signBit() Memory    { return Constant("signBit", 1<<31) }
func magnitude() Memory  { return Constant("magnitude", 1<<31-1) }
func notANumber() Memory { return Constant("notANumber", 0x7fc00000) }

// binaryKernels emits dst = f(a, b).
func (m machine) binaryKernels() {
	functions := func(f func(a, b vector) vector) func(a Vector, b Memory, dst Vector) {
		return func(a Vector, b Memory, dst Vector) { Copy(dst, f(a, m.copy(b))) }
	}
	kernels := []struct {
		name   string
		unroll int
		f      func(a Vector, b Memory, dst Vector)
	}{
		{"add", 4, func(a Vector, b Memory, dst Vector) { Add(dst, a, b) }},
		{"sub", 4, func(a Vector, b Memory, dst Vector) { Subtract(dst, a, b) }},
		{"mul", 4, func(a Vector, b Memory, dst Vector) { Multiply(dst, a, b) }},
		{"div", 4, func(a Vector, b Memory, dst Vector) { Divide(dst, a, b) }},
		// For NaN the instructions return b, which is right if b is NaN.
		{"max", 4, func(a Vector, b Memory, dst Vector) {
			Max(dst, a, b)
			Blend(dst, Compare(Unordered, a, a), a)
		}},
		{"min", 4, func(a Vector, b Memory, dst Vector) {
			Min(dst, a, b)
			Blend(dst, Compare(Unordered, a, a), a)
		}},
		{"reluGrad", 4, func(a Vector, b Memory, dst Vector) {
			y, zero := m.vector(), m.vector()
			Zero(zero)
			Load(y, b)
			Keep(dst, Compare(GreaterThan, y, zero), a)
		}},
		{"tanhGrad", 4, func(a Vector, b Memory, dst Vector) {
			y := m.vector()
			Load(y, b)
			SubtractScaled(y, y, one())
			Multiply(dst, a, y)
		}},
		{"sigmoidGrad", 4, func(a Vector, b Memory, dst Vector) {
			y, t := m.vector(), m.vector()
			Load(y, b)
			Load(t, one())
			Subtract(t, t, y)
			Multiply(t, t, y)
			Multiply(dst, a, t)
		}},
		{"pow", 1, functions(m.pow)},
		{"rem", 1, functions(m.rem)},
		{"atan2", 1, functions(m.atan2)},
	}
	for _, k := range kernels {
		m.begin("binary", k.name, "dst, a, b *float32, n uintptr", "")
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		m.loop(k.unroll, n, []Scalar{dst, a, b}, func(offsets []int) {
			for _, o := range offsets {
				v, r := m.vector(), m.vector()
				Load(v, Memory{Base: a, Offset: o})
				k.f(v, Memory{Base: b, Offset: o}, r)
				Store(Memory{Base: dst, Offset: o}, r)
			}
		})
		End()
	}
	m.begin("", "mulAdd", "dst, a, b, c *float32, n uintptr", "")
	dst, a, b, c, n := param("dst"), param("a"), param("b"), param("c"), param("n")
	m.loop(4, n, []Scalar{dst, a, b, c}, func(offsets []int) {
		for _, o := range offsets {
			v, w := m.vector(), m.vector()
			Load(v, Memory{Base: a, Offset: o})
			Load(w, Memory{Base: b, Offset: o})
			MultiplyAdd(v, w, Memory{Base: c, Offset: o})
			Store(Memory{Base: dst, Offset: o}, v)
		}
	})
	End()
}

// unaryKernel is dst = f(x). If it is a function, it takes more than an instruction or two, and package jit can inline
// it into loops.
type unaryKernel struct {
	name     string
	unroll   int
	f        func(x vectors) vectors // may destroy x
	function bool
	prepare  func() func(x vectors) vectors // instead of f: returns f, after emitting what precedes the loop
}

// prepared returns f, after emitting what precedes the loop.
func (k *unaryKernel) prepared() func(x vectors) vectors {
	if k.prepare != nil {
		return k.prepare()
	}
	return k.f
}

func (m machine) unary() []unaryKernel {
	unroll, looked := 1, 2
	switch {
	case m.wide:
		unroll, looked = 2, 4
	case m.avx2():
		looked = 1
	}
	return []unaryKernel{
		{name: "neg", unroll: 4, f: func(x vectors) vectors { x.each(func(i int) { Xor(x[i], x[i], signBit()) }); return x }},
		{name: "abs", unroll: 4, f: func(x vectors) vectors { x.each(func(i int) { And(x[i], x[i], magnitude()) }); return x }},
		{name: "relu", unroll: 4, f: func(x vectors) vectors {
			zero := m.vector()
			Zero(zero)
			x.each(func(i int) { Max(x[i], zero, x[i]) }) // for NaN, Max returns its last source, x
			return x
		}},
		{name: "sqrt", unroll: 4, f: func(x vectors) vectors { x.each(func(i int) { Sqrt(x[i], x[i]) }); return x }},
		{name: "rsqrt", unroll: 4, prepare: func() func(x vectors) vectors {
			return m.inverseRoot(rootNumbers{one(), number(1 - 0x1p-24), pattern(1), 2})
		}, function: true},
		{name: "exp", unroll: 4, f: m.exp, function: true},
		{name: "log", unroll: 2, f: m.log, function: true},
		{name: "tanh", unroll: looked, prepare: m.tanh, function: true},
		{name: "sigmoid", unroll: min(looked, 2), prepare: m.sigmoid, function: true},
		{name: "erf", unroll: 2 * unroll, prepare: m.erfByTable, function: true},
		{name: "floor", unroll: 4, f: m.single(func(x vector) vector { return m.round(Downwards, x) })},
		{name: "ceil", unroll: 4, f: m.single(func(x vector) vector { return m.round(Upwards, x) })},
		{name: "round", unroll: 4, f: m.single(func(x vector) vector { return m.round(Nearest, x) })},
		{name: "sign", unroll: 2, f: m.single(m.signOf)},
		{name: "expm1", unroll: unroll, f: m.single(m.expm1), function: true},
		{name: "log1p", unroll: unroll, f: m.single(m.log1p), function: true},
		{name: "sin", unroll: unroll, f: m.single(m.sin)}, // these three are valid only for a range of numbers
		{name: "cos", unroll: unroll, f: m.single(m.cos)},
		{name: "tan", unroll: unroll, f: m.single(m.tan)},
		{name: "asin", unroll: unroll, f: m.single(m.asin), function: true},
		{name: "acos", unroll: unroll, f: m.single(m.acos), function: true},
		{name: "atan", unroll: unroll, f: m.single(m.atan), function: true},
		{name: "sinh", unroll: unroll, f: m.single(m.sinh), function: true},
		{name: "cosh", unroll: unroll, f: m.single(m.cosh), function: true},
		{name: "asinh", unroll: unroll, f: m.single(m.asinh), function: true},
		{name: "acosh", unroll: unroll, f: m.single(m.acosh), function: true},
		{name: "atanh", unroll: unroll, f: m.single(m.atanh), function: true},
		{name: "erfInv", unroll: 1, f: m.single(m.erfInv), function: true},
		{name: "erfc", unroll: unroll, prepare: m.erfcByTable},
		{name: "exp2", unroll: 4, f: m.exp2, function: true},
	}
}

// unaryKernels emits dst = f(x).
func (m machine) unaryKernels() {
	for _, k := range m.unary() {
		m.begin("unary", k.name, "dst, x *float32, n uintptr", "")
		dst, x, n := param("dst"), param("x"), param("n")
		f := k.prepared()
		m.loop(k.unroll, n, []Scalar{dst, x}, func(offsets []int) {
			v := m.vectors(len(offsets))
			for i, o := range offsets {
				Load(v[i], Memory{Base: x, Offset: o})
			}
			v = f(v)
			for i, o := range offsets {
				Store(Memory{Base: dst, Offset: o}, v[i])
			}
		})
		End()
	}
}

// scalarKernels emits dst = f(x, a, b) with numbers a and b.
func (m machine) scalarKernels() {
	kernels := []struct {
		name string
		f    func(x Memory, a, b, dst Vector)
	}{
		{"affine", func(x Memory, a, b, dst Vector) { Copy(dst, b); AddProduct(dst, a, x) }},
		{"scale", func(x Memory, a, _, dst Vector) { Multiply(dst, a, x) }},
		{"addScalar", func(x Memory, a, _, dst Vector) { Add(dst, a, x) }},
		// The instructions return x if it is NaN or equals the number.
		{"maxScalar", func(x Memory, a, _, dst Vector) { Max(dst, a, x) }},
		{"minScalar", func(x Memory, a, _, dst Vector) { Min(dst, a, x) }},
		{"axpy", nil},
	}
	for _, k := range kernels {
		m.begin("scalar", k.name, "dst, x *float32, n uintptr, scalars unsafe.Pointer", "")
		dst, x, n, scalars := param("dst"), param("x"), param("n"), param("scalars")
		a, b := m.broadcast(scalars, 0), m.broadcast(scalars, 1)
		m.loop(4, n, []Scalar{dst, x}, func(offsets []int) {
			for _, o := range offsets {
				r := m.vector()
				if k.f == nil {
					Load(r, Memory{Base: dst, Offset: o})
					AddProduct(r, a, Memory{Base: x, Offset: o})
				} else {
					k.f(Memory{Base: x, Offset: o}, a, b, r)
				}
				Store(Memory{Base: dst, Offset: o}, r)
			}
		})
		End()
	}
}
