package quant

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTableRows compares rows of random tables with what each number says, to the bit, and checks that nothing else is
// written.
func TestTableRows(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 3))
	for range 600 {
		table := &Table{Columns: r.IntN(90), Bytes: r.IntN(3) == 0}
		if r.IntN(20) == 0 {
			table.Columns = 300 + r.IntN(400)
		}
		const rows = 3
		bytes := table.Columns
		if !table.Bytes {
			bytes = (table.Columns + 1) / 2
			if r.IntN(2) == 0 {
				table.Block = []int{1, 2, 3, 8, 12, 16, 32, 64, 1 + r.IntN(70)}[r.IntN(9)]
			}
		}
		for range rows * bytes {
			table.Integers = append(table.Integers, int8(r.IntN(256)-128))
		}
		blocks := 1
		if table.Block > 0 {
			blocks = (table.Columns + table.Block - 1) / table.Block
		}
		for range rows * blocks {
			table.Scale, table.Zero = append(table.Scale, 0.1+r.Float32()), append(table.Zero, int8(r.IntN(40)-20))
		}
		at := make([]int64, r.IntN(20))
		if r.IntN(20) == 0 {
			at = make([]int64, 600)
		}
		const guard = 77
		want := []float32{}
		for k := range at {
			i := r.IntN(rows)
			at[k] = int64(i)
			for j := range table.Columns {
				var number int8
				if table.Bytes {
					number = table.Integers[i*bytes+j]
				} else if number = table.Integers[i*bytes+j/2] >> 4; j%2 == 0 {
					number = table.Integers[i*bytes+j/2] << 4 >> 4
				}
				if table.Block > 0 {
					place := i*blocks + j/table.Block
					want = append(want, float32(int(number)-int(table.Zero[place]))*table.Scale[place])
				} else {
					want = append(want, float32(number)*(1/table.Scale[i]))
				}
			}
		}
		got := append(make([]float32, len(want)), guard)
		table.Rows(got, at)
		require.Equal(t, append(want, guard), got, "%d rows of %d columns in blocks of %d, bytes %v", len(at), table.Columns, table.Block, table.Bytes)
	}
}
