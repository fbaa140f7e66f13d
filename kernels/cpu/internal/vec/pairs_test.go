package vec

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestPairRows compares with the formula, for every number of columns and with gaps between rows.
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

// TestRoundPairs compares with Narrow; what follows the columns does not change.
func TestRoundPairs(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, h := range []Half{Float16, BFloat16} {
			for _, columns := range []int{16, 32, 48, 112} {
				for _, rows := range []int{1, 2, 5, 40} {
					from, to, panel := columns+16, columns+2, (rows+1)/2*pairColumns+7
					x := guard.Copy(t, make([]float32, (rows-1)*from+columns), false)
					for i := range x {
						x[i] = float32(math.Sin(float64(i))) * float32(math.Exp(float64(i%40-20)))
					}
					x[0], x[columns-1] = float32(math.NaN()), float32(math.Inf(1))
					whole := (columns + pairColumns - 1) / pairColumns * pairColumns
					panels, dst := make([]uint32, whole/pairColumns*panel), make([]uint16, rows*to)
					wantPanels, want := slices.Clone(panels), slices.Clone(dst)
					for r := range rows {
						row := want[r*to:][:columns]
						h.Narrow(row, x[r*from:][:columns])
						for c, v := range row {
							wantPanels[c/pairColumns*panel+r/2*pairColumns+c%pairColumns] |= uint32(v) << (r % 2 * 16)
						}
					}
					h.RoundPairs(panels, dst, x, columns, rows, panel, to, from)
					require.Equal(t, want, dst, "%d columns, %d rows", columns, rows)
					require.Equal(t, wantPanels, panels, "%d columns, %d rows", columns, rows)
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
				for try, rows := range []int{1, 2, 7, 7} {
					from, to := columns+3, (columns+15)/16*16+1
					if try == 3 { // contiguous rows
						from, to = columns, columns
					}
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

// TestNarrowRows compares with Narrow and RoundAdd, row by row; what lies between the rows does not change.
func TestNarrowRows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, h := range []Half{Float16, BFloat16} {
			for _, columns := range []int{1, 2, 3, 6, 7, 8, 9, 15, 16, 20, 31, 33, 48, 100} {
				rows := map[bool]int{true: 70, false: 5}[columns < 16]
				gap := columns % 3 // 0: contiguous rows
				from, to := columns+gap, columns+2*gap
				x, y := guard.Copy(t, make([]float32, (rows-1)*from+columns), false), make([]float32, columns)
				for i := range x {
					x[i] = float32(math.Sin(float64(i))) * float32(math.Exp(float64(i%40-20)))
				}
				x[1%columns], x[from] = float32(math.NaN()), float32(math.Inf(1))
				for i := range y {
					y[i] = float32(i%7 - 3)
				}
				dst, want := make([]uint16, rows*to), make([]uint16, rows*to)
				for r := range rows {
					h.Narrow(want[r*to:][:columns], x[r*from:][:columns])
				}
				h.NarrowRows(dst, x, columns, rows, to, from)
				require.Equal(t, want, dst, "%d columns", columns)
				for _, relu := range []bool{false, true} {
					clear(want)
					clear(dst)
					for r := range rows {
						h.RoundAdd(want[r*to:][:columns], slices.Clone(x[r*from:][:columns]), y, relu)
					}
					sums := guard.Copy(t, make([]float32, len(x)), false)
					copy(sums, x)
					h.RoundAddRows(dst, sums, y, columns, rows, to, from, relu)
					require.Equal(t, want, dst, "%d columns, with a bias, relu %v", columns, relu)
				}
				w := make([]float32, rows*to)
				for i := range w {
					w[i] = float32(math.Cos(float64(i)))
				}
				less := slices.Clone(w)
				for r := range rows {
					row, rounded := make([]float32, columns), make([]uint16, columns)
					h.Narrow(rounded, x[r*from:][:columns])
					h.Widen(row, rounded)
					Axpy(less[r*to:][:columns], -0.3, row)
				}
				h.SubtractRows(w, slices.Clone(x), 0.3, columns, rows, to, from)
				for i := range w {
					require.Equal(t, math.Float32bits(less[i]), math.Float32bits(w[i]), "%d columns, subtracted", columns)
				}
			}
		}
	})
}

// TestNarrowSums compares with Narrow for numbers of every exponent, halfway between two 16-bit numbers, close to that
// and elsewhere, and for infinities and NaN. Subnormals, which programs flush, may become 0.
func TestNarrowSums(t *testing.T) {
	var x []float32
	for high := range uint32(1 << 16) {
		for _, low := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			if v := math.Float32frombits(high<<16 | low); !isDenormal(v) {
				x = append(x, v)
			}
		}
	}
	forLevels(t, func(t *testing.T) {
		for _, h := range []Half{Float16, BFloat16} {
			got, want := make([]uint16, len(x)), make([]uint16, len(x))
			h.NarrowSums(got, x)
			h.Narrow(want, x)
			require.Equal(t, want, got)
			few := make([]uint16, 3)
			h.NarrowSums(few, x[len(x)-3:])
			require.Equal(t, want[len(x)-3:], few)
		}
	})
}
