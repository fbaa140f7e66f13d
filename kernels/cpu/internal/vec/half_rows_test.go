package vec

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// halvesOf returns random bfloat16 numbers, and the same in float32.
func halvesOf(r *rand.Rand, n int) (x []uint16, wide []float32) {
	x, wide = make([]uint16, n), make([]float32, n)
	for i := range wide {
		wide[i] = float32(r.NormFloat64())
	}
	BFloat16.Narrow(x, wide)
	BFloat16.Widen(wide, x)
	return x, wide
}

// TestHalfRows compares results for bfloat16 in place with those for the widened numbers: the bits are the same.
func TestHalfRows(t *testing.T) {
	if !BFloat16.inPlace(halfColumnsOfTest) {
		t.Skip("kernels for rows of bfloat16 need AVX512-BF16, which this processor does not have: rows are widened here, as other tests see")
	}
	for _, shape := range [][2]int{{1, 64}, {3, 64}, {700, 16}, {37, 48}, {129, 64}, {300, 128}, {40, 1088}, {5, 17}, {33, 96}} {
		rows, cols := shape[0], shape[1]
		t.Run(fmt.Sprintf("%dx%d", rows, cols), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(rows), uint64(cols)))
			x, wideX := halvesOf(r, rows*cols)
			dy, wideDy := halvesOf(r, rows*cols)
			var tiles [5][]float32
			for i := range tiles {
				_, channels := halvesOf(r, cols)
				tiles[i] = make([]float32, Period(cols))
				Repeat(tiles[i], channels)
			}
			lines := func(h []uint16) Lines[float32] {
				return Lines[float32]{Halves: h, Of: BFloat16, Scratch: make([]float32, LinesScratch)}
			}
			want, got := make([]float64, 2*cols), make([]float64, 2*cols)
			MomentsOf(want[:cols], want[cols:], wideLines(wideX), rows, cols)
			MomentsOf(got[:cols], got[cols:], lines(x), rows, cols)
			assert.InDeltaSlice(t, want, got, 1e-3, "moments")
			for _, masked := range []bool{false, true} {
				scale, shift := tiles[3], tiles[4]
				if !masked {
					scale, shift = nil, nil
				}
				SumProductsOf(want[:cols], want[cols:], wideLines(wideDy), wideLines(wideX), rows, cols, tiles[0], scale, shift)
				SumProductsOf(got[:cols], got[cols:], lines(dy), lines(x), rows, cols, tiles[0], scale, shift)
				assert.Equal(t, want, got, "sums of a gradient, masked: %v", masked)

				wide, to, in := make([]float32, rows*cols), make([]uint16, rows*cols), make([]uint16, rows*cols)
				CombineRows(wide, wideX, wideDy, tiles[0], tiles[1], tiles[2], scale, shift)
				BFloat16.NarrowSums(to, wide)
				done := BFloat16.CombineRows(in, x, dy, tiles[0], tiles[1], tiles[2], scale, shift)
				assert.Equal(t, wholeLines(rows, cols), done)
				assert.Equal(t, to[:done], in[:done], "gradient, masked: %v", masked)
				assert.Zero(t, sumOf(in[done:]), "behind the gradient")

				AffineRows(wide, wideX, nil, tiles[0], tiles[1], masked)
				BFloat16.NarrowSums(to, wide)
				assert.Equal(t, done, BFloat16.AffineRows(in, x, nil, tiles[0], tiles[1], masked))
				assert.Equal(t, to[:done], in[:done], "relu: %v", masked)

				AffineRows(wide, wideX, nil, tiles[0], tiles[1], false)
				BFloat16.RoundAdd(to, wide, wideDy, masked)
				assert.Equal(t, done, BFloat16.AffineRows(in, x, dy, tiles[0], tiles[1], masked))
				assert.Equal(t, to[:done], in[:done], "sum, relu: %v", masked)
			}
		})
	}
}

// TestHalfExpAffine compares with results for the widened numbers: they differ by at most half a ULP and 2⁻¹⁵ of the
// number.
func TestHalfExpAffine(t *testing.T) {
	if !BFloat16.inPlace(0) {
		t.Skip("kernels for rows of bfloat16 need AVX512-BF16, which this processor does not have: rows are widened here, as other tests see")
	}
	for _, n := range []int{1, 15, 16, 31, 48, 64, 1000, 2*callElements + 16} {
		x, wide := halvesOf(rand.New(rand.NewPCG(uint64(n), 1)), n)
		got, gotWide := make([]uint16, n), make([]float32, n)
		ExpAffine(wide, wide, 1, -0.3, 0.7)
		if BFloat16.ExpAffine(got, x, -0.3, 0.7) {
			BFloat16.Widen(gotWide, got)
			for i, v := range gotWide {
				require.InEpsilon(t, wide[i], v, 0x1p-8+0x1p-15, "number %d of %d", i, n)
			}
		} else {
			assert.Less(t, n, 16)
			assert.Zero(t, sumOf(got), "%d numbers", n)
		}
	}
}

const halfColumnsOfTest = 64

func wideLines(x []float32) Lines[float32] { return Lines[float32]{X: x} }

// wholeLines is the number of elements that are computed in place.
func wholeLines(rows, cols int) int {
	n := Period(cols)
	if n%halfColumnsOfTest != 0 {
		return 0
	}
	return rows * cols / n * n
}

func sumOf(x []uint16) (sum int) {
	for _, v := range x {
		sum += int(v)
	}
	return sum
}
