package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Pooled kernels compute the sums of windows of 2x2 rows, two rows on each of two lines, and store the maximum of each window. Those of AVX-512
// have the sums of both lines in registers: their rows are those of the first line, from left to right, then those of the second. Those of AVX2, with
// half the registers, compute one line after the other; their rows are those of a line, and what the pairs of the first one gave waits on the stack.

// pooledWindows is the largest number of windows whose sums fit the registers.
func pooledWindows(wide bool, vectors int) int {
	if !wide && vectors == 1 {
		return 6
	}
	return 3
}

func pooledFamilies() [][]kernel {
	var all [][]kernel
	for _, wide := range []bool{false, true} {
		for _, vectors := range []int{1, 2} {
			var family []kernel
			for windows := 1; windows <= pooledWindows(wide, vectors); windows++ {
				rows := 2 * windows
				if wide {
					rows *= 2
				}
				family = append(family, kernel{wide: wide, vectors: vectors, rows: rows, windows: windows})
			}
			all = append(all, family)
		}
	}
	return all
}

// inLines reports whether the lines of windows are computed one after the other.
func (k kernel) inLines() bool { return k.windows > 0 && !k.wide }

// maxima applies relu to the maximum of each window and stores it. A NaN among the four sums makes the maximum NaN: the instruction for
// the maximum returns its last source where one of them is NaN, so that it is looked for by itself.
func (k kernel) maxima(sums [][]reg.VecVirtual, arg func(int) Mem, runC Mem, mask reg.OpmaskVirtual) {
	flags, c, row := GP64(), GP64(), GP64()
	MOVQ(arg(argFlags), flags)
	MOVQ(arg(argCRow), row)
	zero := k.vector()
	k.zero(zero)
	TESTQ(U32(flagReLU), flags)
	JNE(LabelRef("pool"))
	MOVL(U32(0xff800000), c.As32()) // minus infinity
	VPBROADCASTD(c.As32(), zero)
	Label("pool")
	MOVQ(runC, c)
	for w := range k.windows {
		for i := range k.vectors {
			m, right := sums[2*w][i], sums[2*w+1][i]
			below, last := sums[2*k.windows+2*w][i], sums[2*k.windows+2*w+1][i]
			nan, nanBelow := K(), K()
			VCMPPS(U8(compareUnordered), m, right, nan)
			VCMPPS(U8(compareUnordered), below, last, nanBelow)
			KORW(nan, nanBelow, nan)
			for _, v := range []reg.VecVirtual{right, below, last} {
				VMAXPS(m, v, m)
			}
			VMAXPS(m, zero, m)
			VPTERNLOGD(U8(0xff), m, m, nan, m) // all bits: NaN
			to := Mem{Base: c, Disp: i * k.vectorBytes()}
			if i == k.vectors-1 {
				VMOVUPS(m, mask, to)
			} else {
				VMOVUPS(m, to)
			}
		}
		if w < k.windows-1 {
			ADDQ(row, c)
		}
	}
}

// compareUnordered is the predicate of comparisons that is true where one of the two numbers is NaN.
const compareUnordered = 3

// waitingBytes is the memory for what the pairs of the first line gave.
func (k kernel) waitingBytes() int {
	if !k.inLines() {
		return 0
	}
	return k.windows * k.vectors * k.vectorBytes()
}

// pairs has the second line of the windows computed after the first; then it applies relu to the maxima and stores them.
func (k kernel) pairs(sums [][]reg.VecVirtual, arg func(int) Mem, runA, runC, second, waiting Mem) {
	pair := GP64()
	MOVQ(arg(argPair), pair)
	CMPQ(second, U8(0))
	JNE(LabelRef("both"))
	k.eachPair(sums, waiting, func(at Mem, m reg.VecVirtual, _, _ int) { VMOVUPS(m, at) })
	ADDQ(pair, runA)
	MOVQ(U32(1), second)
	JMP(LabelRef("half"))

	Label("both")
	SUBQ(pair, runA)
	flags := GP64()
	MOVQ(arg(argFlags), flags)
	zero := YMM()
	k.zero(zero)
	TESTQ(U32(flagReLU), flags)
	JNE(LabelRef("pool"))
	infinity := GP32()
	MOVL(U32(0xff800000), infinity) // minus infinity
	VMOVD(infinity, zero.AsX())
	VPBROADCASTD(zero.AsX(), zero)
	Label("pool")
	TESTQ(U32(flagMasked), flags)
	JNE(LabelRef("masked"))
	k.storePairs(sums, arg, runC, waiting, zero, nil)
	JMP(LabelRef("stored"))
	Label("masked")
	table, lanes := GP64(), YMM()
	MOVQ(arg(argMaskTable), table)
	VMOVDQU(Mem{Base: table}, lanes)
	k.storePairs(sums, arg, runC, waiting, zero, lanes)
	Label("stored")
}

// storePairs stores the maxima of what the second line gave, what waits of the first, and zero; lanes masks the last vector, if not nil.
func (k kernel) storePairs(sums [][]reg.VecVirtual, arg func(int) Mem, runC, waiting Mem, zero, lanes reg.VecVirtual) {
	c, row := GP64(), GP64()
	MOVQ(runC, c)
	MOVQ(arg(argCRow), row)
	k.eachPair(sums, waiting, func(at Mem, m reg.VecVirtual, w, i int) {
		nan := YMM()
		VCMPPS(U8(compareUnordered), at, m, nan)
		VMAXPS(at, m, m)
		VORPS(nan, m, m)
		VMAXPS(m, zero, m)
		to := Mem{Base: c, Disp: i * k.vectorBytes()}
		if i == k.vectors-1 && lanes != nil {
			VMASKMOVPS(m, lanes, to)
		} else {
			VMOVUPS(m, to)
		}
		if i == k.vectors-1 && w < k.windows-1 {
			ADDQ(row, c)
		}
	})
}

// eachPair visits the maxima of the pairs of a line, with their place among those that wait.
func (k kernel) eachPair(sums [][]reg.VecVirtual, waiting Mem, visit func(at Mem, m reg.VecVirtual, window, i int)) {
	for w := range k.windows {
		for i := range k.vectors {
			m, right, nan := sums[2*w][i], sums[2*w+1][i], YMM()
			VCMPPS(U8(compareUnordered), m, right, nan)
			VMAXPS(right, m, m)
			VORPS(nan, m, m) // all bits: NaN
			visit(waiting.Offset((w*k.vectors+i)*k.vectorBytes()), m, w, i)
		}
	}
}
