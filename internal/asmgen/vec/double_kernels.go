package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// doubleKernels emits functions of float64: dst = f(x), dst = f(a, b).
func (m machine) doubleKernels() {
	p := precise{m}
	for _, k := range []struct {
		name string
		f    func(x vector) vector
	}{
		{"exp", p.exp}, {"log", p.log}, {"tanh", p.tanh}, {"sigmoid", p.sigmoid}, {"erf", p.erf}, {"gelu", p.gelu}, {"expm1", p.expm1},
		{"log1p", p.log1p}, {"sin", p.sin}, {"cos", p.cos}, {"tan", p.tan}, {"asin", p.asin}, {"acos", p.acos}, {"atan", p.atan},
		{"sinh", p.sinh}, {"cosh", p.cosh}, {"asinh", p.asinh}, {"acosh", p.acosh}, {"atanh", p.atanh}, {"erfInv", p.erfInv}, {"erfc", p.erfc}, {"exp2", p.exp2},
		{"logGamma", p.logGamma},
	} {
		m.begin("unary64", k.name+"64", "dst, x unsafe.Pointer, n uintptr", "")
		Float64()
		dst, x, n := param("dst"), param("x"), param("n")
		m.doubleLoop(n, []Scalar{dst, x}, func() {
			Store(Memory{Base: dst}, k.f(p.copy(Memory{Base: x})))
		})
	}
	m.inverseRoots64()
	for _, k := range []struct {
		name string
		f    func(a, b vector) vector
	}{{"geluGrad", p.geluGrad}, {"pow", p.pow}, {"rem", p.rem}, {"atan2", p.atan2}} {
		m.begin("binary64", k.name+"64", "dst, a, b unsafe.Pointer, n uintptr", "")
		Float64()
		dst, a, b, n := param("dst"), param("a"), param("b"), param("n")
		m.doubleLoop(n, []Scalar{dst, a, b}, func() {
			Store(Memory{Base: dst}, k.f(p.copy(Memory{Base: a}), p.copy(Memory{Base: b})))
		})
	}
}

// doubleLoop emits a loop over n > 0 elements of float64, a multiple of the vector length, and the function's end.
func (m machine) doubleLoop(n Scalar, pointers []Scalar, body func()) {
	Label("next")
	body()
	for _, p := range pointers {
		Increase(p, Number(m.bytes()))
	}
	Countdown(n, m.bytes()/8, "next")
	End()
}

// expAffineDoubles: dst = c·exp(a·x + b), with products rounded. For eight values of i, sums[i] increases by the
// elements i, i + 8, ... of dst.
func (m machine) expAffineDoubles() {
	m.double = true
	m.begin("", "expAffine", "sums, dst, x unsafe.Pointer, n uintptr, scalars unsafe.Pointer", "")
	p := precise{m}
	sums, dst, x, n, scalars := param("sums"), param("dst"), param("x"), param("n"), param("scalars")
	a, b, c := m.broadcast(scalars, 0), m.broadcast(scalars, 1), m.broadcast(scalars, 2)
	s := m.columns(sums, eight/m.bytes())
	Label("next")
	s.each(func(i int) {
		v := p.exp(p.add(p.mul(a, m.place(x, i)), b))
		Multiply(v, v, c)
		Store(m.place(dst, i), v)
		Add(s[i], s[i], v)
	})
	Increase(dst, Number(eight))
	Increase(x, Number(eight))
	Countdown(n, 8, "next")
	m.store(s, sums)
	End()
}
