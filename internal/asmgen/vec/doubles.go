package main

import (
	"fmt"
	"math"
	"regexp"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// double is the memory of a float64 constant repeated over a vector.
func double(v float64) Memory { return doublePattern(math.Float64bits(v)) }

func doublePattern(bits uint64) Memory { return Constant64(fmt.Sprintf("d%016x", bits), bits) }

// notOfDoubles matches the chain steps that do not exist for float64: those on integers and on 16-bit floats.
var notOfDoubles = regexp.MustCompile(`F16|Int($|[^o])|^(And|Or|Xor)$`)

func (s chainStep) forDoubles() bool { return !notOfDoubles.MatchString(s.name) }

func (c *chainBody) signBit() Memory {
	if c.size == 8 {
		return doublePattern(1 << 63)
	}
	return signBit()
}

func (c *chainBody) magnitude() Memory {
	if c.size == 8 {
		return doublePattern(1<<63 - 1)
	}
	return magnitude()
}

func (c *chainBody) constant(v float64) Memory {
	if c.size == 8 {
		return double(v)
	}
	return number(v)
}

func (c *chainBody) signOf(v vector) vector {
	if c.size == 4 {
		return c.m.signOf(v)
	}
	zero := c.m.zeros(1)[0]
	positive, negative := Compare(GreaterThan, v, zero), Compare(LessThan, v, zero)
	y := c.m.copy(v)
	Blend(y, positive, c.m.copy(double(1)))
	Blend(y, negative, c.m.copy(double(-1)))
	return y
}

// doubles emits reductions of float64.
func (m machine) doubles() {
	m.begin("", "addLanes64", "sums, x unsafe.Pointer, n uintptr", "")
	Doc("sums[i] += the elements i, i + 8, ... of x, for eight of them")
	Float64()
	sums, x, n := param("sums"), param("x"), param("n")
	s := m.vectors(AVX512.Bytes / m.bytes())
	s.each(func(i int) { Load(s[i], Memory{Base: sums, Offset: i * m.bytes()}) })
	Label("next")
	s.each(func(i int) { Add(s[i], s[i], Memory{Base: x, Offset: i * m.bytes()}) })
	Increase(x, Number(AVX512.Bytes))
	Countdown(n, 8, "next")
	s.each(func(i int) { Store(Memory{Base: sums, Offset: i * m.bytes()}, s[i]) })
	End()

	m.begin("", "addProducts64", "sums, x, y unsafe.Pointer, n uintptr", "")
	Doc("sums[i] += the products of the elements i, i + 8, ... of x and y, for eight of them; products are rounded")
	Float64()
	sums, x, n = param("sums"), param("x"), param("n")
	y := param("y")
	s = m.vectors(AVX512.Bytes / m.bytes())
	s.each(func(i int) { Load(s[i], Memory{Base: sums, Offset: i * m.bytes()}) })
	Label("next")
	s.each(func(i int) {
		v := m.vector()
		Load(v, Memory{Base: x, Offset: i * m.bytes()})
		Multiply(v, v, Memory{Base: y, Offset: i * m.bytes()})
		Add(s[i], s[i], v)
	})
	Increase(x, Number(AVX512.Bytes))
	Increase(y, Number(AVX512.Bytes))
	Countdown(n, 8, "next")
	s.each(func(i int) { Store(Memory{Base: sums, Offset: i * m.bytes()}, s[i]) })
	End()

	m.extremeDoubles("largest64", math.Inf(-1), Max)
	m.extremeDoubles("smallest64", math.Inf(1), Min)
}

// extremeDoubles emits the largest or smallest of the elements, whose number is a multiple of 8; NaN if there is one.
func (m machine) extremeDoubles(name string, start float64, f operation) {
	m.begin("", name, "x unsafe.Pointer, n uintptr", "float64")
	Float64()
	x, n := param("x"), param("n")
	most, bad := m.vectors(2), m.vectors(2) // lanes of bad become NaN once an element is NaN
	for i := range most {
		Load(most[i], double(start))
		Zero(bad[i])
	}
	Label("next")
	for at := 0; at < AVX512.Bytes; at += m.bytes() {
		i, v := at/m.bytes(), m.vector()
		Load(v, Memory{Base: x, Offset: at})
		Blend(bad[i], Compare(Unordered, v, v), v)
		f(most[i], v, most[i]) // skips NaN
	}
	Increase(x, Number(AVX512.Bytes))
	Countdown(n, 8, "next")
	f(most[0], most[0], most[1])
	Add(bad[0], bad[0], bad[1])
	result := m.foldDoubles(most[0], f)
	AddFirst(result, result, m.foldDoubles(bad[0], Add))
	Return(result)
	End()
}

// foldDoubles is fold for float64.
func (m machine) foldDoubles(v Vector, f operation) Vector {
	x, _ := m.foldPairs(v, f)
	return x
}
