package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// forLevels runs test with every set of kernels that this machine supports.
func forLevels(t *testing.T, test func(t *testing.T)) {
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			test(t)
		})
	}
}

// lengths are around the vector sizes and the blocks of the kernels.
var lengths = []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 1000, 5003}

func random[T Float](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	return x
}

// special lists a float32 of every kind that arithmetic treats differently.
var special = []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.5, -2, 3.25, math.MaxFloat32, -math.MaxFloat32, 0x1p-126, -0x1p-126,

	0x1p-127, -0x1p-149, 0x1p-149, 100, -100, 88.5, -88.5, 1e-20, 1e20, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	math.Float32frombits(0xffc12345)}

// equal compares as the tests require: NaN equals NaN, and zeros must have the same sign.
func equal(a, b float32) bool {
	return a != a && b != b || math.Float32bits(a) == math.Float32bits(b)
}

func TestShortInputPanics(t *testing.T) {
	long, short := make([]float32, 40), make([]float32, 39)
	for name, f := range map[string]func(){
		"Add": func() { Add(long, long, short) }, "Exp": func() { Exp(long, short) }, "Axpy": func() { Axpy(long, 1, short) },
		"Adam":   func() { Adam(&AdamArgs[float32]{W: long, M: long, V: short, G: long}) },
		"MulAdd": func() { MulAdd(long, long, long, short) }, "Dot": func() { Dot(long, short) },
		"F16": func() { F16ToFloat32(long, make([]uint16, 39)) }, "Momentum": func() { Momentum(long, short, long, 1, 1, 1, true) },
		"SumRows": func() { SumRows(long, short, 1, 40, 40) },
	} {
		assert.Panics(t, f, name)
	}
}

func TestNoAllocation(t *testing.T) {
	x, y, h := make([]float32, 1003), make([]float32, 1003), make([]uint16, 1003)
	forLevels(t, func(t *testing.T) {
		require.Zero(t, testing.AllocsPerRun(10, func() {
			Exp(x, y)
			Add(x, x, y)
			Axpy(x, 2, y)
			Softmax(x, y)
			Adam(&AdamArgs[float32]{W: x, M: x, V: x, G: y})
			SumRows(x[:10], y, 10, 10, 10)
			Float32ToF16(h, x)
			MaxPool2x2(x[:250], y, 1, 10, 10, 10)
		}))
	})
}
