package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// Tiles of pairs can store their sums as bfloat16, so that these are never in memory as float32. Then C and its strides
// are those of the result, nothing is added to C, and the mask is for the words of a row.

// fetchRounded prefetches a tile's results, to be cached when the sums are ready: the rows of a result are far apart,
// and processors do not predict stores to short pieces of them.
func (k kernel) fetchRounded(arg func(int) Memory, runC Memory) {
	flags, c, row, left := NewScalar(), NewScalar(), NewScalar(), NewScalar()
	Assign(flags, arg(argFlags))
	JumpUnless(flags, flagRounded, "asked")
	Assign(c, runC)
	Assign(row, arg(argCRow))
	Assign(left, Number(k.rows))
	Label("ask")
	PrefetchNear(Memory{Base: c})
	PrefetchNear(Memory{Base: c, Offset: k.vectors*k.vectorBytes()/2 - 2})
	Increase(c, row)
	Countdown(left, 1, "ask")
	Label("asked")
}

// addRounded rounds the sums, keeping them as floats, and adds the bias for rounded sums, if there is one. It reads
// whole vectors of the bias.
func (k kernel) addRounded(sums [][]Vector, arg func(int) Memory) {
	bias := NewScalar()
	Assign(bias, arg(argRoundedBias))
	JumpZero(bias, "unbiased")
	for i := range k.vectors {
		b := k.vector()
		Load(b, Memory{Base: bias, Offset: i * k.vectorBytes()})
		for _, row := range sums {
			RoundBFloat16(row[i])
			Add(row[i], row[i], b)
		}
	}
	Label("unbiased")
}

// storeRounded rounds the sums and stores them.
func (k kernel) storeRounded(sums [][]Vector, arg func(int) Memory, c, row Scalar) {
	words := MaskWords(arg(argMask))
	for r, v := range sums {
		if k.vectors == 1 {
			StoreBFloat16Where(Memory{Base: c}, words, v[0])
		} else {
			StoreBFloat16PairWhere(Memory{Base: c}, words, v[0], v[1])
		}
		if r < len(sums)-1 {
			Increase(c, row)
		}
	}
}
