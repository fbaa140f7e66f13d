//go:build unix

package parameterserver

import (
	"os"

	"golang.org/x/sys/unix"
)

// openMapped returns the bytes of a file, which are read from disk when they are accessed: a snapshot of tables larger
// than memory would not fit in memory.
func openMapped(path string) (b []byte, done func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 {
		return nil, func() error { return nil }, nil
	}
	if b, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, nil, &os.PathError{Op: "map", Path: path, Err: err}
	}
	return b, func() error { return unix.Munmap(b) }, nil
}
