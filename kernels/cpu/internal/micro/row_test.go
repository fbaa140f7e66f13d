package micro

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

func TestAddRowProduct(t *testing.T) {
	t.Run("float32", testAddRowProduct[float32])
	t.Run("float64", testAddRowProduct[float64])
}

func testAddRowProduct[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	var zero T
	epsilon := 0x1p-23
	if any(zero) == any(float64(0)) {
		epsilon = 0x1p-52
	}
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			for _, columns := range []int{1, 2, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 200, 513} {
				for _, rows := range []int{0, 1, 7, 8, 9, 17, 64, 803} {
					stride := columns + rng.IntN(3)
					x, b, dst := make([]T, rows), make([]T, max(rows-1, 0)*stride+columns), make([]T, columns)
					for _, s := range [][]T{x, b, dst} {
						for i := range s {
							s[i] = T(rng.NormFloat64())
						}
					}
					want, size := make([]float64, columns), make([]float64, columns)
					for c := range want {
						want[c] = float64(dst[c])
						size[c] = math.Abs(want[c])
						for k := range x {
							product := float64(x[k]) * float64(b[k*stride+c])
							want[c] += product
							size[c] += math.Abs(product)
						}
					}
					panels := make([]T, rows*(columns+PanelWidth[T]()))
					for c := 0; c < columns && rows > 0; c += PanelWidth[T]() {
						PackPanel(panels[c*rows:(c+PanelWidth[T]())*rows], b[c:], rows, min(PanelWidth[T](), columns-c), stride, 1)
					}
					before := slices.Clone(dst)
					AddRowProduct(dst, x, b, stride)
					AddRowPanels(before, x, panels)
					require.Equal(t, dst, before, "rows %d, columns %d: panels give other bits", rows, columns)
					for c := range want {
						require.InDelta(t, want[c], float64(dst[c]), epsilon*float64(rows+2)*size[c], "rows %d, column %d of %d", rows, c, columns)
					}
				}
			}
			require.Panics(t, func() { AddRowProduct(make([]T, 4), make([]T, 3), make([]T, 11), 4) })
			require.Panics(t, func() { AddRowPanels(make([]T, 4), make([]T, 3), make([]T, 3*PanelWidth[T]()-1)) })
		})
	}
}
