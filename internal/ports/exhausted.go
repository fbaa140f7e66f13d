package ports

import (
	"errors"
	"syscall"
)

// RaiseLimit is what to do where a process has no file descriptor left.
const RaiseLimit = "raise the limit of open files (ulimit -n)"

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
