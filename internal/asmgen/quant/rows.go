package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// codeRows quantizes rows of floats: of each row it looks for the largest magnitude, stores the scale
// limits[0] / (largest + limits[1]), and writes the numbers times the scale, rounded, as bytes from limits[2] to
// limits[3]. whole counts the numbers of a row that fill vectors. If tail is not 0, one more vector begins so many
// bytes after the row, and last bytes after that of the result; it may overlap the one before. Rows of x are stride
// bytes apart, those of the result width.
func codeRows(m Machine) {
	Begin(m, "codeRows", "to, scales, x, limits, rows, whole, stride, width, tail, last uintptr", "")
	Doc("codeRows" + m.Name + " quantizes rows, each with a scale of its own.")
	to, scales, x, limits, rows, tail := Parameter("to"), Parameter("scales"), Parameter("x"), Parameter("limits"), Parameter("rows"), Parameter("tail")
	from, at, left := NewScalar(), NewScalar(), NewScalar()
	v, factor, bits, low, high := NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes)
	top := NewVector(m.Bytes)
	Load(bits, Constant("allButSign", 0x7fffffff))
	Broadcast(low, Memory{Base: limits, Offset: 8})
	Broadcast(high, Memory{Base: limits, Offset: 12})
	lanes := m.Bytes / 4

	Label("row")
	Zero(top)
	Assign(from, x)
	Reload(left, "whole")
	larger := func() {
		LoadInt(v, Memory{Base: from})
		AndInt(v, v, bits)
		MaxInt(top, top, v)
	}
	Label("largest")
	larger()
	Increase(from, Number(m.Bytes))
	Countdown(left, lanes, "largest")
	JumpZero(tail, "found")
	Assign(from, x)
	Increase(from, tail)
	larger()
	Label("found")
	scaleOf(m, top, scales, limits)
	Broadcast(factor, Memory{Base: scales})
	Increase(scales, Number(4))

	Assign(from, x)
	Assign(at, to)
	Reload(left, "whole")
	code := func() {
		Load(v, Memory{Base: from})
		Multiply(v, v, factor)
		ToInt(v, v)
		MaxInt(v, v, low)
		MinInt(v, v, high)
		if m.Bytes < 64 { // whose instructions take larger numbers for too large ones
			AndInt(v, v, Constant("lowByte", 0xff))
		}
		StoreLowBytes(Memory{Base: at}, v)
	}
	Label("code")
	code()
	Increase(from, Number(m.Bytes))
	Increase(at, Number(lanes))
	Countdown(left, lanes, "code")
	JumpZero(tail, "coded")
	Assign(from, x)
	Increase(from, tail)
	Assign(at, to)
	Reload(left, "last")
	Increase(at, left)
	code()
	Label("coded")
	Reload(left, "stride")
	Increase(x, left)
	Reload(left, "width")
	Increase(to, left)
	Countdown(rows, 1, "row")
	End()
}

// scaleOf stores the scale of a row whose largest magnitude is that of the lanes of top.
func scaleOf(m Machine, top Vector, to, limits Scalar) {
	low := top
	if m.Bytes == 64 {
		low = NewVector(32)
		half := NewVector(32)
		Extract(half, top, 1)
		Extract(low, top, 0)
		MaxInt(low, low, half)
	}
	a, b := joinLanes(low, MaxInt)
	Broadcast(b, Memory{Base: limits, Offset: 4})
	Add(a, a, b)
	Broadcast(b, Memory{Base: limits})
	Divide(b, b, a)
	StoreFirst(Memory{Base: to}, b)
}

// joinLanes joins the eight integers of a vector of 32 bytes: each of the four of a is the result. b is free.
func joinLanes(low Vector, join func(to, x Vector, y Operand)) (a, b Vector) {
	a, b = NewVector(16), NewVector(16)
	Extract(b, low, 1)
	Extract(a, low, 0)
	join(a, a, b)
	Permute(b, a, SwapPairs)
	join(a, a, b)
	Permute(b, a, SwapWithin)
	join(a, a, b)
	return a, b
}

// sumRows stores -128 times the sum of each row of bytes. A row has steps of 64 bytes, and a rest of words that are in
// the mask. Rows are stride bytes apart.
func sumRows() {
	Begin(Machine{Name: "VNNI", Bytes: 64}, "sumRows", "sums, x, rows, steps, rest, mask, stride uintptr", "")
	Doc("sumRowsVNNI stores -128 times the sums of rows of bytes.")
	sums, x, rows, rest, stride := Parameter("sums"), Parameter("x"), Parameter("rows"), Parameter("rest"), Parameter("stride")
	from, left := NewScalar(), NewScalar()
	Reload(left, "mask")
	mask := MaskBits(left)
	ones, v, total := NewVector(64), NewVector(64), NewVector(64)
	Load(ones, Constant("fourTimes", 0x01010101))
	Label("row")
	Zero(total)
	Assign(from, x)
	Reload(left, "steps")
	JumpZero(left, "summed")
	Label("loop")
	LoadInt(v, Memory{Base: from})
	AddDots(total, ones, v)
	Increase(from, Number(64))
	Countdown(left, 1, "loop")
	Label("summed")
	JumpZero(rest, "joined")
	LoadWhere(v, mask, Memory{Base: from})
	AddDots(total, ones, v)
	Label("joined")
	low, half := NewVector(32), NewVector(32)
	Extract(half, total, 1)
	Extract(low, total, 0)
	AddInt(low, low, half)
	a, b := joinLanes(low, AddInt)
	ShiftLeft(a, a, 7)
	Zero(b)
	SubtractInt(b, b, a)
	StoreFirst(Memory{Base: sums}, b)
	Increase(sums, Number(4))
	Increase(x, stride)
	Countdown(rows, 1, "row")
	End()
}

// narrowVNNI is vnni for six rows and the first columns of a panel: so many vectors.
func narrowVNNI(vectors int) {
	vnniColumns(6, vectors, fmt.Sprintf("rows6x%d", 16*vectors))
}
