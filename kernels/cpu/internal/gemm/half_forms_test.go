package gemm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestHalfBitsOfForms: a result has the same bits whatever the number of columns, one or a few among them, and however
// A is stored. The second half of each sum nearly cancels the first, which reveals another order.
func TestHalfBitsOfForms(t *testing.T) {
	for _, path := range halfPaths() {
		restore := isa.Override(path)
		r, swapped := rand.New(rand.NewPCG(3, 77)), 0
		for _, k := range []int{36, 40, 60, 72, 78, 100, 104, 112, 200, 1100} {
			const m, n = 48, 320
			x, y := make([]float32, m*k), make([]float32, k*n)
			for i := range x {
				if x[i] = float32(r.NormFloat64()); i%k >= k/2 {
					x[i] = x[i-k/2]
				}
			}
			for i := range y {
				if y[i] = float32(r.NormFloat64()); i/n >= k/2 {
					y[i] = -y[i-k/2*n]
				}
			}
			a, b, apart, turned := make([]uint16, m*k), make([]uint16, k*n), make([]uint16, m*(k+1)), make([]uint16, m*k)
			vec.BFloat16.Narrow(a, x)
			vec.BFloat16.Narrow(b, y)
			for i := range m {
				a[i*k] ^= uint16(i) & 15
				copy(apart[i*(k+1):], a[i*k:][:k])
				for l := range k {
					turned[l*m+i] = a[i*k+l]
				}
			}
			bias, _ := halves(r, vec.BFloat16, n)
			for _, few := range []int{1, 3, 8, 96} {
				product := func(h HalfArgs) []uint16 {
					h.Type, h.M, h.K, h.B, h.LDB, h.LDC, h.C = vec.BFloat16, m, k, b, n, n, make([]uint16, m*n)
					if k%8 == 0 {
						h.Bias, h.ReLU = bias, true
					}
					if normal := h.normal(); !h.TransA && normal.swap() {
						swapped++
					}
					RunHalf(nil, &h, make([]float32, HalfScratch(&h, 1)))
					columns := make([]uint16, 0, m*few)
					for i := range m {
						columns = slices.Concat(columns, h.C[i*n:][:few])
					}
					return columns
				}
				want := product(HalfArgs{N: n, A: a, LDA: k})
				require.Equal(t, want, product(HalfArgs{N: few, A: a, LDA: k}), "%v, sums of %d: %d columns", path, k, few)
				require.Equal(t, want, product(HalfArgs{N: few, A: apart, LDA: k + 1}), "%v, sums of %d: %d columns, rows apart", path, k, few)
				if few == 1 && micro.Matrices() {
					continue // the result is a row, which vectors multiply
				}
				require.Equal(t, want, product(HalfArgs{N: few, A: turned, LDA: m, TransA: true}), "%v, sums of %d: %d columns, A transposed", path, k, few)
			}
		}
		require.Equal(t, micro.Pairs() && !micro.Matrices() && isa.Active().Has(isa.Vectors512), swapped > 0, "%v: few columns are computed as the transpose", path)
		restore()
	}
}
