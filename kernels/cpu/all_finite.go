package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buildAllFinite compiles the question whether all numbers of an operand are finite.
func buildAllFinite(b *build) func() {
	in, out := b.in(0), b.out(0)
	d := in.Typ.DType
	size := d.Size()
	exponent, least := uint64(0), uint64(0) // all bits of the exponent and its lowest one, in every number of a word
	for at := 0; at < 64; at += 8 * size {
		least |= 1 << (d.Digits() - 1) << at
		exponent |= (1<<(8*size-1) - 1<<(d.Digits()-1)) << at
	}
	signs := least + exponent
	if b.n.Op == ir.Convert { // numbers of float32, which are rounded to float16: its bits all but the sign's, and what carries the first that becomes infinite
		const magnitude, beyond, sign = 1<<31 - 1, 0x477ff000, 1 << 31
		exponent, least, signs = magnitude<<32|magnitude, (sign-beyond)<<32|(sign-beyond), sign<<32|sign
	}
	var found atomic.Bool
	perWord := 8 / size
	words := *in
	words.N = in.N / perWord
	look := b.rt().parallel(words.N, 1<<13, func(_ *worker, lo, hi int) {
		if !found.Load() && infinite(plan.Data[uint64](&words)[lo:hi], exponent, least, signs) {
			found.Store(true)
		}
	})
	return func() {
		found.Store(false)
		look()
		if n := in.N % perWord * size; n > 0 { // the last ones, in a word with zeros
			var last [1]uint64
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&last)), 8), plan.BytesAt(unsafe.Add(in.Ptr(), 8*words.N), n))
			if infinite(last[:], exponent, least, signs) {
				found.Store(true)
			}
		}
		plan.Data[bool](out)[0] = !found.Load()
	}
}

// infinite reports whether some number has all bits of its exponent set: then one more carries into the sign, and into
// no other number. So do numbers of float32 that are infinite in float16, with other constants.
func infinite(words []uint64, exponent, least, signs uint64) bool {
	carried := uint64(0)
	for _, w := range words {
		carried |= w&exponent + least
	}
	return carried&signs != 0
}
