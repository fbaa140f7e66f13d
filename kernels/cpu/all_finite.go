package cpu

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// finiteBlock is how many numbers of float32 are looked at, if need be again while they are in the first-level cache.
const finiteBlock = 1 << 12

// buildAllFinite compiles the question whether all numbers of an operand are finite.
func buildAllFinite(b *build) func() {
	if b.in(0).Typ.DType == ir.Float32 {
		return floatsFinite(b)
	}
	in, out := b.in(0), b.out(0)
	d := in.Typ.DType
	size := d.Size()
	exponent, least := uint64(0), uint64(0) // all bits of the exponent and its lowest one, in every number of a word
	for at := 0; at < 64; at += 8 * size {
		least |= 1 << (d.Digits() - 1) << at
		exponent |= (1<<(8*size-1) - 1<<(d.Digits()-1)) << at
	}
	signs := least + exponent
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

// floatsFinite is buildAllFinite of float32, or of what it is rounded to in float16. Where the sum of the squares is
// below the square of the first number that is not finite, each number is, which one reading tells; else no largest or
// smallest number may be infinite or, as NaN is, none.
func floatsFinite(b *build) func() {
	in, out := b.in(0), b.out(0)
	beyond := float32(math.Inf(1))
	surely := beyond
	if b.n.Op == ir.Convert {
		beyond, surely = 65520, 65000*65000 // the first that is rounded to infinity, and less than its square by more than sums are rounded
	}
	var found atomic.Bool
	look := b.rt().parallel(in.N, 1<<14, func(_ *worker, lo, hi int) {
		for ; lo < hi && !found.Load(); lo += finiteBlock {
			x := plan.Data[float32](in)[lo:min(lo+finiteBlock, hi)]
			if !(vec.Dot(x, x) < surely || vec.MaxOf(x) < beyond && vec.MinOf(x) > -beyond) {
				found.Store(true)
			}
		}
	})
	return func() {
		found.Store(false)
		look()
		plan.Data[bool](out)[0] = !found.Load()
	}
}

// infinite reports whether some number has all bits of its exponent set: then one more carries into the sign, and into
// no other number.
func infinite(words []uint64, exponent, least, signs uint64) bool {
	carried := uint64(0)
	for _, w := range words {
		carried |= w&exponent + least
	}
	return carried&signs != 0
}
