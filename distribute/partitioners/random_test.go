package partitioners_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestRandom: TensorFlow's partitioners give random shapes as many parts, and its strategy over three servers cuts and
// places random variables alike. Where TensorFlow divides by zero, since a variable has no elements, it stays whole.
func TestRandom(t *testing.T) {
	file := recorded.JSON[struct {
		Cases []struct {
			Kind, Error             string
			Shape                   ir.Shape
			Bytes, Axis, Most, Size int
			Parts                   []int
		}
		Variables []struct {
			Shape         ir.Shape
			Parts         int
			Rows, Servers []int
		}
	}](t, "testdata/random.json.gz")
	require.Len(t, file.Cases, 600)
	require.Len(t, file.Variables, 80)
	for _, c := range file.Cases {
		p := map[string]partitioners.Partitioner{
			"fixed": partitioners.FixedShards{Shards: c.Most, Axis: c.Axis},
			"min":   partitioners.MinSize{MinShardBytes: c.Size, MaxShards: c.Most, Axis: c.Axis},
			"max":   partitioners.MaxSize{MaxShardBytes: c.Size, MaxShards: c.Most, Axis: c.Axis},
		}[c.Kind]
		got, err := p.Partition(c.Shape, c.Bytes)
		require.NoError(t, err)
		if c.Error != "" {
			require.Zero(t, c.Shape.Size(), "%+v", c)
			continue
		}
		require.Equal(t, c.Parts, got, "%+v", c)
	}
	placement := &partitioners.RoundRobin{}
	for _, v := range file.Variables {
		parts := make([]int, len(v.Shape))
		for i := range parts {
			parts[i] = 1
		}
		parts[0] = v.Parts
		shards, err := partitioners.Cut(fixed(parts), "v", v.Shape, 4)
		require.NoError(t, err)
		var rows, servers []int
		for _, s := range shards {
			rows, servers = append(rows, s.Rows), append(servers, placement.Place(4*s.Rows, 3))
		}
		require.Equal(t, v.Rows, rows, "%+v", v)
		require.Equal(t, v.Servers, servers, "%+v", v)
	}
}

// FuzzCut: whatever a partitioner returns, shards follow each other without gaps and none is empty, or there is an
// error that names the variable.
func FuzzCut(f *testing.F) {
	f.Add(3, 4, 2, 1, uint8(2))
	f.Add(0, 4, 2, 1, uint8(2))
	f.Add(5, -1, -7, 3, uint8(1))
	f.Add(5, 2, 1<<62, 1, uint8(0))
	f.Fuzz(func(t *testing.T, rows, columns, first, second int, count uint8) {
		if rows < 0 || rows > 1<<12 || columns < 0 {
			return
		}
		answer := append([]int{first, second}, make([]int, 3)...)[:count%5]
		shards, err := partitioners.Cut(fixed(answer), "kernel", ir.Shape{rows, columns}, 4)
		if err != nil {
			require.ErrorContains(t, err, "variable kernel of shape")
			return
		}
		next := 0
		for _, s := range shards {
			require.Equal(t, next, s.First)
			require.True(t, s.Rows > 0 || rows == 0)
			next += s.Rows
		}
		require.Equal(t, rows, next)
	})
}
