package rows

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCopy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, row := range []int{0, 1, 2, 3, 4, 5, 8, 12, 255, 256, 257, 1023, 3136, 4097, 70001} {
		n := max(fetchMinFrom/max(row, 1)+2, 20) // so that long rows are fetched ahead
		src := make([]byte, n*row)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		for _, count := range []int{0, 1, 2, 3, 40} {
			indices := make([]int, count)
			for i := range indices {
				indices[i] = rng.IntN(n)
			}
			if count > 1 {
				indices[0], indices[1] = 0, n-1
			}
			dst := make([]byte, count*row+3)
			Copy(dst, src, row, indices)
			for i, index := range indices {
				require.Equal(t, src[index*row:(index+1)*row], dst[i*row:(i+1)*row], "row %d of %d bytes", i, row)
			}
			require.Equal(t, make([]byte, 3), dst[count*row:], "behind the last row of %d bytes", row)
		}
	}
}

func TestCopyOutside(t *testing.T) {
	for _, row := range []int{1, 4, 8, 12, 512} {
		src, dst := make([]byte, 4096*row), make([]byte, 2*row)
		for _, index := range []int{-1, 4096} {
			require.Panics(t, func() { Copy(dst, src, row, []int{0, index}) }, "row %d of 4096 rows of %d bytes", index, row)
		}
		require.Panics(t, func() { Copy(dst, src, row, []int{0, 1, 2}) }, "three rows of %d bytes into the room of two", row)
	}
}

func TestCopyAllocatesNothing(t *testing.T) {
	src, dst := make([]byte, 1<<21), make([]byte, 4096)
	indices := []int{7, 2000, 4000, 1}
	require.Zero(t, testing.AllocsPerRun(20, func() { Copy(dst, src, 512, indices) }))
}

func TestFetchChangesNothing(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 1000} {
		row := make([]float32, n)
		for i := range row {
			row[i] = float32(i)
		}
		Fetch(row)
		for i := range row {
			require.EqualValues(t, i, row[i])
		}
		require.Zero(t, testing.AllocsPerRun(20, func() { Fetch(row) }))
	}
}

func ExampleCopy() {
	dst := make([]byte, 6)
	Copy(dst, []byte("onetwosixten"), 3, []int{3, 1})
	fmt.Printf("%s\n", dst)
	// Output: tentwo
}

// BenchmarkCopy copies batches of 64 random rows of a source that is larger than the caches.
func BenchmarkCopy(b *testing.B) {
	src := make([]byte, 128<<20)
	for i := range src {
		src[i] = byte(i)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, row := range []int{256, 784, 3136, 12288, 150528} {
		indices := make([]int, 64)
		dst := make([]byte, len(indices)*row)
		for _, way := range []struct {
			name string
			copy func(dst, src []byte, row int, indices []int)
		}{{"ahead", Copy}, {"plain", plain}} {
			b.Run(fmt.Sprintf("row=%d/%s", row, way.name), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(dst)))
				for b.Loop() {
					for i := range indices {
						indices[i] = rng.IntN(len(src) / row)
					}
					way.copy(dst, src, row, indices)
				}
			})
		}
	}
}

func plain(dst, src []byte, row int, indices []int) {
	for i, index := range indices {
		copy(dst[i*row:(i+1)*row], src[index*row:(index+1)*row])
	}
}
