package ports

import (
	"errors"
	"syscall"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// RaiseLimit is what to do where a process has no file descriptor left.
const RaiseLimit = atomicfile.RaiseLimit

// Exhausted reports whether the process or its host has no socket left, which is no fault of whoever is at the other
// end.
func Exhausted(err error) bool {
	for _, scarce := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, scarce) {
			return true
		}
	}
	return false
}
