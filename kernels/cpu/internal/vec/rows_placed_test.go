package vec_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// TestPlacedRows: the bits are those of loops without vectors, for rows of all lengths and numbers, some of them
// repeated, at each level, prefetched or not.
func TestPlacedRows(t *testing.T) {
	for _, level := range isa.Paths() {
		restore := isa.Override(level)
		r := rand.New(rand.NewPCG(9, 3))
		for c := 1; c < 2000; c += 1 + c/6 {
			for _, n := range []int{0, 1, 15, 16, 17, 63, 64, 65, 131} {
				own := 1 + r.IntN(40)
				table, list := make([]float32, own*c+r.IntN(c)), make([]float32, n*c)
				for i := range table {
					table[i] = float32(r.NormFloat64())
				}
				for i := range list {
					list[i] = float32(r.NormFloat64())
				}
				places, long := make([]int32, n), make([]int64, n)
				for i := range places {
					places[i] = int32(r.IntN(own))
					long[i] = int64(places[i])
				}
				ahead, want, wantList := r.IntN(2) == 0, append([]float32(nil), table...), make([]float32, n*c)
				for i, p := range places {
					for k := range c {
						want[int(p)*c+k] += list[i*c+k]
					}
				}
				vec.AddPlacedRows(table, list, c, places, ahead)
				require.Equal(t, want, table, "%d rows of %d", n, c)
				for i, p := range places {
					for k := range c {
						step := float32(0.37) * list[i*c+k]
						want[int(p)*c+k] -= float32(step)
					}
				}
				vec.DescendPlacedRows(table, list, c, long, 0.37, ahead)
				require.Equal(t, want, table, "%d rows of %d", n, c)
				for i, p := range places {
					copy(wantList[i*c:(i+1)*c], table[int(p)*c:])
				}
				vec.TakePlacedRows(list, table, c, places, ahead)
				require.Equal(t, wantList, list, "%d rows of %d", n, c)
				clear(list)
				vec.TakePlacedRows(list, table, c, long, !ahead)
				require.Equal(t, wantList, list, "%d rows of %d", n, c)
			}
		}
		some, list := make([]float32, 40), make([]float32, 36)
		for _, c := range []int{1, 3, 16, 18} {
			for _, bad := range []int64{-1, int64(len(some) / c), 1 << 62} {
				require.Panics(t, func() { vec.TakePlacedRows(list, some, c, []int64{0, bad}, true) })
				require.Panics(t, func() { vec.DescendPlacedRows(some, list, c, []int64{bad, 0}, 1, false) })
			}
			require.Panics(t, func() { vec.AddPlacedRows(some, list, c, make([]int32, len(list)/c+1), false) }, "more rows than the list has")
		}
		one := []int32{0}
		require.Zero(t, testing.AllocsPerRun(20, func() { vec.AddPlacedRows(some, list, 16, one, true) }))
		restore()
	}
}
