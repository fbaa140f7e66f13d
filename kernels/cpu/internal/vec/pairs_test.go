package vec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPairRows compares with the formula, at every number of columns and with rows apart.
func TestPairRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, columns := range []int{1, 3, 8, 15, 16, 17, 32, 47, 100} {
			for _, pairs := range []int{1, 2, 5} {
				from, to := columns+3, (columns+15)/16*16+1
				x, dst := make([]uint16, (2*pairs-1)*from+columns), make([]uint32, pairs*to)
				for i := range x {
					x[i] = uint16(40503 * (i + 1))
				}
				PairRows(dst, x, columns, pairs, to, from)
				for i := range pairs {
					for c := range columns {
						require.Equal(t, uint32(x[2*i*from+c])|uint32(x[(2*i+1)*from+c])<<16, dst[i*to+c], "%d columns, pair %d, column %d", columns, i, c)
					}
				}
			}
		}
	})
}

// TestWidenRows compares with Widen, row by row.
func TestWidenRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, h := range []Half{Float16, BFloat16} {
			for _, columns := range []int{1, 8, 15, 16, 32, 47} {
				for _, rows := range []int{1, 2, 7} {
					from, to := columns+3, (columns+15)/16*16+1
					x, dst, want := make([]uint16, (rows-1)*from+columns), make([]float32, rows*to), make([]float32, columns)
					for i := range x {
						x[i] = uint16(403 * (i + 1) % 0x7000) // neither infinite nor NaN
					}
					h.WidenRows(dst, x, columns, rows, to, from)
					for i := range rows {
						h.Widen(want, x[i*from:][:columns])
						require.Equal(t, want, dst[i*to:][:columns], "%d columns, row %d", columns, i)
					}
				}
			}
		}
	})
}
