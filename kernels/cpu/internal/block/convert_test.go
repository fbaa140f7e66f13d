package block

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestConversionsToHalvesRoundOnce converts wide numbers, many of them next to a tie, and rounds as programs do.
func TestConversionsToHalvesRoundOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16} {
		round := Round(d)
		for range 20000 {
			exponent := r.IntN(80) - 40
			tie := math.Ldexp(float64(1+r.IntN(8192)), exponent)
			v := tie * (1 + float64(r.IntN(3)-1)*math.Ldexp(1, -20-r.IntN(33)))
			if r.IntN(2) == 0 {
				v = -v
			}
			got := converted[float64](Convert(ir.Float64, d), round, v)
			require.Equal(t, float32(ir.RoundFloat(d, v)), got, "%v of %v (%x)", d, v, v)

			w := uint32(r.Uint64() >> r.IntN(64))
			require.Equal(t, float32(ir.RoundFloat(d, float64(w))), converted[uint32](Convert(ir.Uint32, d), round, w), "%v of %d", d, w)
			require.Equal(t, float32(ir.RoundFloat(d, float64(int32(w)))), converted[int32](Convert(ir.Int32, d), round, int32(w)), "%v of %d", d, int32(w))

			k := int64(r.Uint64()>>r.IntN(64)) * int64(1-2*r.IntN(2))
			require.Equal(t, float32(ir.RoundFloat(d, stickyFloat64(k))), converted[int64](Convert(ir.Int64, d), round, k), "%v of %d", d, k)
			require.Equal(t, float32(ir.RoundFloat(d, float64(int32(k)))), converted[int32](Convert(ir.Int32, d), round, int32(k)), "%v of %d", d, int32(k))
			require.Equal(t, float32(ir.RoundFloat(d, float64(uint16(k)))), converted[uint16](Convert(ir.Uint16, d), round, uint16(k)), "%v of %d", d, uint16(k))
		}
	}
}

func converted[T any](convert, round Func, v T) (y float32) {
	convert(unsafe.Pointer(&y), unsafe.Pointer(&v), nil, nil, 1)
	round(unsafe.Pointer(&y), unsafe.Pointer(&y), nil, nil, 1)
	return y
}
