package block

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// intTypes maps the types of integers of one to four bytes to those of package vec.
var intTypes = map[ir.DType]vec.IntType{ir.Int8: vec.Int8Type, ir.Uint8: vec.Uint8Type, ir.Int16: vec.Int16Type, ir.Uint16: vec.Uint16Type,
	ir.Int32: vec.Int32Type, ir.Uint32: vec.Uint32Type}

// pairKernel returns the kernel of an operation on integers of one or two bytes that vectors compute in 32 bits, or of
// a power of integers of up to four bytes, or nil. rest is the kernel without vectors.
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

// powLongs returns the kernel of powers of 64-bit integers. It squares as often as the longest exponent of a piece has
// bits, without branches on an exponent. It leaves pieces with negative exponents to the kernel rest.
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
			if width > 2 && powByCode(z, x, y, width) {
				continue
			}
			for j, v := range x {
				r, e := uint64(1), y[j]
				for range width {
					r *= v ^ (v^1)&(e&1-1) // v if the bit is set, else 1
					v, e = v*v, e>>1
				}
				z[j] = r
			}
		}
	}
}

// powBits is how many bits of the exponents the code of [longPower] processes.
const powBits = 4

// longPower is code that multiplies results by numbers where the lowest bit of their exponents is set, squares the
// numbers, and continues with the next bit. Its pointers are results, numbers, exponents, ones, and two temporary
// places.
var longPower = sync.OnceValue(func() *jit.Code {
	const result, base, exponent, one, first, second = 0, 1, 2, 3, 4, 5
	var steps []jit.Step
	for i := range powBits {
		last := i == powBits-1
		add := func(op vec.ChainOp, dst, a, b uint8, stored bool) {
			steps = append(steps, jit.Step{Op: op, Dst: dst, In: [3]uint8{a, b}, Stored: stored})
		}
		add(vec.ChainAnd, first, exponent, one, false)
		add(vec.ChainNegInt, first, first, 0, false) // all ones where the bit is set
		add(vec.ChainSubInt, second, base, one, false)
		add(vec.ChainAnd, first, first, second, false)
		add(vec.ChainAddInt, first, first, one, false) // the number there, else 1
		add(vec.ChainMulInt, result, result, first, last)
		add(vec.ChainMulInt, base, base, base, last)
		add(jit.ShiftRightUint, exponent, exponent, one, last)
	}
	return jit.Compile(steps, 8, func(p uint8) bool { return p == one })
})

// powers has room for the operands of powers that are being computed.
type powers struct{ result, base, exponent, first, second [numberPiece]uint64 }

var powerPlaces pool.Recycler[powers]

// powByCode computes powers with compiled code. It returns false if there is none.
func powByCode(z, x, y []uint64, width int) bool {
	code := longPower()
	if code == nil || !code.Usable() {
		return false
	}
	p := powerPlaces.Get()
	for i := range z {
		p.result[i] = 1
	}
	copy(p.base[:], x)
	copy(p.exponent[:], y)
	pointers := [6]unsafe.Pointer{unsafe.Pointer(&p.result), unsafe.Pointer(&p.base), unsafe.Pointer(&p.exponent), unsafe.Pointer(&oneLong), unsafe.Pointer(&p.first), unsafe.Pointer(&p.second)}
	for ; width > 0; width -= powBits {
		code.Run(unsafe.Pointer(&pointers), len(z))
	}
	copy(z, p.result[:])
	powerPlaces.Put(p)
	return true
}

var oneLong = uint64(1)

// numbers are the second operands of [withNumber]: copies of 0, and of 1 in integers of 1, 2 and 4 bytes.
var numbers = func() (n struct {
	zero  [numberPiece]uint64
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

// withZero makes the second operand of f 0, withOne makes it 1. Elements have size bytes, and results have result
// bytes.
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

// byNumber returns the kernel of a unary operation on integers of up to 4 bytes that is a binary one with a fixed
// number, or one of the signed type. It returns nil for others.
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
