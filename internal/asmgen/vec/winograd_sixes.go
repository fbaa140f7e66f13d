package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// F(4x4, 3x3) evaluates polynomials at 0, infinity and plus and minus these points.
const (
	nearPoint = 0.625
	farPoint  = 1.5
)

func nearSquare() Memory { return Constant("winogradNearSquare", float(nearPoint*nearPoint)) }
func farSquare() Memory  { return Constant("winogradFarSquare", float(farPoint*farPoint)) }
func squares() Memory {
	return Constant("winogradSquares", float(nearPoint*nearPoint+farPoint*farPoint))
}
func squaresTimes() Memory {
	return Constant("winogradSquaresTimes", float(nearPoint*nearPoint*farPoint*farPoint))
}
func nearNumber() Memory { return Constant("winogradNear", float(nearPoint)) }
func farNumber() Memory  { return Constant("winogradFar", float(farPoint)) }
func nearCube() Memory   { return Constant("winogradNearCube", float(nearPoint*nearPoint*nearPoint)) }
func farCube() Memory    { return Constant("winogradFarCube", float(farPoint*farPoint*farPoint)) }

// sixths are the addresses base + j·step of six or fewer vectors.
func sixths(base, step, three, five Scalar) (at [6]Memory) {
	m := Memory{Base: base}
	return [6]Memory{m, m.Indexed(step, 1), m.Indexed(step, 2), m.Indexed(three, 1), m.Indexed(step, 4), m.Indexed(five, 1)}
}

// multiples returns three and five times a number.
func multiples(n Scalar) (three, five Scalar) {
	three, five = NewScalar(), NewScalar()
	Assign(three, n)
	Increase(three, n)
	Increase(three, n)
	Assign(five, three)
	Increase(five, n)
	Increase(five, n)
	return three, five
}

// winogradSixes emits one dimension of the input transformation of F(4x4, 3x3): count times, for channels of size
// bytes, six numbers that are xLine bytes apart become six that are plane bytes apart. The steps are the distances from
// the end of the channels to the next ones.
func (m machine) winogradSixes() {
	m.begin("", "winogradSixes", "dst, x *float32, count, size, step, plane, xStep, xLine uintptr", "")
	dst, x := param("dst"), param("x")
	count, size, step, plane, xStep, line := param("count"), param("size"), param("step"), param("plane"), param("xStep"), param("xLine")
	lines3, lines5 := multiples(line)
	planes3, planes5 := multiples(plane)
	Label("tile")
	left := NewScalar()
	Assign(left, size)
	Label("channel")
	from, to := sixths(x, line, lines3, lines5), sixths(dst, plane, planes3, planes5)
	load := func(j int) Vector {
		v := m.vector()
		Load(v, from[j])
		return v
	}
	copied := func(of Vector) Vector {
		v := m.vector()
		Copy(v, of)
		return v
	}
	// ends stores a·(p²q²) − b·(p² + q²) + c.
	ends := func(to Memory, a, b, c Vector) {
		v := copied(c)
		SubtractProduct(v, b, squares())
		AddProduct(v, a, squaresTimes())
		Store(to, v)
	}
	d := [6]Vector{1: load(1), 2: load(2), 3: load(3), 4: load(4)}
	ends(to[0], load(0), d[2], d[4])
	ends(to[5], d[1], d[3], load(5))
	for i, point := range [2]struct{ point, other Memory }{{nearNumber(), farSquare()}, {farNumber(), nearSquare()}} {
		even, odd := copied(d[4]), copied(d[3])
		SubtractProduct(even, d[2], point.other)
		SubtractProduct(odd, d[1], point.other)
		low := copied(even)
		AddProduct(even, odd, point.point)
		SubtractProduct(low, odd, point.point)
		Store(to[1+2*i], even)
		Store(to[2+2*i], low)
	}
	m.nextSixth(left, size, step, xStep, count, dst, x)
}

// nextSixth ends the loops over channels and tiles.
func (m machine) nextSixth(left, size, step, xStep, count, dst, x Scalar, more ...Scalar) {
	for _, p := range append([]Scalar{dst, x}, more...) {
		Increase(p, Number(m.bytes()))
	}
	Countdown(left, m.bytes(), "channel")
	Increase(dst, step)
	Increase(x, xStep)
	for _, p := range more {
		Decrease(p, size)
	}
	Countdown(count, 1, "tile")
	End()
}

// winogradFours emits one dimension of the inverse transformation: six numbers become four, optionally with a bias
// added and relu applied.
func (m machine) winogradFours(name string, bias, relu bool) {
	parameters := "dst, x *float32, count, size, step, plane, xStep, xLine uintptr"
	if bias {
		parameters = "dst, x, bias *float32, count, size, step, plane, xStep, xLine uintptr"
	}
	m.begin("", name, parameters, "")
	dst, x := param("dst"), param("x")
	var more []Scalar
	if bias {
		more = append(more, param("bias"))
	}
	count, size, step, plane, xStep, line := param("count"), param("size"), param("step"), param("plane"), param("xStep"), param("xLine")
	lines3, lines5 := multiples(line)
	planes3 := NewScalar()
	Assign(planes3, plane)
	Increase(planes3, plane)
	Increase(planes3, plane)
	Label("tile")
	left := NewScalar()
	Assign(left, size)
	Label("channel")
	from, to := sixths(x, line, lines3, lines5), sixths(dst, plane, planes3, planes3)
	// Sums and differences of the values at a point and at its negative.
	var sum, difference [2]Vector
	for i := range sum {
		a, b := m.vector(), m.vector()
		Load(a, from[1+2*i])
		Load(b, from[2+2*i])
		sum[i], difference[i] = m.vector(), m.vector()
		Add(sum[i], a, b)
		Subtract(difference[i], a, b)
	}
	finish := func(j int, v Vector) {
		if bias {
			b := m.vector()
			Load(b, Memory{Base: more[0]})
			Add(v, v, b)
		}
		if relu {
			zero := m.vector()
			Zero(zero)
			Max(zero, zero, v)
			v = zero
		}
		Store(to[j], v)
	}
	v := m.vector()
	Load(v, from[0])
	Add(v, v, sum[0])
	Add(v, v, sum[1])
	finish(0, v)
	products := func(of [2]Vector, near, far Memory) Vector {
		v := m.vector()
		Multiply(v, of[0], near)
		AddProduct(v, of[1], far)
		return v
	}
	finish(1, products(difference, nearNumber(), farNumber()))
	finish(2, products(sum, nearSquare(), farSquare()))
	v = products(difference, nearCube(), farCube())
	Add(v, v, from[5])
	finish(3, v)
	m.nextSixth(left, size, step, xStep, count, dst, x, more...)
}
