//go:build unix

package parameterserver

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncDirectory makes the names of the files in a directory survive a crash of the machine. Some file systems do not
// support it.
func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	if err = d.Sync(); errors.Is(err, unix.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
