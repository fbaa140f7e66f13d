package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// fold reduces the lanes of v to one number with a commutative operation and returns it.
func (m machine) fold(v Vector, f operation) Vector {
	x, y := m.foldPairs(v, f)
	Permute(y, x, SwapWithin)
	f(x, x, y)
	return x
}

// foldPairs reduces v to its first pair of lanes, like fold, and returns a free register too.
func (m machine) foldPairs(v Vector, f operation) (x, free Vector) {
	low := NewVector(32)
	if m.wide {
		top := NewVector(32)
		Extract(top, v, 1)
		Extract(low, v, 0)
		f(low, low, top)
	} else {
		Copy(low, v)
	}
	x, free = NewVector(16), NewVector(16)
	Extract(free, low, 1)
	Extract(x, low, 0)
	f(x, x, free)
	Permute(free, x, SwapPairs)
	f(x, x, free)
	return x, free
}

func (m machine) reductions() {
	sums := func() vectors {
		s := m.vectors(4)
		s.each(func(i int) { Zero(s[i]) })
		return s
	}
	total := func(s vectors) {
		Add(s[0], s[0], s[2])
		Add(s[1], s[1], s[3])
		Add(s[0], s[0], s[1])
		Return(m.fold(s[0], Add))
	}

	m.begin("", "sum", "x *float32, n uintptr", "float32")
	x, n := param("x"), param("n")
	s := sums()
	m.loop(4, n, []Scalar{x}, func(offsets []int) {
		for i, o := range offsets {
			Add(s[i], s[i], Memory{Base: x, Offset: o})
		}
	})
	total(s)
	End()

	m.begin("", "dot", "x, y *float32, n uintptr", "float32")
	x, y, n := param("x"), param("y"), param("n")
	s = sums()
	m.loop(4, n, []Scalar{x, y}, func(offsets []int) {
		for i, o := range offsets {
			v := m.vector()
			Load(v, Memory{Base: x, Offset: o})
			AddProduct(s[i], v, Memory{Base: y, Offset: o})
		}
	})
	total(s)
	End()

	m.extreme("largest", 0xff800000, Max)
	m.extreme("smallest", 0x7f800000, Min)
}

// extreme emits the largest or smallest of the elements and start; NaN if there is one.
func (m machine) extreme(name string, start uint32, f operation) {
	m.begin("", name, "x *float32, n uintptr", "float32")
	x, n := param("x"), param("n")
	most, bad := m.vectors(4), m.vectors(4) // lanes of bad become NaN once an element is NaN
	for i := range most {
		Load(most[i], pattern(start))
		Zero(bad[i])
	}
	m.loop(4, n, []Scalar{x}, func(offsets []int) {
		for i, o := range offsets {
			v := m.vector()
			Load(v, Memory{Base: x, Offset: o})
			Blend(bad[i], Compare(Unordered, v, v), v)
			f(most[i], v, most[i]) // skips NaN
		}
	})
	for i := 1; i < 4; i++ {
		f(most[0], most[0], most[i])
		Add(bad[0], bad[0], bad[i])
	}
	result := m.fold(most[0], f)
	AddFirst(result, result, m.fold(bad[0], Add))
	Return(result)
	End()
}

// expAffine: dst = c·exp(a·x + b), and the sum of dst.
func (m machine) expAffine() {
	m.begin("", "expAffine", "dst, x *float32, n uintptr, scalars unsafe.Pointer", "float32")
	dst, x, n, scalars := param("dst"), param("x"), param("n"), param("scalars")
	a, b, c := m.broadcast(scalars, 0), m.broadcast(scalars, 1), m.broadcast(scalars, 2)
	unroll := 2 // as many as fit into registers
	if m.wide {
		unroll = 4
	}
	s := m.zeros(unroll)
	m.loop(unroll, n, []Scalar{dst, x}, func(offsets []int) {
		v := m.vectors(len(offsets))
		for i, o := range offsets {
			Load(v[i], Memory{Base: x, Offset: o})
			MultiplyAdd(v[i], a, b)
		}
		v = m.exp(v)
		for i, o := range offsets {
			Multiply(v[i], v[i], c)
			Add(s[i], s[i], v[i])
			Store(Memory{Base: dst, Offset: o}, v[i])
		}
	})
	for i := unroll / 2; i > 0; i /= 2 {
		for j := range i {
			Add(s[j], s[j], s[i+j])
		}
	}
	Return(m.fold(s[0], Add))
	End()
}

// affineMul: dst = (a·x + b)·y.
func (m machine) affineMul() {
	m.begin("", "affineMul", "dst, x, y *float32, n uintptr, scalars unsafe.Pointer", "")
	dst, x, y, n, scalars := param("dst"), param("x"), param("y"), param("n"), param("scalars")
	a, b := m.broadcast(scalars, 0), m.broadcast(scalars, 1)
	m.loop(4, n, []Scalar{dst, x, y}, func(offsets []int) {
		for _, o := range offsets {
			v := m.vector()
			Load(v, Memory{Base: x, Offset: o})
			MultiplyAdd(v, a, b)
			Multiply(v, v, Memory{Base: y, Offset: o})
			Store(Memory{Base: dst, Offset: o}, v)
		}
	})
	End()
}
