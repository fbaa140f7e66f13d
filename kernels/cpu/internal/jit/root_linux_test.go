package jit_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestRootsBesideQuotients: square roots and inverse ones are rounded as IEEE 754 says also where a quotient in the
// same list of steps makes the multipliers compute them: all significands of two binades, so that even and odd
// exponents are among them, and floats of all magnitudes. Subnormals, which steps treat as zero, are left out.
func TestRootsBesideQuotients(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rootsBesideQuotients(t, 0x3f000000, 1<<24, 1)
		rootsBesideQuotients(t, 0, 1<<32, 4099)
	})
}

func rootsBesideQuotients(t *testing.T, first uint32, count, every uint64) {
	const n = 1<<12 + 5
	var of [5][]float32 // operands, roots, inverse roots, quotients, ones
	var pointers [5]unsafe.Pointer
	for p := range of {
		of[p] = make([]float32, n)
		pointers[p] = unsafe.Pointer(&of[p][0])
	}
	for i := range of[4] {
		of[4][i] = 1
	}
	steps := []jit.Step{
		{Op: vec.ChainSqrt, Dst: 1, In: [3]uint8{0}, Stored: true},
		{Op: vec.ChainDiv, Dst: 3, In: [3]uint8{4, 1}, Stored: true},
	}
	if jit.Has(jit.Rsqrt) {
		steps = append(steps, jit.Step{Op: jit.Rsqrt, Dst: 2, In: [3]uint8{0}, Stored: true})
	}
	code := jit.Compile(steps, 4, func(uint8) bool { return false })
	require.NotNil(t, code)
	for done := uint64(0); done < count; {
		for i := range of[0] {
			bits := first + uint32(done)
			if of[0][i] = math.Float32frombits(bits); bits>>23&0xff == 0 {
				of[0][i] = 0
			}
			done += every
		}
		code.Run(unsafe.Pointer(&pointers), n)
		for i, x := range of[0] {
			root := float32(math.Sqrt(float64(x)))
			if !sameFloat(of[1][i], root) {
				t.Fatalf("the root of %v: %v, want %v", x, of[1][i], root)
			}
			if !sameFloat(of[3][i], 1/root) || len(steps) > 2 && !sameFloat(of[2][i], 1/root) {
				t.Fatalf("the inverse root of %v: %v and %v, want %v", x, of[3][i], of[2][i], 1/root)
			}
		}
	}
}

// TestRootsOfZeros: vectors of zeros alone, of none and of some, as in tables of which few rows were used.
func TestRootsOfZeros(t *testing.T) {
	onEach(t, func(t *testing.T) {
		const n = 16*64 + 5
		var of [3][]float32
		var pointers [3]unsafe.Pointer
		for p := range of {
			of[p] = make([]float32, n)
			pointers[p] = unsafe.Pointer(&of[p][0])
		}
		for i := range n {
			of[0][i] = float32([]int{0, i, i % 3}[i/16%3])
		}
		code := jit.Compile([]jit.Step{
			{Op: vec.ChainSqrt, Dst: 1, In: [3]uint8{0}, Stored: true},
			{Op: vec.ChainDiv, Dst: 2, In: [3]uint8{1, 1}, Stored: true},
		}, 4, func(uint8) bool { return false })
		require.NotNil(t, code)
		code.Run(unsafe.Pointer(&pointers), n)
		for i, x := range of[0] {
			require.Equal(t, float32(math.Sqrt(float64(x))), of[1][i], "element %d of %v", i, x)
		}
	})
}
