package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Products of 24-bit numbers, as three 8-bit digits, with a panel of 64 columns of 4-bit numbers. Each 128 bytes of the
// panel hold four rows: the low halves of its 32 words of 32 bits are columns 0 to 31, the high halves columns 32 to
// 63. Each digit has separate sums.

const (
	digits     = 3
	lowNibbles = 0x0f0f0f0f
)

// nibblesVNNI sets the sums of rows of x: for each row and digit, 64 columns.
func nibblesVNNI(rows int) {
	Begin(Machine{Name: "VNNI", Bytes: 64}, fmt.Sprintf("nibbles%d", rows), "sums, x, w, groups, plane uintptr", "")
	Doc(fmt.Sprintf("nibbles%dVNNI sets sums to %d rows of digits, one plane per digit, times a panel of four bits.", rows, rows))
	sums, x, w, groups, plane := Parameter("sums"), Parameter("x"), Parameter("w"), Parameter("groups"), Parameter("plane")
	ofRow := rowsOfPlanes(rows, x, plane)
	var acc [2][digits][4]Vector
	for r := range rows {
		for d := range digits {
			for v := range acc[r][d] {
				acc[r][d][v] = NewVector(64)
				ZeroInt(acc[r][d][v])
			}
		}
	}
	weights, one, low := [4]Vector{NewVector(64), NewVector(64), NewVector(64), NewVector(64)}, NewVector(64), NewVector(64)
	BroadcastInt(low, Constant("lowNibbles", lowNibbles))
	Label("loop")
	loadNibbles(&weights, w, low)
	for r := range rows {
		for d := range digits {
			BroadcastInt(one, digitAt(ofRow[r], plane, d))
			for v := range weights {
				AddDots(acc[r][d][v], weights[v], one)
			}
		}
	}
	Increase(w, Number(128))
	for r := range rows {
		Increase(ofRow[r], Number(4))
	}
	Countdown(groups, 1, "loop")
	for r := range rows {
		for d := range digits {
			for v := range acc[r][d] {
				StoreInt(Memory{Base: sums, Offset: 256*(digits*r+d) + 64*v}, acc[r][d][v])
			}
		}
	}
	End()
}

// loadNibbles loads 128 bytes: their low halves into the first two vectors, their high halves into the others.
func loadNibbles(to *[4]Vector, w Scalar, low Vector) {
	for v := range 2 {
		LoadInt(to[2+v], Memory{Base: w, Offset: 64 * v})
		AndInt(to[v], to[2+v], low)
		ShiftRight(to[2+v], to[2+v], 4)
		AndInt(to[2+v], to[2+v], low)
	}
}

// digitAt is the memory of a digit of a row's group.
func digitAt(x, plane Scalar, digit int) Memory {
	if digit == 0 {
		return Memory{Base: x}
	}
	return Memory{Base: x, Index: plane, Scale: uint8(digit)}
}

// wordSums is how many sums of two products, each at most 2·15·128, fit into 16 bits.
const wordSums = 8

// nibblesAVX2 does so for one row, eight columns of each half at a time. It adds up in 16 bits, and widens the sums
// when they are full, so that most additions need only one multiplying instruction.
func nibblesAVX2() {
	Begin(AVX2, "nibbles1", "sums, x, w, groups, plane uintptr", "")
	Doc("nibbles1AVX2 sets sums to a row of digits times a panel of four bits.")
	sums, first, w, count, plane := Parameter("sums"), Parameter("x"), Parameter("w"), Parameter("groups"), Parameter("plane")
	x, at, groups, some := NewScalar(), NewScalar(), NewScalar(), NewScalar()
	var acc, words [digits][2]Vector
	for d := range acc {
		acc[d], words[d] = [2]Vector{NewVector(32), NewVector(32)}, [2]Vector{NewVector(32), NewVector(32)}
	}
	weights, one, product := [2]Vector{NewVector(32), NewVector(32)}, NewVector(32), NewVector(32)
	low, ones := Constant("lowNibbles", lowNibbles), Constant("oneWords", 0x00010001)
	for u := range 4 {
		block, loop := fmt.Sprintf("block%d", u), fmt.Sprintf("loop%d", u)
		for d := range acc {
			for h := range acc[d] {
				ZeroInt(acc[d][h])
			}
		}
		Assign(x, first)
		Assign(at, w)
		Assign(groups, count)
		Label(block)
		Assign(some, Number(wordSums))
		AtMost(some, groups)
		Decrease(groups, some)
		for d := range words {
			for h := range words[d] {
				ZeroInt(words[d][h])
			}
		}
		Label(loop)
		if u == 0 {
			Prefetch(Memory{Base: at, Offset: 128 * 64})
			Prefetch(Memory{Base: at, Offset: 128*64 + 64})
		}
		LoadInt(weights[1], Memory{Base: at, Offset: 32 * u})
		AndInt(weights[0], weights[1], low)
		ShiftRight(weights[1], weights[1], 4)
		AndInt(weights[1], weights[1], low)
		for d := range acc {
			BroadcastInt(one, digitAt(x, plane, d))
			AddBytePairs(product, weights[0], one)
			Compute(AddWords, words[d][0], words[d][0], product)
			AddBytePairs(one, weights[1], one)
			Compute(AddWords, words[d][1], words[d][1], one)
		}
		Increase(at, Number(128))
		Increase(x, Number(4))
		Countdown(some, 1, loop)
		LoadInt(weights[0], ones)
		for d := range acc {
			for h := range acc[d] {
				AddPairs(words[d][h], words[d][h], weights[0])
				AddInt(acc[d][h], acc[d][h], words[d][h])
			}
		}
		JumpNotEqual(groups, Number(0), block)
		for d := range acc {
			for h := range acc[d] {
				StoreInt(Memory{Base: sums, Offset: 256*d + 128*h + 32*u}, acc[d][h])
			}
		}
	}
	End()
}

// combine adds the numbers that a block's sums represent to 64 numbers of y. It subtracts the zero points (plus an
// excess, which the weights have too) times the sums of the digits, joins the digits and scales them.
func combine(m Machine) {
	Begin(m, "combine", "y, sums, zero, scale, digits, how uintptr", "")
	Doc("combine" + m.Name + " adds the numbers that a block's sums represent to y.")
	y, sums, zero, scale, ofDigits, how := Parameter("y"), Parameter("sums"), Parameter("zero"), Parameter("scale"), Parameter("digits"), Parameter("how")
	by, z, s, t, total := NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes), NewVector(m.Bytes)
	excess, base := NewVector(m.Bytes), NewVector(m.Bytes)
	Broadcast(by, Memory{Base: how})
	BroadcastInt(excess, Memory{Base: how, Offset: 4})
	Broadcast(base, Constant("base", 0x43800000)) // 256
	var each [digits]Vector
	for d := range each {
		each[d] = NewVector(m.Bytes)
		BroadcastInt(each[d], Memory{Base: ofDigits, Offset: 4 * d})
	}
	for v := range 256 / m.Bytes {
		at := v * m.Bytes
		WidenSignedBytes(z, Memory{Base: zero, Offset: at / 4})
		AddInt(z, z, excess)
		for d := digits - 1; d >= 0; d-- {
			LoadInt(s, Memory{Base: sums, Offset: 256*d + at})
			MultiplyInt(t, z, each[d])
			SubtractInt(s, s, t)
			ToFloat(s, s)
			if d == digits-1 {
				Copy(total, s)
				continue
			}
			Multiply(total, total, base)
			Add(total, total, s)
		}
		Multiply(t, by, Memory{Base: scale, Offset: at})
		Multiply(total, total, t)
		Add(total, total, Memory{Base: y, Offset: at})
		Store(Memory{Base: y, Offset: at}, total)
	}
	End()
}
