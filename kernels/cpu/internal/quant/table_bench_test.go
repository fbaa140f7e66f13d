package quant

import (
	"fmt"
	"testing"
)

// BenchmarkTableRow writes ten rows into the first-level cache.
func BenchmarkTableRow(b *testing.B) {
	for _, columns := range []int{64, 128, 337, 1024} {
		for _, block := range []int{-1, 0, 32, 128} {
			t := &Table{Columns: columns, Block: max(block, 0), Bytes: block < 0, Integers: make([]int8, 8*columns), Scale: make([]float32, 8*columns), Zero: make([]int8, 8*columns)}
			to, at := make([]float32, 10*columns), []int64{0, 1, 2, 3, 4, 5, 6, 7, 0, 1}
			b.Run(fmt.Sprintf("%d/%d", columns, block), func(b *testing.B) {
				for range b.N {
					t.Rows(to, at)
				}
			})
		}
	}
}
