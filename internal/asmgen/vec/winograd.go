package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// winograd emits the transformations of F(2x2, 3x3) for a row of tiles. size is the bytes of a pixel's channels, a
// multiple of the vector length, plane the distance in bytes between the sixteen matrices, step that between rows of a
// matrix.
func (m machine) winograd() {
	m.winogradInput()
	m.winogradGradient()
	m.winogradOutput("winogradOutput", false)
	m.winogradOutput("winogradOutputRelu", true)
	m.winogradSixes()
	m.winogradFours("winogradFours", false, false)
	m.winogradFours("winogradFoursBias", true, false)
	m.winogradFours("winogradFoursRelu", true, true)
}

// winogradInput reads tiles of 4x4 pixels, two pixels apart, from four rows that are line bytes apart.
func (m machine) winogradInput() {
	m.begin("", "winogradInput", "dst, x *float32, count, size, step, plane, line uintptr", "")
	dst, x := param("dst"), param("x")
	count, size, step, plane, line := param("count"), param("size"), param("step"), param("plane"), param("line")
	var rows [4]Scalar
	rows[0] = x
	for i := 1; i < 4; i++ {
		rows[i] = NewScalar()
		Assign(rows[i], rows[i-1])
		Increase(rows[i], line)
	}
	three := NewScalar()
	Assign(three, size)
	Increase(three, size)
	Increase(three, size)
	Label("tile")
	left := NewScalar()
	Assign(left, size)
	Label("channel")
	to := NewScalar()
	Assign(to, dst)
	pixel := func(row, column int) Memory {
		at := Memory{Base: rows[row]}
		switch column {
		case 1:
			return at.Indexed(size, 1)
		case 2:
			return at.Indexed(size, 2)
		case 3:
			return at.Indexed(three, 1)
		}
		return at
	}
	// Both steps are (a - c, b + c, c - b, b - d), first down the columns.
	pairs := [4][2]int{{0, 2}, {1, 2}, {2, 1}, {1, 3}}
	combine := func(i int, to, a Vector, b Operand) {
		if i == 1 {
			Add(to, a, b)
		} else {
			Subtract(to, a, b)
		}
	}
	for i, from := range pairs {
		var z [4]Vector
		for column := range z {
			z[column] = m.vector()
			Load(z[column], pixel(from[0], column))
			combine(i, z[column], z[column], pixel(from[1], column))
		}
		for j, from := range pairs {
			v := m.vector()
			combine(j, v, z[from[0]], z[from[1]])
			Store(Memory{Base: to}, v)
			if i < 3 || j < 3 {
				Increase(to, plane)
			}
		}
	}
	for _, p := range append(rows[:], dst) {
		Increase(p, Number(m.bytes()))
	}
	Countdown(left, m.bytes(), "channel")
	for _, p := range rows {
		Increase(p, size)
	}
	Increase(dst, step)
	Decrease(dst, size)
	Countdown(count, 1, "tile")
	End()
}

// winogradGradient reads tiles of 2x2 pixels that are pixel bytes apart, from two rows that are line bytes apart.
func (m machine) winogradGradient() {
	m.begin("", "winogradGradient", "dst, x *float32, count, size, step, plane, line, pixel uintptr", "")
	dst, x := param("dst"), param("x")
	count, size, step, plane, line, pixel := param("count"), param("size"), param("step"), param("plane"), param("line"), param("pixel")
	below := NewScalar()
	Assign(below, x)
	Increase(below, line)
	// Both steps are (a, (a + b) / 2, (a - b) / 2, b), first down the columns.
	half := Constant("winogradHalf", float(0.5))
	four := func(a, b Vector) [4]Vector {
		scaledA, scaledB, sum, difference := m.vector(), m.vector(), m.vector(), m.vector()
		Multiply(scaledA, a, half)
		Multiply(scaledB, b, half)
		Add(sum, scaledA, scaledB)
		Subtract(difference, scaledA, scaledB)
		return [4]Vector{a, sum, difference, b}
	}
	Label("tile")
	left := NewScalar()
	Assign(left, size)
	Label("channel")
	to := NewScalar()
	Assign(to, dst)
	var z [2][4]Vector
	for column := range z {
		var rows [2]Vector
		for row, p := range [2]Scalar{x, below} {
			at := Memory{Base: p}
			if column == 1 {
				at = at.Indexed(pixel, 1)
			}
			rows[row] = m.vector()
			Load(rows[row], at)
		}
		z[column] = four(rows[0], rows[1])
	}
	for i := range 4 {
		for j, v := range four(z[0][i], z[1][i]) {
			Store(Memory{Base: to}, v)
			if i < 3 || j < 3 {
				Increase(to, plane)
			}
		}
	}
	for _, p := range []Scalar{x, below, dst} {
		Increase(p, Number(m.bytes()))
	}
	Countdown(left, m.bytes(), "channel")
	for _, p := range []Scalar{x, below} {
		Increase(p, pixel)
		Increase(p, pixel)
		Decrease(p, size)
	}
	Increase(dst, step)
	Decrease(dst, size)
	Countdown(count, 1, "tile")
	End()
}

// winogradOutput writes tiles of 2x2 pixels into two rows that are line bytes apart, with the bias added.
func (m machine) winogradOutput(name string, relu bool) {
	m.begin("", name, "dst, x, bias *float32, count, size, step, plane, line uintptr", "")
	dst, x, bias := param("dst"), param("x"), param("bias")
	count, size, step, plane, line := param("count"), param("size"), param("step"), param("plane"), param("line")
	below := NewScalar()
	Assign(below, dst)
	Increase(below, line)
	Label("tile")
	left := NewScalar()
	Assign(left, size)
	Label("channel")
	from := NewScalar()
	Assign(from, x)
	var y [2][2]Vector // by row and column of the tile
	for i := range 4 {
		var p [4]Vector
		for j := range p {
			p[j] = m.vector()
			Load(p[j], Memory{Base: from})
			if i < 3 || j < 3 {
				Increase(from, plane)
			}
		}
		// (a + b + c, b - c - d) along the row, then down the columns.
		first, second := m.vector(), m.vector()
		Add(first, p[0], p[1])
		Add(first, first, p[2])
		Subtract(second, p[1], p[2])
		Subtract(second, second, p[3])
		for column, v := range [2]Vector{first, second} {
			switch i {
			case 0:
				y[0][column] = m.vector()
				Copy(y[0][column], v)
			case 1:
				y[1][column] = m.vector()
				Add(y[0][column], y[0][column], v)
				Copy(y[1][column], v)
			case 2:
				Add(y[0][column], y[0][column], v)
				Subtract(y[1][column], y[1][column], v)
			case 3:
				Subtract(y[1][column], y[1][column], v)
			}
		}
	}
	b := m.vector()
	Load(b, Memory{Base: bias})
	for row, p := range [2]Scalar{dst, below} {
		for column, v := range y[row] {
			Add(v, v, b)
			if relu {
				zero := m.vector()
				Zero(zero)
				Max(zero, zero, v)
				v = zero
			}
			at := Memory{Base: p}
			if column == 1 {
				at = at.Indexed(size, 1)
			}
			Store(at, v)
		}
	}
	for _, p := range []Scalar{dst, below, x, bias} {
		Increase(p, Number(m.bytes()))
	}
	Countdown(left, m.bytes(), "channel")
	Increase(dst, size)
	Increase(below, size)
	Increase(x, step)
	Decrease(x, size)
	Decrease(bias, size)
	Countdown(count, 1, "tile")
	End()
}
