package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Pooled kernels compute the sums of windows of 2x2 rows, two rows on each of two lines, and store the maximum of each window. Their rows are
// those of the first line, from left to right, then those of the second.

// pooledWindows is the largest number of windows whose sums fit the registers, two vectors wide.
const pooledWindows = 3

func pooledFamilies() [][]kernel {
	var all [][]kernel
	for _, vectors := range []int{1, 2} {
		var family []kernel
		for windows := 1; windows <= pooledWindows; windows++ {
			family = append(family, kernel{wide: true, vectors: vectors, rows: 4 * windows, windows: windows})
		}
		all = append(all, family)
	}
	return all
}

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
