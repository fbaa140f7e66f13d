package rows

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAdd: rows of all widths are added as one would by hand, bit for bit.
func TestAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{0, 1, 3, 8, 15, 16, 17, 32, 48, 100, 1600} {
		for _, n := range []int{0, 1, 63, 64, 65, 200} {
			const own = 7
			table, places := make([]float32, own*width), make([]int32, n)
			for i := range table {
				table[i] = rng.Float32()
			}
			for i := range places {
				places[i] = int32(rng.IntN(own))
			}
			some := make([]float32, n*width)
			for i := range some {
				some[i] = rng.Float32()
			}
			want := append([]float32{}, table...)
			for i, p := range places {
				for k := range width {
					want[int(p)*width+k] += some[i*width+k]
				}
			}
			Add(table, some, width, places)
			require.Equal(t, want, table, "%d rows of %d", n, width)

			Take(some, table, width, places)
			for i, p := range places {
				require.Equal(t, table[int(p)*width:(int(p)+1)*width], some[i*width:(i+1)*width], "row %d of %d", i, width)
			}
			long := make([]int64, n)
			for i, p := range places {
				long[i] = int64(p)
				for k := range width {
					step := float32(0.3) * some[i*width+k]
					want[int(p)*width+k] -= float32(step)
				}
			}
			DescendRows(table, some, width, long, 0.3)
			require.Equal(t, want, table, "%d rows of %d", n, width)
			other := append([]float32{}, some...)
			for i, v := range some {
				step := float32(0.7) * v
				other[i] -= float32(step)
			}
			Descend(some, append([]float32{}, some...), 0.7)
			require.Equal(t, other, some)
		}
	}
}

func TestAddOutside(t *testing.T) {
	for _, width := range []int{1, 16, 20} {
		dst, src := make([]float32, 2*width), make([]float32, 2*width)
		for _, place := range []int32{-1, 2} {
			require.Panics(t, func() { Add(dst, src, width, []int32{0, place}) }, "place %d of rows of %d", place, width)
			require.Panics(t, func() { Take(dst, src, width, []int32{0, place}) }, "place %d of rows of %d", place, width)
			require.Panics(t, func() { DescendRows(dst, src, width, []int64{0, int64(place)}, 1) }, "place %d of rows of %d", place, width)
		}
		require.Panics(t, func() { Add(dst, src, width, []int32{0, 1, 1}) }, "three rows, two of which are there")
	}
}

// TestDescendRowsOfLargeTable: rows that are asked for in advance are where they were.
func TestDescendRowsOfLargeTable(t *testing.T) {
	const width = 64
	table, rows := make([]float32, fetchMinFrom), make([]float32, 100*width)
	var places []int64
	for i := range 100 {
		places = append(places, int64(37*i))
		rows[i*width] = 1
	}
	DescendRows(table, rows, width, places, 2)
	for i := range 100 {
		require.EqualValues(t, -2, table[37*i*width])
		table[37*i*width] = 0
	}
	require.Equal(t, make([]float32, len(table)), table)
}

func ExampleAdd() {
	sums := make([]float32, 4)
	Add(sums, []float32{1, 2, 3, 4, 5, 6}, 2, []int32{0, 1, 0})
	fmt.Println(sums)
	// Output: [6 8 3 4]
}

// BenchmarkAdd adds as many rows as a batch of a recommender looks up, few of which come often.
func BenchmarkAdd(b *testing.B) {
	const width, n, own = 32, 106496, 20565
	rng := rand.New(rand.NewPCG(3, 4))
	places := make([]int32, n)
	for i := range places {
		places[i] = int32(float64(own) * rng.Float64() * rng.Float64() * rng.Float64() * rng.Float64())
	}
	table, batch := make([]float32, own*width), make([]float32, n*width)
	for b.Loop() {
		Add(table, batch, width, places)
	}
}
