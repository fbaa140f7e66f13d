package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// bytesRow adds the products of a row of floats and a block of a panel of bytes to y: 64 columns, half of them at a
// time. The bytes become floats on the way, excess plus the zero point of their column less.
func bytesRow() {
	const vectors, bytes = 4, 32 // half of the columns
	Begin(AVX2, "bytesRow", "y, x, w, scale, zero, excess, groups uintptr", "")
	Doc("bytesRowAVX2 adds a row of floats times a block of a panel of bytes to y.")
	y, scale, zero := Parameter("y"), Parameter("scale"), Parameter("zero")
	x, w, left, halves := NewScalar(), Parameter("w"), NewScalar(), NewScalar()
	from := NewScalar()
	word, number, low := NewVector(bytes), NewVector(bytes), NewVector(bytes)
	var sums, numbers, zeros [vectors]Vector
	for i := range sums {
		sums[i], numbers[i], zeros[i] = NewVector(bytes), NewVector(bytes), NewVector(bytes)
	}
	Load(low, Constant("lowByte", 0xff))
	Assign(halves, Number(2))
	Label("half")
	Reload(left, "excess")
	Broadcast(number, Memory{Base: left})
	for v := range sums {
		WidenSignedBytes(zeros[v], Memory{Base: zero, Offset: bytes / 4 * v})
		AddInt(zeros[v], zeros[v], number)
		Zero(sums[v])
	}
	Reload(x, "x")
	Reload(left, "groups")
	Assign(from, w)
	Label("loop")
	for k := range numbers {
		Broadcast(numbers[k], Memory{Base: x, Offset: 4 * k})
	}
	for v := range sums {
		LoadInt(word, Memory{Base: from, Offset: bytes * v})
		for k := range numbers {
			switch k {
			case 0:
				AndInt(number, word, low)
			case 3:
				ShiftRight(number, word, 24)
			default:
				ShiftRight(number, word, 8*k)
				AndInt(number, number, low)
			}
			SubtractInt(number, number, zeros[v])
			ToFloat(number, number)
			AddProduct(sums[v], numbers[k], number)
		}
	}
	Increase(x, Number(16))
	Increase(from, Number(256))
	Countdown(left, 1, "loop")
	for v := range sums {
		Load(number, Memory{Base: scale, Offset: bytes * v})
		Multiply(sums[v], sums[v], number)
		Add(sums[v], sums[v], Memory{Base: y, Offset: bytes * v})
		Store(Memory{Base: y, Offset: bytes * v}, sums[v])
	}
	Increase(w, Number(vectors*bytes))
	Increase(y, Number(vectors*bytes))
	Increase(scale, Number(vectors*bytes))
	Increase(zero, Number(vectors*bytes/4))
	Countdown(halves, 1, "half")
	End()
}
