package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestHalfSumsOfManyRows: a row has the same bits in a product of many rows as in one of few, however long the sums
// are. The numbers of a row cancel, so that the rounding of the sums is visible in 16 bits.
func TestHalfSumsOfManyRows(t *testing.T) {
	for _, path := range halfPaths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			r := rand.New(rand.NewPCG(21, 22))
			for _, k := range []int{60, 144, 784, 600, 1200, 2300} {
				a := HalfArgs{Type: vec.BFloat16, M: 200, N: 64, K: k, C: make([]uint16, 200*64)}
				a.A, _ = halves(r, a.Type, a.M*a.K)
				a.B, _ = halves(r, a.Type, a.K*a.N)
				for m := range a.M {
					for i := 0; i < k; i += 2 { // a pair of a row, and its negative a little further on
						if i%4 == 2 {
							a.A[m*k+i], a.A[m*k+i+1] = a.A[m*k+i-2]^0x8000, a.A[m*k+i-1]^0x8000
						}
					}
				}
				for i := range k / 4 * 4 {
					if i%4 >= 2 {
						copy(a.B[i*a.N:(i+1)*a.N], a.B[(i-2)*a.N:(i-1)*a.N])
					}
				}
				RunHalf(nil, &a, make([]float32, HalfScratch(&a, 1)))
				few := a
				few.M, few.C = 20, make([]uint16, 20*64)
				RunHalf(nil, &few, make([]float32, HalfScratch(&few, 1)))
				require.Equal(t, a.C[:len(few.C)], few.C, "sums of %d", k)
			}
		})
	}
}

// TestHalfChunksOfNearPanels: in a product of few rows, a chunk has as many columns as fit in panels in the first-level
// cache. The results of a product of several chunks are those of one column after the other.
func TestHalfChunksOfNearPanels(t *testing.T) {
	for _, path := range halfPaths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			r := rand.New(rand.NewPCG(23, 24))
			for k, want := range map[int]int{6: 1000, 17: 896, 30: 544, 34: 256, 300: 256} {
				a := HalfArgs{Type: vec.BFloat16, M: 5, N: 1000, K: k, C: make([]uint16, 5*1000)}
				a.A, _ = halves(r, a.Type, a.M*a.K)
				a.B, _ = halves(r, a.Type, a.K*a.N)
				n := a.normal()
				if plan := newHalfPlan(&n, 1, false); plan.passes(&n) {
					require.Equal(t, ceil(want, 32)*32, plan.cols, "sums of %d", k)
				}
				RunHalf(nil, &a, make([]float32, HalfScratch(&a, 1)))
				for _, from := range []int{0, 543, 544, 895, 896, 999} { // the last column of one chunk, the first of another
					few := a
					few.LDB, few.B = a.N, a.B[from:]
					few.N, few.C = 1, make([]uint16, 5)
					RunHalf(nil, &few, make([]float32, HalfScratch(&few, 1)))
					for row := range few.M {
						require.Equal(t, a.C[row*a.N+from], few.C[row], "sums of %d", k)
					}
				}
			}
		})
	}
}
