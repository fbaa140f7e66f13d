package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// start returns the sums, initialized with the bias, C or 0.
func (k kernel) start(arg func(int) Memory, firstBias, runC Memory, mask Mask) [][]Vector {
	sums := make([][]Vector, k.rows)
	for r := range sums {
		for range k.vectors {
			sums[r] = append(sums[r], k.vector())
		}
	}
	bias := NewScalar()
	Assign(bias, firstBias)
	JumpZero(bias, "noBias")
	load := k.loader(arg, mask)
	for i, v := range sums[0] {
		load(Memory{Base: bias, Offset: i * k.vectorBytes()}, v, i == k.vectors-1)
	}
	for _, row := range sums[1:] {
		for i, v := range row {
			Copy(v, sums[0][i])
		}
	}
	Jump("started")
	Label("noBias")
	if k.continues() {
		flags, c, row := NewScalar(), NewScalar(), NewScalar()
		Assign(flags, arg(argFlags))
		JumpUnless(flags, flagContinue, "zero")
		Assign(c, runC)
		Assign(row, arg(argCRow))
		k.eachVector(sums, c, row, k.loader(arg, mask))
		Jump("started")
		Label("zero")
	}
	for _, row := range sums {
		for _, v := range row {
			k.zero(v)
		}
	}
	Label("started")
	return sums
}

// continues reports whether the sums may start with C: those of whole panels of large matrices may.
func (k kernel) continues() bool { return k.fetches() && !k.halves }

// loader returns a function that loads a vector of a row, the last one with the mask.
func (k kernel) loader(arg func(int) Memory, mask Mask) func(m Memory, v Vector, last bool) {
	if !k.wide {
		table := NewScalar()
		Assign(table, arg(argMaskTable))
		mask = MaskTable(Memory{Base: table})
	}
	return func(m Memory, v Vector, last bool) {
		if last {
			LoadWhere(v, mask, m)
		} else {
			Load(v, m)
		}
	}
}

// epilogue adds C, applies relu and stores. AVX-512 always masks the last vector; AVX2, where masked stores are slow,
// has a separate path for it.
func (k kernel) epilogue(sums [][]Vector, arg func(int) Memory, runC Memory, mask Mask) {
	if k.wide {
		k.finish(sums, arg, runC, "", &mask)
		return
	}
	flags := NewScalar()
	Assign(flags, arg(argFlags))
	JumpIf(flags, flagMasked, "masked")
	k.finish(sums, arg, runC, "", nil)
	Jump("stored")
	Label("masked")
	table := NewScalar()
	Assign(table, arg(argMaskTable))
	lanes := MaskTable(Memory{Base: table})
	k.finish(sums, arg, runC, "Masked", &lanes)
	Label("stored")
}

// finish is epilogue with a mask for the last vectors, or without one.
func (k kernel) finish(sums [][]Vector, arg func(int) Memory, runC Memory, suffix string, mask *Mask) {
	flags, c, row := NewScalar(), NewScalar(), NewScalar()
	Assign(flags, arg(argFlags))
	Assign(row, arg(argCRow))
	JumpUnless(flags, flagAccumulate, "overwrite"+suffix)
	Assign(c, runC)
	k.eachVector(sums, c, row, func(m Memory, v Vector, last bool) {
		old := k.vector()
		if last && mask != nil {
			LoadWhere(old, *mask, m)
		} else {
			Load(old, m)
		}
		Add(v, v, old)
	})
	Label("overwrite" + suffix)
	if k.halves {
		k.addRounded(sums, arg)
	}
	JumpUnless(flags, flagReLU, "linear"+suffix)
	zero := k.vector()
	k.zero(zero)
	for r := range sums {
		for _, v := range sums[r] {
			k.max(v, zero)
		}
	}
	Label("linear" + suffix)
	Assign(c, runC)
	if k.halves {
		JumpIf(flags, flagRounded, "rounded")
	}
	k.eachVector(sums, c, row, func(m Memory, v Vector, last bool) {
		if last && mask != nil {
			StoreWhere(m, *mask, v)
		} else {
			Store(m, v)
		}
	})
	if k.halves {
		Jump("stored")
		Label("rounded")
		k.storeRounded(sums, arg, c, row)
		Label("stored")
	}
}

// eachVector visits the sums with their addresses in C; it advances c.
func (k kernel) eachVector(sums [][]Vector, c, row Scalar, visit func(m Memory, v Vector, last bool)) {
	for r := range sums {
		for i, v := range sums[r] {
			visit(Memory{Base: c, Offset: i * k.vectorBytes()}, v, i == k.vectors-1)
		}
		if r < len(sums)-1 {
			Increase(c, row)
		}
	}
}
