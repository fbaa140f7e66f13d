package micro

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPackPanel(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		t.Run("float32", testPackPanel[float32])
		t.Run("float64", testPackPanel[float64])
	})
}

func testPackPanel[T Float](t *testing.T) {
	width := PanelWidth[T]()
	rng := rand.New(rand.NewPCG(7, 8))
	for _, trans := range []bool{false, true} {
		for cols := 1; cols <= width; cols++ {
			for rows := 1; rows < 20; rows++ {
				const ld = 41
				src := random[T](rng, ld*(ld-1)+rows, 0)
				dst := random[T](rng, rows*width+1, 0)
				guard := dst[rows*width]
				stepK, stepC := ld, 1
				if trans {
					stepK, stepC = 1, ld
					src = src[:(cols-1)*ld+rows]
				} else {
					src = src[:(rows-1)*ld+cols]
				}
				PackPanel(dst, src, rows, cols, stepK, stepC)
				require.Equal(t, guard, dst[rows*width])
				for k := range rows {
					for c := range width {
						expected := T(0)
						if c < cols {
							expected = src[k*stepK+c*stepC]
						}
						require.Equal(t, expected, dst[k*width+c])
					}
				}
				if trans {
					continue
				}
				clear(dst)
				PackColumns(dst[:rows*width:rows*width], src[:len(src):len(src)], rows, cols, stepK)
				for k := range rows {
					require.Equal(t, src[k*stepK:][:cols], dst[k*width:][:cols])
				}
			}
		}
	}
}

func TestTranspose(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		t.Run("float32", testTranspose[float32])
		t.Run("float64", testTranspose[float64])
	})
}

func testTranspose[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, rows := range []int{1, 3, 7, 8, 9, 16, 23} {
		for _, cols := range []int{1, 7, 8, 12, 33} {
			for _, gap := range []int{0, 5} {
				from, to := cols+gap, rows+gap
				src := random[T](rng, (rows-1)*from+cols, 0)
				dst := random[T](rng, (cols-1)*to+rows, 0)
				expected := slices.Clone(dst) // what lies between the rows stays
				for r := range rows {
					for c := range cols {
						expected[c*to+r] = src[r*from+c]
					}
				}
				Transpose(dst, src, rows, cols, to, from)
				require.Equal(t, expected, dst, "%d rows, %d columns, gaps of %d", rows, cols, gap)
			}
		}
	}
}

func BenchmarkPackPanel(b *testing.B) {
	const rows = 512
	src, dst := make([]float32, 32*rows), make([]float32, 32*rows)
	for _, c := range []struct {
		name         string
		stepK, stepC int
	}{{"copy", 32, 1}, {"transpose", 1, rows}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(8 * 32 * rows)
			for b.Loop() {
				PackPanel(dst, src, rows, 32, c.stepK, c.stepC)
			}
		})
	}
}
