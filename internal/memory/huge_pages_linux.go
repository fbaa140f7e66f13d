package memory

import "syscall"

// PreferHugePages requests huge pages for memory that has not been touched yet. If the system refuses, only the speed
// changes.
func PreferHugePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
