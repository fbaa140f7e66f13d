package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Interleaved lines give the same bits as lines that are processed one by one, for every kind and type, also in place.
func TestCumulativeRows(t *testing.T) {
	cumulateRows[float32](t, ir.Float32, func(r *rand.Rand) float32 {
		return []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(-1)), float32(math.NaN()), float32(r.NormFloat64())}[min(r.IntN(40), 4)]
	})
	cumulateRows[float64](t, ir.Float64, func(r *rand.Rand) float64 { return r.NormFloat64() })
	cumulateRows[int8](t, ir.Int8, func(r *rand.Rand) int8 { return int8(r.Uint32()) })
	cumulateRows[uint8](t, ir.Uint8, func(r *rand.Rand) uint8 { return uint8(r.Uint32()) })
	cumulateRows[int16](t, ir.Int16, func(r *rand.Rand) int16 { return int16(r.Uint32()) })
	cumulateRows[uint16](t, ir.Uint16, func(r *rand.Rand) uint16 { return uint16(r.Uint32()) })
	cumulateRows[int32](t, ir.Int32, func(r *rand.Rand) int32 { return int32(r.Uint32()) })
	cumulateRows[uint32](t, ir.Uint32, func(r *rand.Rand) uint32 { return r.Uint32() })
	cumulateRows[int64](t, ir.Int64, func(r *rand.Rand) int64 { return int64(r.Uint64()) })
	cumulateRows[uint64](t, ir.Uint64, func(r *rand.Rand) uint64 { return r.Uint64() })
}

func cumulateRows[T block.Number](t *testing.T, d ir.DType, draw func(r *rand.Rand) T) {
	r := rand.New(rand.NewPCG(28, 2))
	highest := T(100)
	for _, kind := range []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min} {
		for try := range 20 {
			n, columns := 1+r.IntN(9), 1+r.IntN(70)
			s := cumulation[T]{kind: kind, identity: identityOf(kind, highest), exclusive: try%2 == 0, combine: combinerOf[T](kind, d)}
			x, want, got := make([]T, n*columns), make([]T, n*columns), make([]T, n*columns)
			for i := range x {
				x[i] = draw(r)
			}
			at, step := 0, columns
			if r.IntN(2) == 0 {
				at, step = (n-1)*columns, -columns
			}
			for c := range columns {
				s.line(want, x, at+c, step, n)
			}
			if !s.exclusive && (kind == ir.Sum || kind == ir.Prod || d == ir.Float64) { // the identity of extremes is not the least number here
				inPlace := slices.Clone(x)
				s.block(inPlace, inPlace, columns, step < 0)
				for i, v := range want {
					require.True(t, v == inPlace[i] || v != v && inPlace[i] != inPlace[i], "%v of %v, %d rows of %d, %d apart: %v at %d, expected %v", kind, d, n, columns, step, inPlace[i], i, v)
				}
			}
			if r.IntN(2) == 0 {
				got = x
			}
			s.rows(got, x, make([]T, 2*columns), at, step, n)
			for i, v := range want {
				same := v == got[i] && math.Signbit(float64(v)) == math.Signbit(float64(got[i])) || v != v && got[i] != got[i]
				require.True(t, same, "%v of %v, %d rows of %d: %v at %d, expected %v", kind, d, n, columns, got[i], i, v)
			}
		}
	}
}
