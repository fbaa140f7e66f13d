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

// TestConversions compares conversions between numbers with their definitions: integers wrap around, floats are
// truncated and saturate, NaN becomes 0, and only 0 is false.
func TestConversions(t *testing.T) {
	integers := []ir.DType{ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Uint8, ir.Uint16, ir.Uint32, ir.Uint64}
	const n = 7 // more than are converted at once
	for _, from := range integers {
		for _, v := range []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x7fffffff, 0x80000000, 1 << 53, 1<<53 + 1, 1<<63 - 1, 1 << 63, math.MaxUint64} {
			v = wrapped(v, from)
			for _, to := range integers {
				require.Equal(t, wrapped(v, to), wrapped(convertAll(t, from, to, v, n), to), "%v %x to %v", from, v, to)
			}
			number := float64(v)
			if from.IsSigned() {
				number = float64(int64(v))
			}
			require.Equal(t, math.Float64bits(number), convertAll(t, from, ir.Float64, v, n), "%v %x", from, v)
			require.Equal(t, uint64(Bit(v != 0)), convertAll(t, from, ir.Bool, v, n), "%v %x", from, v)
		}
	}
	bounds := map[ir.DType][2]float64{ir.Int8: {-0x1p7, 0x1p7}, ir.Int16: {-0x1p15, 0x1p15}, ir.Int32: {-0x1p31, 0x1p31}, ir.Int64: {-0x1p63, 0x1p63},
		ir.Uint8: {0, 0x1p8}, ir.Uint16: {0, 0x1p16}, ir.Uint32: {0, 0x1p32}, ir.Uint64: {0, 0x1p64}}
	for to, b := range bounds {
		for _, v := range []float64{b[0], b[0] - 1, b[0] - 0.5, b[1], b[1] - 0.5, b[1] - 1, b[1] / 2, -0.9, 0.9, 1, -1, 99.5, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)} {
			want := uint64(0)
			switch {
			case v >= b[1]:
				want = 1<<(8*to.Size()-1)<<1 - 1 // all bits set
				if to.IsSigned() {
					want >>= 1
				}
			case v <= b[0]:
				want = uint64(int64(b[0]))
			case v < 0x1p63:
				want = uint64(int64(v))
			case v > 0:
				want = uint64(v)
			}
			require.Equal(t, wrapped(want, to), wrapped(convertAll(t, ir.Float64, to, math.Float64bits(v), n), to), "%v to %v", v, to)
		}
	}
}

// wrapped converts the bits of v to an integer of type d, as an int64 or uint64.
func wrapped(v uint64, d ir.DType) uint64 {
	unused := 64 - 8*d.Size()
	if d.IsSigned() {
		return uint64(int64(v<<unused) >> unused)
	}
	return v << unused >> unused
}

// convertAll converts v n times and returns the bits of the results, which must be equal.
func convertAll(t *testing.T, from, to ir.DType, v uint64, n int) (bits uint64) {
	t.Helper()
	x, y := make([]uint64, n), make([]uint64, n)
	for i := range n {
		copy(View[uint8](unsafe.Add(unsafe.Pointer(&x[0]), i*from.Size()), from.Size()), View[uint8](unsafe.Pointer(&v), 8))
	}
	Convert(from, to)(unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), nil, nil, n)
	at := func(i int) []uint8 { return View[uint8](unsafe.Add(unsafe.Pointer(&y[0]), i*to.Size()), to.Size()) }
	for i := range n {
		require.Equal(t, at(0), at(i))
	}
	copy(View[uint8](unsafe.Pointer(&bits), 8), at(0))
	return bits
}
