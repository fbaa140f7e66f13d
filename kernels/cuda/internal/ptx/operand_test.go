package ptx

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Only powers of 2 have an exact reciprocal.
func TestInverse(t *testing.T) {
	for _, x := range []float32{1, 2, 0.25, -16384, 0x1p90, 0x1p-90} {
		inverse, known := Inverse(Float32(x))
		assert.True(t, known, x)
		assert.Equal(t, Float32(1/x), inverse)
	}
	for _, x := range []float32{0, 3, 0x1p-140, 0x1p127, float32(math.Inf(1)), float32(math.NaN())} {
		_, known := Inverse(Float32(x))
		assert.False(t, known, x)
	}
	for _, x := range []Operand{Float64(2), Int32(2), (&Kernel{}).Reg(F32), {}} {
		_, known := Inverse(x)
		assert.False(t, known)
	}
}
