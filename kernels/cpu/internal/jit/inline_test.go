package jit_test

import (
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

var everyFloat = flag.Bool("every-float", false, "functions of all floats, not one of some thousands")

// TestFunctions: compiled functions have the bits of their kernels, for floats of all magnitudes, and do not change
// their operand.
func TestFunctions(t *testing.T) {
	needsFunctions(t)
	functions := map[vec.ChainOp]func(dst, x []float32){jit.Rsqrt: vec.Rsqrt[float32], jit.Exp: vec.Exp[float32], jit.Log: vec.Log[float32],
		jit.Tanh: vec.Tanh[float32], jit.Sigmoid: vec.Sigmoid[float32], jit.Erf: vec.Erf[float32], jit.Expm1: vec.Expm1[float32],
		jit.Log1p: vec.Log1p[float32], jit.Asin: vec.Asin[float32], jit.Acos: vec.Acos[float32], jit.Atan: vec.Atan[float32],
		jit.Sinh: vec.Sinh[float32], jit.Cosh: vec.Cosh[float32], jit.Asinh: vec.Asinh[float32], jit.Acosh: vec.Acosh[float32],
		jit.Atanh: vec.Atanh[float32], jit.ErfInv: vec.ErfInv[float32], jit.Exp2: vec.Exp2[float32], jit.Gelu: vec.Gelu[float32],
		jit.CoarseGelu: vec.CoarseGelu, jit.CoarseExp: vec.CoarseExp, jit.CoarseSigmoid: vec.CoarseSigmoid}
	step := uint64(40009)
	if *everyFloat {
		step = 1
	}
	const n = 4096 + 5
	x, y, sum, want := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	pointers := [...]unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), unsafe.Pointer(&sum[0])}
	for op, f := range functions {
		code := jit.Compile([]jit.Step{
			{Op: op, Dst: 1, In: [3]uint8{0}, Stored: true},
			{Op: vec.ChainXor, Dst: 2, In: [3]uint8{0, 1}, Stored: true},
		}, 4, func(uint8) bool { return false })
		require.NotNil(t, code)
		for bits := uint64(0); bits < 1<<32; {
			for i := range x {
				x[i] = math.Float32frombits(uint32(bits))
				bits += step
			}
			code.Run(unsafe.Pointer(&pointers), n)
			f(want, x)
			for i, v := range want {
				bits, from := math.Float32bits(v), math.Float32bits(x[i])
				if bits != math.Float32bits(y[i]) || bits^from != math.Float32bits(sum[i]) {
					t.Fatalf("operation %d of %x: %v, want %v; with the operand %x", op, from, y[i], v, math.Float32bits(sum[i]))
				}
			}
		}
	}
}

// TestFunctionsOfTwo is TestFunctions for functions of two operands.
func TestFunctionsOfTwo(t *testing.T) {
	needsFunctions(t)
	const n = 1<<12 + 3
	x, y, z, want := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	pointers := [...]unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), unsafe.Pointer(&z[0])}
	for op, f := range map[vec.ChainOp]func(dst, a, b []float32){jit.Pow: vec.Pow[float32], jit.Atan2: vec.Atan2[float32],
		jit.GeluGrad:       func(dst, x, dy []float32) { vec.GeluGrad(dst, dy, x) },
		jit.CoarseGeluGrad: func(dst, x, dy []float32) { vec.CoarseGeluGrad(dst, dy, x) }} {
		code := jit.Compile([]jit.Step{{Op: op, Dst: 2, In: [3]uint8{0, 1}, Stored: true}}, 4, func(uint8) bool { return false })
		require.NotNil(t, code)
		for round := range 8 {
			for i := range x {
				x[i] = math.Float32frombits(uint32((i*8 + round) * 0x9e3779b9))
				y[i] = math.Float32frombits(uint32((i*8 + round) * 0x85ebca6b))
				switch {
				case i%7 == 0:
					x[i], y[i] = float32(i%64)/4-8, float32(i%51)/5-5
				case i%16 == 1:
					y[i] = []float32{0, 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}[i/16%6]
				}
			}
			code.Run(unsafe.Pointer(&pointers), n)
			f(want, x, y)
			for i, v := range want {
				if math.Float32bits(v) != math.Float32bits(z[i]) {
					t.Fatalf("operation %d of %v and %v: %v, want %v", op, x[i], y[i], z[i], v)
				}
			}
		}
	}
}

// TestDivisions: quotients and remainders of signed and unsigned integers are Go's; by 0 they are 0.
func TestDivisions(t *testing.T) { onEach(t, divisions) }

func divisions(t *testing.T) {
	const n = 1<<13 + 7
	r := rand.New(rand.NewPCG(7, 7))
	a, b, c := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	edges := []uint32{0, 1, 2, 3, 7, 0xffffffff, 0xfffffffe, 1 << 31, 1<<31 - 1, 1<<31 + 1}
	for i := range a {
		a[i], b[i] = r.Uint32()>>r.IntN(32), r.Uint32()>>r.IntN(32)
		switch i % 4 {
		case 0:
			a[i], b[i] = edges[r.IntN(len(edges))], edges[r.IntN(len(edges))]
		case 1: // just below and at a multiple
			a[i] = a[i]/max(b[i], 1)*b[i] - uint32(r.IntN(2))
		case 2:
			b[i] = -b[i]
		}
	}
	pointers := [...]unsafe.Pointer{unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&c[0])}
	for op, f := range map[vec.ChainOp]func(a, b uint32) uint32{
		jit.DivInt:  func(a, b uint32) uint32 { return uint32(int32(a) / int32(b)) },
		jit.RemInt:  func(a, b uint32) uint32 { return uint32(int32(a) % int32(b)) },
		jit.DivUint: func(a, b uint32) uint32 { return a / b },
		jit.RemUint: func(a, b uint32) uint32 { return a % b },
	} {
		code := jit.Compile([]jit.Step{{Op: op, Dst: 2, In: [3]uint8{0, 1}, Stored: true}}, 4, func(uint8) bool { return false })
		code.Run(unsafe.Pointer(&pointers), n)
		for i := range a {
			want := uint32(0)
			if b[i] != 0 {
				want = f(a[i], b[i])
			}
			if want != c[i] {
				t.Fatalf("operation %d of %#x and %#x: %#x, want %#x", op, a[i], b[i], c[i], want)
			}
		}
	}
}

// TestShiftsAndSigns: shifts (also by more bits than there are), relu, signs and complements of integers of 32 and 64
// bits are Go's.
func TestShiftsAndSigns(t *testing.T) {
	needsCode(t)
	requireIntegers[int32, uint32](t, 4)
	requireIntegers[int64, uint64](t, 8)
}

func requireIntegers[S int32 | int64, U uint32 | uint64](t *testing.T, size int) {
	const n = 1<<10 + 7
	r := rand.New(rand.NewPCG(9, uint64(size)))
	a, b, c := make([]U, n), make([]U, n), make([]U, n)
	for i := range a {
		a[i], b[i] = U(r.Uint64())>>r.IntN(64), U(r.IntN(8*size+3))
		if i%8 == 0 {
			a[i], b[i] = U(r.IntN(2)), -b[i]
		}
	}
	pointers := [...]unsafe.Pointer{unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&c[0])}
	for op, f := range map[vec.ChainOp]func(a, b U) U{
		jit.ShiftLeft:      func(a, b U) U { return a << b },
		jit.ShiftRightInt:  func(a, b U) U { return U(S(a) >> b) },
		jit.ShiftRightUint: func(a, b U) U { return a >> b },
		jit.ReluInt:        func(a, _ U) U { return U(max(S(a), 0)) },
		jit.SignInt:        func(a, _ U) U { return U(max(min(S(a), 1), -1)) },
		jit.SignUint:       func(a, _ U) U { return min(a, 1) },
		jit.NotInt:         func(a, _ U) U { return ^a },
	} {
		code := jit.Compile([]jit.Step{{Op: op, Dst: 2, In: [3]uint8{0, 1}, Stored: true}}, size, func(uint8) bool { return false })
		code.Run(unsafe.Pointer(&pointers), n)
		for i := range a {
			if want := f(a[i], b[i]); want != c[i] {
				t.Fatalf("operation %d of %#x and %#x, %d bytes: %#x, want %#x", op, a[i], b[i], size, c[i], want)
			}
		}
	}
}

// TestConversionsWithOddBits: 64-bit numbers that no float32 equals are truncated and get an odd last bit.
func TestConversionsWithOddBits(t *testing.T) {
	needsCode(t)
	const n = 1<<10 + 7
	r := rand.New(rand.NewPCG(10, 64))
	a, c := make([]uint64, n), make([]float32, n)
	pointers := [...]unsafe.Pointer{unsafe.Pointer(&a[0]), nil, unsafe.Pointer(&c[0])}
	for from, value := range map[ir.DType]func(x uint64) *big.Float{
		ir.Int64:   func(x uint64) *big.Float { return new(big.Float).SetInt64(int64(x)) },
		ir.Uint64:  func(x uint64) *big.Float { return new(big.Float).SetUint64(x) },
		ir.Float64: func(x uint64) *big.Float { return big.NewFloat(math.Float64frombits(x)) },
	} {
		for i := range a {
			a[i] = r.Uint64() >> r.IntN(64)
			switch {
			case from == ir.Float64:
				a[i] = math.Float64bits(r.NormFloat64() * math.Ldexp(1, r.IntN(40)))
			case i%2 == 0:
				a[i] = -a[i]
			}
		}
		code := jit.Compile([]jit.Step{{Op: jit.ConvertOdd, From: from, Dst: 2, In: [3]uint8{0}, Stored: true}}, 8, func(uint8) bool { return false })
		code.Run(unsafe.Pointer(&pointers), n)
		for i, x := range a {
			f := new(big.Float).SetPrec(24).SetMode(big.ToZero).Set(value(x))
			want, _ := f.Float32()
			if f.Cmp(value(x)) != 0 {
				want = math.Float32frombits(math.Float32bits(want) | 1)
			}
			if want != c[i] {
				t.Fatalf("%v %#x: %v, want %v", from, x, c[i], want)
			}
		}
	}
}
