package block

import (
	"math/bits"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// intTypes are the types of integers of one to four bytes as package vec has them.
var intTypes = map[ir.DType]vec.IntType{ir.Int8: vec.Int8Type, ir.Uint8: vec.Uint8Type, ir.Int16: vec.Int16Type, ir.Uint16: vec.Uint16Type,
	ir.Int32: vec.Int32Type, ir.Uint32: vec.Uint32Type}

// pairKernel is the kernel of an operation on integers of one or two bytes that vectors compute in 32 bits, or of a
// power of integers of up to four bytes, or nil; rest is the one without vectors.
func pairKernel(op ir.Op, d ir.DType, rest Func) Func {
	if op == ir.Pow && d.Size() == 8 && d.IsInteger() {
		return powLongs(d.IsSigned(), rest)
	}
	k, ok := map[ir.Op]vec.SmallPair{ir.Div: vec.SmallDiv, ir.Rem: vec.SmallRem, ir.ShiftLeft: vec.SmallShiftLeft, ir.ShiftRight: vec.SmallShiftRight}[op]
	t, small := intTypes[d]
	size := d.Size()
	if !small || !(op == ir.Pow || ok && size <= 2) {
		return nil
	}
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		var done int
		if op == ir.Pow {
			done = vec.PowInts(t, dst, a, b, n)
		} else {
			done = vec.SmallPairs(k, t, dst, a, b, n)
		}
		if at := done * size; done < n {
			rest(unsafe.Add(dst, at), unsafe.Add(a, at), unsafe.Add(b, at), nil, n-done)
		}
	}
}

// powLongs is the kernel of powers of integers of 64 bits: by squaring, as often as the longest exponent of a piece has
// bits, without branches that depend on an exponent. Pieces with negative exponents are left to the kernel rest.
func powLongs(signed bool, rest Func) Func {
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		for i := 0; i < n; i += numberPiece {
			to, from, by, m := unsafe.Add(dst, 8*i), unsafe.Add(a, 8*i), unsafe.Add(b, 8*i), min(numberPiece, n-i)
			all, z, x, y := uint64(0), View[uint64](to, m), View[uint64](from, m), View[uint64](by, m)
			for _, e := range y {
				all |= e
			}
			if signed && int64(all) < 0 {
				rest(to, from, by, nil, m)
				continue
			}
			width := bits.Len64(all)
			for j, v := range x {
				r, e := uint64(1), y[j]
				for range width {
					r *= v ^ (v^1)&(e&1-1) // v where the bit is set, else 1
					v, e = v*v, e>>1
				}
				z[j] = r
			}
		}
	}
}

// numbers are what [withNumber] compares and combines with: copies of 0, and of 1 in integers of 1, 2 and 4 bytes.
var numbers = func() (n struct {
	zero  [numberPiece]uint32
	bytes [numberPiece]uint8
	words [numberPiece]uint16
	longs [numberPiece]uint32
}) {
	for i := range numberPiece {
		n.bytes[i], n.words[i], n.longs[i] = 1, 1, 1
	}
	return n
}()

const numberPiece = 512

// withZero is an operation whose second operand is 0, withOne one whose second operand is 1, of elements of so many
// bytes with results of so many.
func withZero(f Func, size, result int) Func {
	return withNumber(f, unsafe.Pointer(&numbers.zero), size, result)
}

func withOne(f Func, size int) Func {
	return withNumber(f, map[int]unsafe.Pointer{1: unsafe.Pointer(&numbers.bytes), 2: unsafe.Pointer(&numbers.words), 4: unsafe.Pointer(&numbers.longs)}[size], size, size)
}

//go:noinline
func withNumber(f Func, number unsafe.Pointer, size, result int) Func {
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		for i := 0; i < n; i += numberPiece {
			f(unsafe.Add(dst, i*result), unsafe.Add(a, i*size), number, nil, min(numberPiece, n-i))
		}
	}
}

// byNumber is the kernel of a unary operation on integers of up to 4 bytes that is one with a number, or one of the
// type with a sign; nil for others.
func byNumber(op ir.Op, d ir.DType) Func {
	switch {
	case !d.IsInteger() || d.Size() > 4:
		return nil
	case d.IsSigned() && op == ir.Relu:
		return withZero(Binary(ir.Maximum, d), d.Size(), d.Size())
	case d.IsSigned():
		return nil
	case op == ir.Relu:
		return copyBytes(d.Size())
	case op == ir.Sign:
		return withOne(Binary(ir.Minimum, d), d.Size())
	case op == ir.Neg:
		return vectorUnary(ir.Neg, d.Size())
	}
	return nil
}
