package block

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestPowersOfLongs compares powers of 64-bit integers with package big. Pieces have exponents of different numbers of
// bits, and results may overwrite either operand.
func TestPowersOfLongs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	whole := new(big.Int).Lsh(big.NewInt(1), 64)
	for _, d := range []ir.DType{ir.Int64, ir.Uint64} {
		power := Binary(ir.Pow, d)
		for bits := range 65 {
			n := 1 + r.IntN(2*numberPiece+9)
			x, y, want := make([]uint64, n), make([]uint64, n), make([]uint64, n)
			for i := range x {
				x[i] = uint64(int64(r.Uint64()) >> r.IntN(64))
				if y[i] = r.Uint64() &^ (^uint64(0) << bits); i < n/2 && r.IntN(20) > 0 {
					y[i] &= 3
				}
				base, negative := new(big.Int).SetUint64(x[i]), d == ir.Int64 && int64(y[i]) < 0
				switch {
				case !negative:
					want[i] = base.Exp(base, new(big.Int).SetUint64(y[i]), whole).Uint64()
				case x[i] == 1, x[i] == ^uint64(0) && y[i]%2 == 0:
					want[i] = 1
				case x[i] == ^uint64(0):
					want[i] = x[i]
				}
			}
			p := func(s []uint64) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
			for place := range 3 {
				a, b, z := append([]uint64{}, x...), append([]uint64{}, y...), make([]uint64, n)
				z = [][]uint64{z, a, b}[place]
				power(p(z), p(a), p(b), nil, n)
				require.Equal(t, want, z, fmt.Sprint(d, " with exponents of ", bits, " bits, in place ", place))
			}
		}
	}
}
