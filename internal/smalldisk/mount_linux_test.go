package smalldisk_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/smalldisk"
)

// TestMount: a disk takes what it has room for and no more, and is gone after the test.
func TestMount(t *testing.T) {
	folder := ""
	t.Run("mounted", func(t *testing.T) {
		folder = smalldisk.Mount(t, 64<<10)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "fits"), make([]byte, 48<<10), 0o666))
		require.ErrorIs(t, os.WriteFile(filepath.Join(folder, "more"), make([]byte, 48<<10), 0o666), syscall.ENOSPC)
	})
	if folder != "" {
		require.NoFileExists(t, filepath.Join(folder, "fits"))
	}
}
