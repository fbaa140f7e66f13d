//go:build unix

package memory

import "syscall"

// addressSpace is the limit that the system sets for the process.
func addressSpace() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &r) != nil || uint64(r.Cur) > Addressable {
		return Addressable
	}
	return int(r.Cur)
}
