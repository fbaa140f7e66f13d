package amx

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestStartBytes: what sums begin with is -128 times the sum of the row, whether one call computes all rows or several,
// and nothing is written behind them.
func TestStartBytes(t *testing.T) {
	needed(t)
	r := rand.New(rand.NewPCG(11, 12))
	for _, s := range []struct{ rows, groups int }{{1, 1}, {5, 16}, {16, 3}, {17, 32}, {49, 48}, {333, 64}, {1025, 1024}, {2100, 1024}, {33, 1 << 16}} {
		row := BytesRow(s.groups)
		a, start := make([]int8, (s.rows+height)*row), make([]int32, (s.rows+height)*StartRow/word)
		for i := range s.rows + height {
			for k := range 4 * s.groups {
				a[i*row+k] = int8(r.IntN(256) - 128)
			}
		}
		StartBytes(&Bytes{A: unsafe.Pointer(&a[0]), Start: unsafe.Pointer(&start[0]), Rows: s.rows, Groups: s.groups, ARow: row})
		require.Equal(t, make([]int32, height*StartRow/word), start[s.rows*StartRow/word:])
		for i := range s.rows {
			want := int32(0)
			for _, x := range a[i*row:][:4*s.groups] {
				want -= 128 * int32(x)
			}
			for _, got := range start[i*StartRow/word:][:StartRow/word] {
				require.Equal(t, want, got, "%d rows of %d groups, row %d", s.rows, s.groups, i)
			}
		}
	}
}
