package cpu

import "syscall"

// preferHugePages asks for huge pages where the memory has not been touched yet. Whoever refuses them changes the speed only.
func preferHugePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
