package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Products of unsigned digits with a block of a 4-bit panel that was unpacked to signed bytes, with zero points
// subtracted: 64 columns in groups of four rows. Many rows share the unpacking, which also computes the excess of the
// sums: 128 times the sums of the weights.

var wide = Machine{Name: "VNNI", Bytes: 64}

// bytesOfNibbles unpacks groups of rows, and sets sums to -128 times the sums of the columns.
func bytesOfNibbles() {
	Begin(wide, "unpackBytes", "dst, w, zero, excess, sums, groups uintptr", "")
	Doc("unpackBytesVNNI unpacks groups of rows to bytes, subtracts the zero points, and sets sums to -128 times the sums of the columns.")
	dst, w, zero, sums, groups := Parameter("dst"), Parameter("w"), Parameter("zero"), Parameter("sums"), Parameter("groups")
	low, excess, byteMask, four, ones := NewVector(64), NewVector(64), NewVector(64), NewVector(64), NewVector(64)
	Load(low, Constant("lowNibbles", lowNibbles))
	BroadcastInt(excess, Memory{Base: Parameter("excess")})
	Load(byteMask, Constant("lowByte", 0xff))
	Load(four, Constant("fourTimes", 0x01010101))
	Copy(ones, four)
	var zeros, totals, numbers [4]Vector
	for v := range zeros {
		zeros[v], totals[v], numbers[v] = NewVector(64), NewVector(64), NewVector(64)
		WidenSignedBytes(zeros[v], Memory{Base: zero, Offset: 16 * v})
		AddInt(zeros[v], zeros[v], excess)
		AndInt(zeros[v], zeros[v], byteMask)
		MultiplyInt(zeros[v], zeros[v], four) // in each byte
		Zero(totals[v])
	}
	Label("loop")
	loadNibbles(&numbers, w, low)
	for v := range numbers {
		Compute(SubtractBytes, numbers[v], numbers[v], zeros[v])
		AddDots(totals[v], ones, numbers[v])
		StoreInt(Memory{Base: dst, Offset: 64 * v}, numbers[v])
	}
	Increase(w, Number(128))
	Increase(dst, Number(256))
	Countdown(groups, 1, "loop")
	for v := range totals {
		ShiftLeft(totals[v], totals[v], 7)
		Zero(numbers[v])
		SubtractInt(numbers[v], numbers[v], totals[v])
		StoreInt(Memory{Base: sums, Offset: 64 * v}, numbers[v])
	}
	End()
}

// digitsVNNI multiplies rows of digits by unpacked bytes, for 64 columns or the first 32, and adds the numbers that
// these represent to rows of y. The sums begin with start; they are joined and scaled as in combine.
func digitsVNNI(rows, vectors int) {
	Begin(wide, fmt.Sprintf("digits%dx%d", rows, 16*vectors), "y, x, w, groups, plane, start, scale, factor, ldy uintptr", "")
	Doc(fmt.Sprintf("digits%dx%dVNNI adds the numbers represented by %d rows of digits times %d columns of bytes to rows of y.", rows, 16*vectors, rows, 16*vectors))
	x, w, groups, plane, start := Parameter("x"), Parameter("w"), Parameter("groups"), Parameter("plane"), Parameter("start")
	ofRow := rowsOfPlanes(rows, x, plane)
	acc := make([][digits][]Vector, rows)
	for r := range acc {
		for d := range digits {
			for v := range vectors {
				acc[r][d] = append(acc[r][d], NewVector(64))
				LoadInt(acc[r][d][v], Memory{Base: start, Offset: 64 * v})
			}
		}
	}
	one, weights := NewVector(64), make([]Vector, vectors)
	for v := range weights {
		weights[v] = NewVector(64)
	}
	Label("loop")
	for v := range weights {
		LoadInt(weights[v], Memory{Base: w, Offset: 64 * v})
	}
	for r := range acc {
		for d := range digits {
			BroadcastInt(one, digitAt(ofRow[r], plane, d))
			for v := range weights {
				AddDots(acc[r][d][v], one, weights[v])
			}
		}
	}
	Increase(w, Number(256))
	for r := range acc {
		Increase(ofRow[r], Number(4))
	}
	Countdown(groups, 1, "loop")
	y, scale, factor, ldy := Parameter("y"), Parameter("scale"), Parameter("factor"), Parameter("ldy")
	by, base := weights[0], weights[1]
	Load(base, Constant("base", 0x43800000)) // 256
	for r := range acc {
		for v := range vectors {
			total := acc[r][digits-1][v]
			ToFloat(total, total)
			for d := digits - 2; d >= 0; d-- {
				ToFloat(acc[r][d][v], acc[r][d][v])
				Multiply(total, total, base)
				Add(total, total, acc[r][d][v])
			}
			Broadcast(by, Memory{Base: factor, Offset: 4 * r})
			Multiply(by, by, Memory{Base: scale, Offset: 64 * v})
			Multiply(total, total, by)
			Add(total, total, Memory{Base: y, Offset: 64 * v})
			Store(Memory{Base: y, Offset: 64 * v}, total)
		}
		if r+1 < rows {
			Increase(y, ldy)
		}
	}
	End()
}

// joinDigits adds the numbers represented by sums of digits to rows of y, like the functions above.
func joinDigits() {
	Begin(wide, "joinDigits", "y, sums, start, scale, factor, rows, ldy uintptr", "")
	Doc("joinDigitsVNNI adds start to the sums of three digits for 64 columns, and adds the numbers that they represent to rows of y.")
	y, sums, start, scale, factor, rows, ldy := Parameter("y"), Parameter("sums"), Parameter("start"), Parameter("scale"), Parameter("factor"), Parameter("rows"), Parameter("ldy")
	base, scales, starts, total, digit, by := NewVector(64), [4]Vector{}, [4]Vector{}, NewVector(64), NewVector(64), NewVector(64)
	Load(base, Constant("base", 0x43800000)) // 256
	for v := range scales {
		scales[v] = NewVector(64)
		Load(scales[v], Memory{Base: scale, Offset: 64 * v})
		starts[v] = NewVector(64)
		LoadInt(starts[v], Memory{Base: start, Offset: 64 * v})
	}
	Label("loop")
	for v := range scales {
		AddInt(total, starts[v], Memory{Base: sums, Offset: 256*(digits-1) + 64*v})
		ToFloat(total, total)
		for d := digits - 2; d >= 0; d-- {
			AddInt(digit, starts[v], Memory{Base: sums, Offset: 256*d + 64*v})
			ToFloat(digit, digit)
			MultiplyAdd(total, base, digit) // products with 256 are exact, so that these are the bits of two operations
		}
		Broadcast(by, Memory{Base: factor})
		Multiply(by, by, scales[v])
		Multiply(total, total, by)
		Add(total, total, Memory{Base: y, Offset: 64 * v})
		Store(Memory{Base: y, Offset: 64 * v}, total)
	}
	Increase(y, ldy)
	Increase(sums, Number(256*digits))
	Increase(factor, Number(4))
	Countdown(rows, 1, "loop")
	End()
}

// rowsOfPlanes returns the beginnings of the planes of one or two rows.
func rowsOfPlanes(rows int, x, plane Scalar) [2]Scalar {
	ofRow := [2]Scalar{x}
	if rows == 2 {
		ofRow[1] = NewScalar()
		Address(ofRow[1], Memory{Base: x, Index: plane, Scale: 2})
		Increase(ofRow[1], plane)
	}
	return ofRow
}
