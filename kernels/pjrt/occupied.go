//go:build linux

package pjrt

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
)

// lockFile is locked by libtpu, because only one process can have the TPU.
const lockFile = "/tmp/libtpu_lockfile"

// aborted is the error code of a plugin that cannot get a resource that it shares with others.
const aborted = 10

// occupied explains the error of libtpu when another process has the TPU. libtpu itself only recommends deleting the
// file that it locks, which does not help while that process runs.
func occupied(err error) error {
	var e *capi.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "already in use") && (e.Code != aborted || !strings.Contains(e.Message, "lockfile")) {
		return err
	}
	return fmt.Errorf("pjrt: another process%s uses the TPU, which one process can have at a time: end that one, or give each process chips of its own (TPU_VISIBLE_CHIPS, TPU_PROCESS_BOUNDS): %w", holder(lockFile), err)
}

// holder names the process that has locked a file, " 1234 (python)", or "" if that is unknown.
func holder(path string) string {
	var file syscall.Stat_t
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || syscall.Stat(path, &file) != nil {
		return ""
	}
	for line := range strings.Lines(string(locks)) {
		f := strings.Fields(line) // 1: FLOCK ADVISORY WRITE 1234 fe:00:5678 0 EOF
		if len(f) < 6 || !strings.HasSuffix(f[5], ":"+strconv.FormatUint(file.Ino, 10)) {
			continue
		}
		if name, err := os.ReadFile("/proc/" + f[4] + "/comm"); err == nil {
			return fmt.Sprintf(" %s (%s)", f[4], strings.TrimSpace(string(name)))
		}
	}
	return ""
}
