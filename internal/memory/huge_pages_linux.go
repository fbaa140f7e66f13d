package memory

import "syscall"

// PreferHugePages asks for huge pages where the memory has not been touched yet. Whoever refuses them changes the speed
// only.
func PreferHugePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
