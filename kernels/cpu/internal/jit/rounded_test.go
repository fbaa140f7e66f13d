package jit_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestRoundedWhenStored: values that one instruction rounds to 16 bits and stores have the bits of a conversion, for
// floats of all magnitudes. A value that is read later is rounded there too. Subnormals, which arithmetic treats as
// zero, are left out of products; negated ones keep their bits.
func TestRoundedWhenStored(t *testing.T) { onEach(t, roundedWhenStored) }

func roundedWhenStored(t *testing.T) {
	kinds := map[string]struct {
		round, store vec.ChainOp
		convert      func(dst []uint16, x []float32)
		widen        func(dst []float32, x []uint16)
	}{
		"bfloat16": {vec.ChainRoundBF16, vec.ChainStoreBF16, vec.Float32ToBF16, vec.BF16ToFloat32},
		"float16":  {vec.ChainRoundF16, vec.ChainStoreF16, vec.Float32ToF16, vec.F16ToFloat32},
	}
	const n = 1<<10 + 5
	x, ones, halves, doubled := make([]float32, n), make([]float32, n), make([]uint16, n), make([]float32, n)
	want, rounded, got := make([]uint16, n), make([]float32, n), make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	unused := make([]float32, n)
	pointers := [...]unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&ones[0]), unsafe.Pointer(&unused[0]), unsafe.Pointer(&halves[0]), unsafe.Pointer(&doubled[0])}
	for name, kind := range kinds {
		for variant := range 4 {
			readLater, negated := variant&1 > 0, variant&2 > 0
			first := jit.Step{Op: vec.ChainMul, Dst: 2, In: [3]uint8{0, 1}}
			if negated {
				first.Op = vec.ChainNeg
			}
			list := []jit.Step{
				first,
				{Op: kind.round, Dst: 2, In: [3]uint8{2}},
				{Op: kind.store, Dst: 3, In: [3]uint8{2}, Stored: true},
			}
			if readLater {
				list = append(list, jit.Step{Op: vec.ChainAdd, Dst: 4, In: [3]uint8{2, 2}, Stored: true})
			}
			code := jit.Compile(list, 4, func(uint8) bool { return false })
			require.NotNil(t, code)
			for bits := uint64(0); bits < 1<<32; {
				for i := range x {
					if x[i] = math.Float32frombits(uint32(bits)); uint32(bits)>>23&0xff == 0 && !negated {
						x[i] = 0
					}
					bits += 40009
				}
				code.Run(unsafe.Pointer(&pointers), n)
				if negated {
					for i := range x {
						x[i] = -x[i]
					}
				}
				kind.convert(want, x)
				kind.widen(rounded, want)
				kind.widen(got, halves)
				for i, w := range want {
					if isNaN := x[i] != x[i]; isNaN && got[i] == got[i] || !isNaN && halves[i] != w {
						t.Fatalf("%s of %v: %x, want %x", name, x[i], halves[i], w)
					}
					if readLater && !sameFloat(doubled[i], 2*rounded[i]) {
						t.Fatalf("%s of %v, read later: %v, want %v", name, x[i], doubled[i], 2*rounded[i])
					}
				}
			}
		}
	}
}
