package pool

import (
	"syscall"
	"time"
	"unsafe"
)

// ThreadTime is the processor time of the calling thread; on systems other than Linux, it is wall-clock time. Only
// differences on one thread are meaningful.
func ThreadTime() time.Duration {
	const clockThread = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThread, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return 0
	}
	return time.Duration(t.Nano())
}
