package cpu

import (
	"math"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buildCheckFinite looks for the first element that is not finite. If nothing else needs the operand, the result shares
// its memory.
func buildCheckFinite(b *build) (func(), error) {
	d := b.in(0).Typ.DType
	exponent := uint64(1)<<(8*d.Size()-1) - uint64(1)<<(d.Digits()-1) // its bits are between the sign and the digits
	switch d.Size() {
	case 1:
		return checkFinite(b, uint8(exponent)), nil
	case 2:
		return checkFinite(b, uint16(exponent)), nil
	case 4:
		return checkFinite(b, uint32(exponent)), nil
	}
	return checkFinite(b, exponent), nil
}

// checkFinite examines the bits of numbers. A number is not finite if all its exponent bits are set.
func checkFinite[T uint8 | uint16 | uint32 | uint64](b *build, exponent T) func() {
	in, out, rt := b.in(0), b.out(0), b.rt()
	attrs, scope, moves := b.n.Attrs.(ir.CheckFiniteAttrs), b.n.Scope, b.in(0).Mem != b.out(0).Mem || b.in(0).Off != b.out(0).Off
	first := new(atomic.Int64)
	look := rt.parallel(in.N, grain(1), func(_ *worker, lo, hi int) {
		x := plan.Data[T](in)[lo:hi]
		if moves {
			copy(plan.Data[T](out)[lo:hi], x)
		}
		for i, v := range x {
			if v&exponent == exponent {
				lower(first, int64(lo+i))
				return
			}
		}
	})
	return func() {
		first.Store(math.MaxInt64)
		look()
		if i := first.Load(); i < math.MaxInt64 {
			rt.fail(attrs.Failure(scope, in.Typ.Shape, int(i)))
		}
	}
}

// lower sets number to the smaller of itself and to.
func lower(number *atomic.Int64, to int64) {
	for {
		old := number.Load()
		if old <= to || number.CompareAndSwap(old, to) {
			return
		}
	}
}
