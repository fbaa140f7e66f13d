package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGatherRows copies rows of all short lengths among other bytes, which must not change.
func TestGatherRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for row := 1; row < 140; row++ {
		const rows, count = 5, 9
		x := make([]byte, rows*row)
		for i := range x {
			x[i] = byte(r.IntN(256))
		}
		at, want := make([]int64, count), bytes.Repeat([]byte{0xa5}, count*row+32)
		for i := range at {
			dst := want[16+i*row:][:row]
			if at[i] = int64(r.IntN(rows+1)) - 1; at[i] == dropped {
				clear(dst)
				continue
			}
			copy(dst, x[int(at[i])*row:])
		}
		y := bytes.Repeat([]byte{0xa5}, count*row+32)
		gatherRows(y[16:16+count*row], x, at, row)
		require.Equal(t, want, y, "rows of %d bytes", row)
	}
}
