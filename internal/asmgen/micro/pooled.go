package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Pooled kernels compute the sums of windows of 2x2 rows, two rows on each of two lines, and store the maximum of each
// window. Those of AVX-512 have the sums of both lines in registers: their rows are those of the first line, from left
// to right, then those of the second. Those of AVX2, with half the registers, compute one line after the other; their
// rows are those of a line, and what the pairs of the first one gave waits on the stack.

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

// maxima applies relu to the maximum of each window and stores it. A NaN among the four sums makes the maximum NaN: the
// instruction for the maximum returns its last source where one of them is NaN, so that it is looked for by itself.
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
			SetWhere(m, nan) // all bits: NaN
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

// waitingBytes is the memory for the results of the first line's pairs.
func (k kernel) waitingBytes() int {
	if !k.inLines() {
		return 0
	}
	return k.windows * k.vectors * k.vectorBytes()
}

// pairs has the second line of the windows computed after the first; then it applies relu to the maxima and stores
// them.
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

// storePairs stores the maxima of what the second line gave, what waits of the first, and zero; lanes masks the last
// vector, if not nil.
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

// eachPair visits the maxima of the pairs of a line, with their position among the waiting ones.
func (k kernel) eachPair(sums [][]Vector, waiting Memory, visit func(at Memory, m Vector, window, i int)) {
	for w := range k.windows {
		for i := range k.vectors {
			m, right := sums[2*w][i], sums[2*w+1][i]
			nan := Compare(Unordered, right, m)
			Max(m, m, right)
			SetWhere(m, nan) // all bits: NaN
			visit(waiting.Plus((w*k.vectors+i)*k.vectorBytes()), m, w, i)
		}
	}
}
