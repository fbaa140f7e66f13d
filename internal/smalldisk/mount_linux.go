package smalldisk

import (
	"fmt"
	"syscall"
	"testing"
)

// Mount makes a folder that has room for so many bytes, until the test ends. It skips the test where nothing can be
// mounted: that takes root, whom CI has.
func Mount(t testing.TB, bytes int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("cannot mount a small disk, which needs root (CAP_SYS_ADMIN): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}
