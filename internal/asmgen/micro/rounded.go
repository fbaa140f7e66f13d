package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// Sums of pairs can leave a tile as bfloat16, so that they never lie in memory as float32. Then C and its strides are
// those of the result, nothing is added to it, and the mask is one of the words of a row.

// fetchRounded asks for the memory of a tile's results, which is there when the sums are ready: rows of a result lie
// far from each other, and processors do not foresee stores to short pieces of them.
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

// addRounded rounds the sums, which stay floats, and adds the bias that is for rounded ones, if there is one. Of that,
// whole vectors are read.
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
