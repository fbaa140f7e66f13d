package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/smalldisk"
)

// TestFitDiskFull: where the disk of one worker is full, all name that worker and that cause.
func TestFitDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes: not with -short")
	}
	dir := smallModel(t)
	disk := smalldisk.Mount(t, 8<<10)
	require.NoError(t, os.WriteFile(filepath.Join(disk, "much"), make([]byte, 6<<10), 0o666))
	r := startFaulty(t, t.Context(), dir, "full", []string{"-n", "2"}, []string{"--backup", filepath.Join(disk, "backup")})
	require.Equal(t, 1, r.end(), r.out.String())
	var said [2]string
	for line := range strings.Lines(r.out.String()) {
		for worker, prefix := range []string{"[worker 0] keras: ", "[worker 1] keras: "} {
			if strings.HasPrefix(line, prefix) {
				said[worker] += line
			}
		}
	}
	require.Contains(t, said[0], "no space left on device", r.out.String())
	require.Regexp(t, `worker:0 \(127\.0\.0\.1:\d+\) failed: `, said[1])
	require.Contains(t, said[1], "no space left on device")
	require.NotContains(t, r.out.String(), "disagree")
	left, err := os.ReadDir(filepath.Join(disk, "backup"))
	if err == nil {
		require.Empty(t, left, "nothing is left of what could not be written")
	}
}
