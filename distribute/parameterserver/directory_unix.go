//go:build unix

package parameterserver

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncDirectory makes the names of the files in a directory outlive a crash of the machine. There are file systems that
// cannot be asked for it.
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
