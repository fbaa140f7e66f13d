package ports

import (
	"errors"
	"syscall"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// RaiseLimit says what to do if a process has no file descriptors left.
const RaiseLimit = atomicfile.RaiseLimit

// Exhausted reports whether the process or its host has no sockets left, which is not the fault of the other end.
func Exhausted(err error) bool {
	for _, scarce := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, scarce) {
			return true
		}
	}
	return false
}
