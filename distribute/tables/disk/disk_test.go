package disk_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/tables"
	_ "github.com/gokeras/gokeras/distribute/tables/disk"
)

var size = flag.Int("rows", 60_000, "rows of the table; make test-tables takes 2 million")

// TestLargerThanMemory: a table of which a small part is in memory is trained as one that is there as a whole.
func TestLargerThanMemory(t *testing.T) {
	folder := t.TempDir()
	rows, memory := *size, 4<<20
	if rows >= 1_000_000 {
		memory = 16 << 20
	}
	spec := tables.Spec{Name: "t", Width: 16, Init: parameters.Init{Kind: parameters.Uniform, A: -1, B: 1, Seed: 4}, Rule: parameters.Rule{Kind: parameters.Adagrad, Initial: 0.1, Epsilon: 1e-7}}
	whole, err := tables.New(spec)
	require.NoError(t, err)
	spec.MemoryBytes, spec.Directory = memory, folder
	small, err := tables.New(spec)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	const batch = 5000
	values := make([]float32, 16*batch)
	train := func(key func(i int) int64) {
		keys := make([]int64, 0, batch)
		for i := range batch {
			if k := key(i); len(keys) == 0 || k > keys[len(keys)-1] {
				keys = append(keys, k)
			}
		}
		for i := range values {
			values[i] = float32(r.NormFloat64())
		}
		for _, table := range []*tables.Table{whole, small} {
			require.NoError(t, table.Gradient(0.1, keys, nil, values[:16*len(keys)]))
		}
		want, err := whole.Lookup(keys)
		require.NoError(t, err)
		got, err := small.Lookup(keys)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for first := 0; first < rows; first += batch { // every key once
		train(func(i int) int64 { return int64(first + i) })
	}
	for range max(rows/batch/4, 10) { // some of them again
		at := 0
		train(func(int) int64 { at += 1 + r.IntN(2*rows/batch); return int64(min(at, rows-1)) })
	}
	stats := small.Stats()
	require.Equal(t, rows, stats.Rows)
	require.Positive(t, stats.Hits)
	require.LessOrEqual(t, stats.Memory, int64(memory+memory/2), "what is in memory")
	if rows >= 500_000 {
		require.Greater(t, stats.Disk, int64(rows)*64)
	}
	t.Logf("%d rows: %d bytes in memory, %d on disk; the whole table has %d", stats.Rows, stats.Memory, stats.Disk, whole.Stats().Memory)
	n := 0
	require.NoError(t, small.Each(func(row parameters.Row) bool { n++; return true }))
	require.Equal(t, rows, n)
	require.NoError(t, small.Close())
	require.NoError(t, small.Close(), "once more")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestFolderThatCannotBe(t *testing.T) {
	file := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := tables.New(tables.Spec{Name: "t", Width: 1, MemoryBytes: 1, Directory: file})
	require.ErrorContains(t, err, "rows on disk")
}
