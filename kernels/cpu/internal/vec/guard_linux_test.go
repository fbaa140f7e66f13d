package vec

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestNothingOutsideIsTouched puts all operands next to unreadable memory.
func TestNothingOutsideIsTouched(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(23, 24))
		for n := 1; n < 150; n += 1 + n/40 {
			operand := func(n int) []float32 {
				x := guard.Copy(t, make([]float32, n), false)
				for i := range x {
					x[i] = rng.Float32()
				}
				return x
			}
			x, y, z, w := operand(n), operand(n), operand(n), operand(n)
			for _, c := range binaries {
				c.f32(x, y, z)
			}
			for _, f := range []func(dst, x []float32){Neg[float32], Abs[float32], Relu[float32], Sqrt[float32], Rsqrt[float32], Exp[float32],
				Log[float32], Tanh[float32], Sigmoid[float32], Erf[float32], Gelu[float32], Softmax[float32]} {
				f(x, y)
			}
			GeluGrad(x, y, z)
			MulAdd(x, y, z, w)
			Affine(x, y, 1, 2)
			AffineMul(x, y, z, 1, 2)
			ExpAffine(x, y, 1, 2, 3)
			Axpy(x, 2, y)
			Sum(x)
			Dot(x, y)
			SumLines(operand(3), operand(3*n))
			DotLines(operand(3), operand(3*n), operand(3*n))
			MaxOf(x)
			Adam(&AdamArgs[float32]{W: x, M: y, V: z, G: w, GradientScale: 1})
			Momentum(x, y, z, 1, 1, 1, false)
			Momentum(x, y, z, 1, 1, 1, true)
			scores := Scores{Rows: 3, Cols: n, Stride: ScoreStride(n), Seen: 1 + n/2, Step: 1}
			block, gradient := operand(3*scores.Stride), operand(3*scores.Stride)
			HideRows(block, scores, guard.Copy(t, make([]uint8, 3*n), false), n, 1)
			Fetch(block, 3, n, scores.Stride)
			SoftmaxRows(block, operand(3), scores, 1)
			SoftmaxRowsGrad(block, gradient, operand(3), scores, 1)
			h := guard.Copy(t, make([]uint16, n), false)
			Float32ToF16(h, x)
			F16ToFloat32(y, h)
			Float32ToBF16(h, x)
			for _, cols := range []int{n, max(n/3, 1)} { // lines that end at the end of memory
				rows := n / cols
				lines, ups := operand(rows*cols), operand(rows*cols)
				LogSumLines(operand(rows), lines, cols, operand(cols))
				LogSoftmaxLines(lines, lines, cols, operand(cols))
				LogSoftmaxLinesGrad(ups, lines, ups, cols, operand(cols))
				SoftmaxLines(lines, lines, cols)
				SoftmaxLinesGrad(ups, lines, ups, cols)
			}
			BF16ToFloat32(y, h)
			m, m2 := operand(3*n), operand(3*n)
			SumRows(x, m, 3, n, n)
			sums, products := make([]float64, n), make([]float64, n)
			Moments(sums, products, m, 3, n)
			tiles := make([][]float32, 5)
			for i := range tiles {
				tiles[i] = operand(Period(n))
			}
			SumProducts(sums, products, m, m2, 3, n, tiles[0], nil, nil)
			SumProducts(sums, products, m, m2, 3, n, tiles[0], tiles[1], tiles[2])
			for _, relu := range []bool{false, true} {
				AffineRows(m, m2, nil, tiles[0], tiles[1], relu)
				AffineRows(m, m2, m2, tiles[0], tiles[1], relu)
			}
			CombineRows(m, m2, m, tiles[0], tiles[1], tiles[2], nil, nil)
			CombineRows(m, m2, m, tiles[0], tiles[1], tiles[2], tiles[3], tiles[4])
			image, gradient := operand(16*n), operand(16*n)
			pooled, dy := operand(4*n), operand(4*n)
			MaxPool2x2(pooled, image, 1, 4, 4, n)
			MaxPool2x2Backward(gradient, dy, image, pooled, 1, 4, 4, n, true)
			MaxPool2x2Backward(gradient, dy, image, pooled, 1, 4, 4, n, false)
		}
	})
}

// TestNothingOutsideIsTouchedByRows is the same test for the cells of recurrent layers and for sums of rows, whose last
// vectors are partial or repeat elements.
func TestNothingOutsideIsTouchedByRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for n := 1; n < 70; n++ {
			one, other, next, up := guard.Copy(t, make([]float32, n), false), guard.Copy(t, make([]float32, n), false), guard.Copy(t, make([]float32, n), false), guard.Copy(t, make([]float32, n), false)
			three, three2, three3 := guard.Copy(t, make([]float32, 3*n), false), guard.Copy(t, make([]float32, 3*n), false), guard.Copy(t, make([]float32, 3*n), false)
			four, four2 := guard.Copy(t, make([]float32, 4*n), false), guard.Copy(t, make([]float32, 4*n), false)
			LstmCell(one, next, four, four2, other)
			LstmCellGrad(four2, next, four, other, one, up)
			GruCell(next, three, three2, three3, one)
			GruCellGrad(three2, three3, next, three, three3, one, up)
			for _, taps := range []int{2, 4} {
				if m := NewMix([]int{2, 0, 1, 2}, make([]float32, 4), taps, n, 3); m.Works() {
					m.Run(four[(4-4/taps)*n:], three, 0, 4/taps)
				}
			}
		}
	})
}

// TestCopyRowsTouchesNothingOutside copies rows, the first or the last of which is next to unreadable memory.
func TestCopyRowsTouchesNothingOutside(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		if _, ok := vectors(); !ok {
			return
		}
		const size = 1 << 14
		src, dst := guard.Copy(t, make([]uint8, size), false), guard.Copy(t, make([]uint8, size), false)
		rng := rand.New(rand.NewPCG(25, 26))
		for i := range src {
			src[i] = uint8(rng.Uint32())
		}
		for bytes := LeastCopied; bytes < 300; bytes++ {
			n, to, from := 1+rng.IntN(5), bytes+rng.IntN(2)*rng.IntN(70), bytes+rng.IntN(2)*rng.IntN(70)
			switch rng.IntN(4) {
			case 0:
				from = 0
			case 1:
				from = -from
			}
			far := (n - 1) * from
			x, y := size-max(far, 0)-bytes, size-(n-1)*to-bytes // of the first row
			clear(dst)
			require.True(t, CopyRows(unsafe.Pointer(&dst[y]), unsafe.Pointer(&src[x]), n, bytes, to, from))
			want := make([]uint8, size)
			for r := range n {
				copy(want[y+r*to:y+r*to+bytes], src[x+r*from:])
			}
			require.Equal(t, want, dst, "%d rows of %d bytes, %d and %d apart", n, bytes, to, from)
		}
	})
}
