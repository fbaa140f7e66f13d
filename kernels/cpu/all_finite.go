package cpu

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// finiteBlock is how many float32 are checked at a time, so that a second look finds them in the first-level cache.
const finiteBlock = 1 << 12

// buildAllFinite compiles the check that all numbers of an operand are finite.
func buildAllFinite(b *build) func() {
	if b.in(0).Typ.DType == ir.Float32 {
		return floatsFinite(b)
	}
	in, out := b.in(0), b.out(0)
	d := in.Typ.DType
	size := d.Size()
	exponent, least := uint64(0), uint64(0) // all exponent bits and the lowest exponent bit, for every number of a word
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
		if n := in.N % perWord * size; n > 0 { // the last numbers, in a word filled up with zeros
			var last [1]uint64
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&last)), 8), plan.BytesAt(unsafe.Add(in.Ptr(), 8*words.N), n))
			if infinite(last[:], exponent, least, signs) {
				found.Store(true)
			}
		}
		plan.Data[bool](out)[0] = !found.Load()
	}
}

// float16Overflow is the smallest float32 that float16 rounds to infinity.
const float16Overflow = 65520

// floatsFinite is buildAllFinite for float32, or for float32 that will be rounded to float16.
func floatsFinite(b *build) func() {
	out, beyond := b.out(0), float32(math.Inf(1))
	if b.n.Op == ir.Convert {
		beyond = float16Overflow
	}
	look := floatsFiniteCheck(b, b.in(0), beyond)
	return func() { plan.Data[bool](out)[0] = look() }
}

// floatsFiniteCheck returns a function that reports whether all numbers of an operand are smaller in magnitude than
// beyond, and none is NaN. If the sum of the squares is below the square of beyond, this is true of every number, and
// one read is enough. Otherwise it checks the largest and the smallest number, either of which is NaN if any number is.
func floatsFiniteCheck(b *build, in *plan.Operand, beyond float32) func() bool {
	surely := beyond
	if beyond == float16Overflow {
		surely = safeFloat16 * safeFloat16 // by more than the rounding errors of the sums
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
	return func() bool {
		found.Store(false)
		look()
		return !found.Load()
	}
}

// infinite reports whether some number has all exponent bits set. Adding one to the exponent then carries into the sign
// bit, and never into another number.
func infinite(words []uint64, exponent, least, signs uint64) bool {
	carried := uint64(0)
	for _, w := range words {
		carried |= w&exponent + least
	}
	return carried&signs != 0
}
