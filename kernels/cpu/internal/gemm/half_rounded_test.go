package gemm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestHalfRoundedInTiles: sums of one block that tiles store as bfloat16 have the bits of sums that go through memory,
// which are rounded there without an instruction for it. That holds with bias and relu, and for infinities and NaN, and
// nothing is written beside them.
func TestHalfRoundedInTiles(t *testing.T) {
	defer isa.Override(isa.Executable() &^ isa.AMXBF16)()
	if !micro.RoundsVectors() {
		t.Skip("needs a processor with AVX512-BF16")
	}
	two := pool.New(2)
	defer two.Close()
	r := rand.New(rand.NewPCG(30, 11))
	rounded, biased := 0, 0
	tries := 40
	if testing.Short() {
		tries = 20
	}
	for try := range tries {
		a, c, _, _ := randomHalf(r)
		a.Type = vec.BFloat16
		if try%4 == 0 {
			const infinity = 0x7f80
			a.A[r.IntN(len(a.A))] = infinity | uint16(r.IntN(2)*0x40)
		}
		for i := range c {
			c[i] = 0x1234
		}
		run := func(workers *pool.Pool) []uint16 {
			a.C = append([]uint16(nil), c...)
			RunHalf(workers, a, make([]float32, HalfScratch(a, workers.Size())))
			return a.C
		}
		restore := isa.Override(isa.Active() &^ isa.AVX512BF16Round)
		want := run(nil)
		restore()
		for _, halfUnits := range []bool{false, true} {
			restore := isa.OverrideHalfUnits(halfUnits)
			n := a.normal()
			swapped := n.swap()
			if p := newHalfPlan(&n, 1, swapped); p.roundsVectors() {
				if rounded++; a.Bias != nil {
					biased++
				}
			}
			for _, workers := range []*pool.Pool{nil, two} {
				require.True(t, slices.Equal(want, run(workers)), "%s, %d workers", describeHalf(a), workers.Size())
			}
			restore()
		}
	}
	require.Positive(t, min(rounded-biased, biased))
}
