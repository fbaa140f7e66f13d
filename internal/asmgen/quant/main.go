// Command quant writes the assembly of package kernels/cpu/internal/quant: products of rows of int8 with one panel of
// 64 columns.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

const generator = "internal/asmgen/quant"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: quant DIRECTORY")
		os.Exit(2)
	}
	p := NewProgram()
	p.ShareLines = true
	for _, rows := range []int{1, 2, 4, 6} {
		vnni(rows)
	}
	for vectors := 1; vectors < 4; vectors++ {
		narrowVNNI(vectors)
	}
	sumRows()
	bytesRow()
	avx2()
	avx2Rows()
	widenRow()
	for _, rows := range []int{1, 2} {
		nibblesVNNI(rows)
	}
	nibblesAVX2()
	combine(Machine{Name: "AVX512", Bytes: 64})
	combine(AVX2)
	unpack(Machine{Name: "AVX512", Bytes: 64})
	unpack(AVX2)
	unpackNibbles()
	bytesOfNibbles()
	for _, rows := range []int{1, 2} {
		for _, vectors := range []int{2, 4} {
			digitsVNNI(rows, vectors)
		}
	}
	joinDigits()
	bytesRows(Machine{Name: "AVX512", Bytes: 64})
	bytesRows(AVX2)
	nibblesRows(Machine{Name: "AVX512", Bytes: 64})
	nibblesRows(AVX2)
	for _, m := range []Machine{{Name: "AVX512", Bytes: 64}, AVX2} {
		split(m)
		largest(m)
		codeRows(m)
	}
	err := errors.Join(p.AMD64(filepath.Join(os.Args[1], "quant_amd64.s"), generator, "quant"), writeNEON(filepath.Join(os.Args[1], "quant_arm64.s")))
	p = NewProgram()
	unpack(AVX2)
	split(AVX2)
	largest(AVX2)
	codeRows(AVX2)
	bytesRows(AVX2)
	nibblesRows(AVX2)
	err = errors.Join(err, p.NEON(filepath.Join(os.Args[1], "vectors_arm64.s"), generator))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// vnni writes the products of rows of x with the panel w, plus a number of each row, to rows of c: 64 columns in four
// registers per row. AddDots
// multiplies unsigned bytes (the weights plus 128) by signed ones and adds four products to each number.
func vnni(rows int) { vnniColumns(rows, 4, fmt.Sprintf("rows%d", rows)) }

// vnniColumns writes such a function for the first columns of the panel, so many vectors.
func vnniColumns(rows, vectors int, name string) {
	Begin(Machine{Name: "VNNI", Bytes: 64}, name, "c, start, x, w, groups, ldc, ldx uintptr", "")
	Doc(fmt.Sprintf("%sVNNI writes %d rows of x times %d columns of a panel, plus a number of each row, to c.", name, rows, 16*vectors))
	c, start, x, w, groups := Parameter("c"), Parameter("start"), Parameter("x"), Parameter("w"), Parameter("groups")
	ldc, ldx := Parameter("ldc"), Parameter("ldx")
	x3 := NewScalar()
	if rows > 3 {
		Address(x3, Memory{Base: x, Index: ldx, Scale: 2})
		Increase(x3, ldx)
	}
	acc := make([][]Vector, rows)
	for r := range acc {
		for v := range vectors {
			acc[r] = append(acc[r], NewVector(64))
			BroadcastInt(acc[r][v], Memory{Base: start, Offset: 4 * r})
		}
	}
	weights, one := make([]Vector, vectors), NewVector(64)
	for v := range weights {
		weights[v] = NewVector(64)
	}
	Label("loop")
	for v := range weights {
		LoadInt(weights[v], Memory{Base: w, Offset: 64 * v})
	}
	for r := range acc {
		BroadcastInt(one, ofRow(r, x, x3, ldx))
		for v := range weights {
			AddDots(acc[r][v], weights[v], one)
		}
	}
	Increase(w, Number(256))
	Increase(x, Number(4))
	if rows > 3 {
		Increase(x3, Number(4))
	}
	Countdown(groups, 1, "loop")
	storeSums(acc, 64, c, ldc)
	End()
}

// loadSums loads rows of c, ldc bytes apart, into the given number of vectors each.
func loadSums(rows, vectors, bytes int, c, ldc Scalar) [][]Vector {
	row := NewScalar()
	Assign(row, c)
	acc := make([][]Vector, rows)
	for r := range acc {
		acc[r] = make([]Vector, vectors)
		for v := range acc[r] {
			acc[r][v] = NewVector(bytes)
			LoadInt(acc[r][v], Memory{Base: row, Offset: bytes * v})
		}
		if r+1 < rows {
			Increase(row, ldc)
		}
	}
	return acc
}

// storeSums stores them again; it advances c.
func storeSums(acc [][]Vector, bytes int, c, ldc Scalar) {
	for r := range acc {
		for v := range acc[r] {
			StoreInt(Memory{Base: c, Offset: bytes * v}, acc[r][v])
		}
		if r+1 < len(acc) {
			Increase(c, ldc)
		}
	}
}

// ofRow is the memory of row r of x; x3 points to the fourth row.
func ofRow(r int, x, x3, ldx Scalar) Memory {
	if r >= 3 {
		x, r = x3, r-3
	}
	if r == 0 {
		return Memory{Base: x}
	}
	return Memory{Base: x, Index: ldx, Scale: uint8(r)}
}

// avx2 does so for one row. Bytes are widened to 16 bits, so that no sum of two products overflows: the even and the
// odd bytes of the weights are multiplied by the even and the odd numbers of x, which the caller has widened and
// arranged in pairs. Weights are prefetched, which doubles the rate at which they come from the third-level cache of a
// processor without AVX-512.
func avx2() {
	Begin(AVX2, "row", "c, x, w, groups uintptr", "")
	Doc("rowAVX2 adds a row of x times a panel to c.")
	c, x, w, groups := Parameter("c"), Parameter("x"), Parameter("w"), Parameter("groups")
	var acc [8]Vector
	for v := range acc {
		acc[v] = NewVector(32)
		LoadInt(acc[v], Memory{Base: c, Offset: 32 * v})
	}
	low, even, odd, a, b := NewVector(32), NewVector(32), NewVector(32), NewVector(32), NewVector(32)
	Ones(low)
	ShiftRightWords(low, low, 8)
	Label("loop")
	BroadcastInt(even, Memory{Base: x})
	BroadcastInt(odd, Memory{Base: x, Offset: 4})
	for v := range acc {
		if v%2 == 0 {
			Prefetch(Memory{Base: w, Offset: 256*32 + 32*v})
		}
		LoadInt(a, Memory{Base: w, Offset: 32 * v})
		ShiftRightWords(b, a, 8)
		AndInt(a, a, low)
		AddPairs(a, a, even)
		AddPairs(b, b, odd)
		AddInt(acc[v], acc[v], a)
		AddInt(acc[v], acc[v], b)
	}
	Increase(w, Number(256))
	Increase(x, Number(8))
	Countdown(groups, 1, "loop")
	for v := range acc {
		StoreInt(Memory{Base: c, Offset: 32 * v}, acc[v])
	}
	End()
}

// avx2Rows does so for six rows and two vectors of columns, so that each vector of weights is split only once for all
// rows, and the sums fill the registers. The rest of the panel is left to other calls. Three rows of four vectors,
// which read more for each sum, were slower than one row.
func avx2Rows() {
	const rows, vectors = 6, 2
	Begin(AVX2, "rows6", "c, x, w, groups, ldc, ldx uintptr", "")
	Doc("rows6AVX2 adds six rows of x times 16 columns of a panel to c.")
	c, x, w, groups := Parameter("c"), Parameter("x"), Parameter("w"), Parameter("groups")
	ldc, ldx := Parameter("ldc"), Parameter("ldx")
	x3 := NewScalar()
	Address(x3, Memory{Base: x, Index: ldx, Scale: 2})
	Increase(x3, ldx)
	acc := loadSums(rows, vectors, 32, c, ldc)
	weights, one, product := [vectors]Vector{NewVector(32), NewVector(32)}, NewVector(32), NewVector(32)
	Label("loop")
	Prefetch(Memory{Base: w, Offset: 256 * 32})
	for half := range 2 {
		for v := range weights {
			LoadInt(weights[v], Memory{Base: w, Offset: 32 * v})
			if half == 0 {
				AndInt(weights[v], weights[v], Constant("lowBytes", 0x00ff00ff))
			} else {
				ShiftRightWords(weights[v], weights[v], 8)
			}
		}
		for r := range acc {
			m := ofRow(r, x, x3, ldx)
			m.Offset = 4 * half
			BroadcastInt(one, m)
			AddPairs(product, weights[0], one)
			AddInt(acc[r][0], acc[r][0], product)
			AddPairs(one, weights[1], one)
			AddInt(acc[r][1], acc[r][1], one)
		}
	}
	Increase(w, Number(256))
	Increase(x, Number(8))
	Increase(x3, Number(8))
	Countdown(groups, 1, "loop")
	storeSums(acc, 32, c, ldc)
	End()
}

// widenRow writes bytes in the order that the kernels of AVX2 read, four groups of four at a time: of each group the
// numbers in even places, then the others, as 16-bit numbers. Their sums, four of them, go to sums.
func widenRow() {
	const bytes = 16
	Begin(AVX2, "widenRow", "to, x, sums, n uintptr", "")
	Doc("widenRowAVX2 widens n bytes, and stores four sums of them.")
	to, x, sums, n := Parameter("to"), Parameter("x"), Parameter("sums"), Parameter("n")
	v, even, odd, pairs, total := NewVector(bytes), NewVector(bytes), NewVector(bytes), NewVector(bytes), NewVector(bytes)
	evens, odds, all := NewVector(bytes), NewVector(bytes), NewVector(bytes)
	LoadInt(evens, Constant("evenBytes", 0x00010001))
	LoadInt(odds, Constant("oddBytes", 0x01000100))
	LoadInt(all, Constant("allBytes", 0x01010101))
	Zero(total)
	Label("loop")
	LoadInt(v, Memory{Base: x})
	AddBytePairs(even, evens, v)
	AddBytePairs(odd, odds, v)
	AddBytePairs(pairs, all, v)
	AddPairs(pairs, pairs, evens) // 16-bit ones
	AddInt(total, total, pairs)
	InterleaveLow(v, even, odd)
	StoreInt(Memory{Base: to}, v)
	InterleaveHigh(v, even, odd)
	StoreInt(Memory{Base: to, Offset: bytes}, v)
	Increase(x, Number(bytes))
	Increase(to, Number(2*bytes))
	Countdown(n, bytes, "loop")
	StoreInt(Memory{Base: sums}, total)
	End()
}
