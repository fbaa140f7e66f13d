package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Pooled kernels compute the sums of windows of 2x2 rows, two rows on each of two lines, and store the maximum of each
// window. With AVX-512 the sums of both lines are in registers: the rows of the first line, from left to right, then
// those of the second. AVX2, with half the registers, computes one line after the other; meanwhile the maxima of the
// first line's pairs are kept on the stack.

// pooledWindows is the maximum number of windows whose sums fit into registers.
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

// maxima applies relu to the maximum of each window and stores it. If one of the four sums is NaN, so is the maximum:
// since the instruction for the maximum returns its last source if one of them is NaN, NaN is detected separately.
func (k kernel) maxima(sums [][]Vector, arg func(int) Memory, runC Memory, mask Mask) {
	flags, c, row := NewScalar(), NewScalar(), NewScalar()
	Assign(flags, arg(argFlags))
	Assign(row, arg(argCRow))
	zero := k.vector()
	k.zero(zero)
	JumpIf(flags, flagReLU, "pool")
	Pattern(zero, 0xff800000, c) // minus infinity
	Label("pool")
	Assign(c, runC)
	for w := range k.windows {
		for i := range k.vectors {
			m, right := sums[2*w][i], sums[2*w+1][i]
			below, last := sums[2*k.windows+2*w][i], sums[2*k.windows+2*w+1][i]
			nan := Either(Compare(Unordered, right, m), Compare(Unordered, last, below))
			for _, v := range []Vector{right, below, last} {
				Max(m, v, m)
			}
			Max(m, zero, m)
			SetWhere(m, nan) // all bits set is NaN
			to := Memory{Base: c, Offset: i * k.vectorBytes()}
			if i == k.vectors-1 {
				StoreWhere(to, mask, m)
			} else {
				Store(to, m)
			}
		}
		if w < k.windows-1 {
			Increase(c, row)
		}
	}
}

// waitingBytes is the memory for the maxima of the first line's pairs.
func (k kernel) waitingBytes() int {
	if !k.inLines() {
		return 0
	}
	return k.windows * k.vectors * k.vectorBytes()
}

// pairs repeats the computation for the second line of the windows; then it applies relu to the maxima and stores them.
func (k kernel) pairs(sums [][]Vector, arg func(int) Memory, runA, runC, second, waiting Memory) {
	pair := NewScalar()
	Assign(pair, arg(argPair))
	JumpNotEqual(second, Number(0), "both")
	k.eachPair(sums, waiting, func(at Memory, m Vector, _, _ int) { Store(at, m) })
	Increase(runA, pair)
	Assign(second, Number(1))
	Jump("half")

	Label("both")
	Decrease(runA, pair)
	flags := NewScalar()
	Assign(flags, arg(argFlags))
	zero := NewVector(32)
	k.zero(zero)
	JumpIf(flags, flagReLU, "pool")
	Pattern(zero, 0xff800000, NewScalar()) // minus infinity
	Label("pool")
	JumpIf(flags, flagMasked, "masked")
	k.storePairs(sums, arg, runC, waiting, zero, nil)
	Jump("stored")
	Label("masked")
	table := NewScalar()
	Assign(table, arg(argMaskTable))
	lanes := MaskTable(Memory{Base: table})
	k.storePairs(sums, arg, runC, waiting, zero, &lanes)
	Label("stored")
}

// storePairs stores the maxima of the second line's results, the kept ones of the first line, and zero; lanes masks the
// last vector, if not nil.
func (k kernel) storePairs(sums [][]Vector, arg func(int) Memory, runC, waiting Memory, zero Vector, lanes *Mask) {
	c, row := NewScalar(), NewScalar()
	Assign(c, runC)
	Assign(row, arg(argCRow))
	k.eachPair(sums, waiting, func(at Memory, m Vector, w, i int) {
		nan := Compare(Unordered, m, at)
		Max(m, m, at)
		SetWhere(m, nan)
		Max(m, zero, m)
		to := Memory{Base: c, Offset: i * k.vectorBytes()}
		if i == k.vectors-1 && lanes != nil {
			StoreWhere(to, *lanes, m)
		} else {
			Store(to, m)
		}
		if i == k.vectors-1 && w < k.windows-1 {
			Increase(c, row)
		}
	})
}

// eachPair visits the maxima of a line's pairs, with their address among the kept ones.
func (k kernel) eachPair(sums [][]Vector, waiting Memory, visit func(at Memory, m Vector, window, i int)) {
	for w := range k.windows {
		for i := range k.vectors {
			m, right := sums[2*w][i], sums[2*w+1][i]
			nan := Compare(Unordered, right, m)
			Max(m, m, right)
			SetWhere(m, nan) // all bits set is NaN
			visit(waiting.Plus((w*k.vectors+i)*k.vectorBytes()), m, w, i)
		}
	}
}
