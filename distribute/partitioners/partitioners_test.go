package partitioners_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestCutReportsWhatPartitionersDo(t *testing.T) {
	broken := errors.New("broken")
	_, err := partitioners.Cut(partitioners.Func(func(ir.Shape, int) ([]int, error) { return nil, broken }), "kernel", ir.Shape{3}, 4)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "variable kernel of shape [3]")
	_, err = partitioners.Cut(partitioners.Func(func(ir.Shape, int) ([]int, error) { panic("oh") }), "kernel", ir.Shape{3}, 4)
	require.ErrorContains(t, err, "it panicked: oh")
	for _, parts := range [][]int{{1, 1}, {-3}, {2, 2}, nil} {
		_, err = partitioners.Cut(fixed(parts), "kernel", ir.Shape{3}, 4)
		require.ErrorContains(t, err, "expected a list of at most 1 numbers", parts)
	}
	shards, err := partitioners.Cut(partitioners.FixedShards{Shards: 2}, "empty", ir.Shape{0, 3}, 4)
	require.NoError(t, err)
	require.Equal(t, []partitioners.Shard{{Name: "empty"}}, shards)
}

// TestCutCoversAllRows: shards follow each other without gaps, whatever the numbers.
func TestCutCoversAllRows(t *testing.T) {
	for rows := 1; rows < 30; rows++ {
		for parts := 1; parts < 33; parts++ {
			shards, err := partitioners.Cut(partitioners.FixedShards{Shards: parts}, "v", ir.Shape{rows}, 4)
			require.NoError(t, err)
			next := 0
			for i, s := range shards {
				require.Equal(t, next, s.First)
				require.Positive(t, s.Rows)
				for r := range s.Rows {
					at, inside := partitioners.Of(shards, next+r)
					require.Equal(t, [2]int{i, r}, [2]int{at, inside})
				}
				next += s.Rows
			}
			require.Equal(t, rows, next)
			require.LessOrEqual(t, shards[0].Rows-shards[len(shards)-1].Rows, 1)
		}
	}
}

func TestBySize(t *testing.T) {
	var p partitioners.BySize
	var got []int
	for _, bytes := range []int{100, 10, 10, 85, 1, 200} {
		got = append(got, p.Place(bytes, 3))
	}
	require.Equal(t, []int{0, 1, 2, 1, 2, 2}, got)
}

func ExampleCut() {
	shards, err := partitioners.Cut(partitioners.MaxSize{MaxShardBytes: 1 << 20}, "embeddings", ir.Shape{20000, 32}, 4)
	if err != nil {
		panic(err)
	}
	for _, s := range shards {
		fmt.Println(s.Name, s.First, s.Rows)
	}
	// Output:
	// embeddings/part_0 0 6667
	// embeddings/part_1 6667 6667
	// embeddings/part_2 13334 6666
}

func ExampleBySize() {
	var p partitioners.BySize
	fmt.Println(p.Place(1000, 2), p.Place(10, 2), p.Place(10, 2))
	// Output: 0 1 1
}
