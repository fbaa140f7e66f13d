package vec

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestChainsOfHalves: loading, adding, rounding and storing 16-bit numbers in a chain gives the bits of the single
// kernels, at every length and for every kind of number.
func TestChainsOfHalves(t *testing.T) {
	types := []struct {
		load, round, store ChainOp
		widen              func([]float32, []uint16)
		narrow             func([]uint16, []float32)
	}{
		{ChainLoadBF16, ChainRoundBF16, ChainStoreBF16, BF16ToFloat32, Float32ToBF16},
		{ChainLoadF16, ChainRoundF16, ChainStoreF16, F16ToFloat32, Float32ToF16},
	}
	forLevels(t, func(t *testing.T) {
		if !Chains() {
			t.Skip("no chains with the portable kernels: operations run one by one there, as the other tests see")
		}
		r := rand.New(rand.NewPCG(1, 2))
		for _, typ := range types {
			for _, n := range []int{1, 5, 8, 16, 31, 128, 300} {
				x, y, out, sum := make([]uint16, n), make([]float32, n), make([]uint16, n), make([]float32, n)
				for i := range x {
					if x[i], y[i] = uint16(r.Uint32()), float32(r.NormFloat64()); i < len(special) {
						y[i] = special[i]
					}
				}
				p := unsafe.Pointer(&out[0])
				steps := []ChainStep{{Op: typ.load, X: unsafe.Pointer(&x[0])}, {Op: ChainAdd, X: unsafe.Pointer(&y[0])}, {Op: typ.round},
					{Op: typ.store, X: p}, {Op: typ.load, X: p}, {Op: ChainStore, X: unsafe.Pointer(&sum[0])}}
				Chain(steps, n)
				wide, want, back := make([]float32, n), make([]uint16, n), make([]float32, n)
				typ.widen(wide, x)
				Add(wide, wide, y)
				typ.narrow(want, wide)
				typ.widen(back, want)
				for i := range want {
					if back[i] != back[i] {
						require.True(t, sum[i] != sum[i], "%d of %d: %v is to be NaN", i, n, sum[i])
						continue
					}
					require.Equal(t, want[i], out[i], "%d of %d", i, n)
					require.Equal(t, math.Float32bits(back[i]), math.Float32bits(sum[i]), "%d of %d", i, n)
				}
			}
		}
	})
}
