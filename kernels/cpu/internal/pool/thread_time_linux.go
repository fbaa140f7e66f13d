package pool

import (
	"syscall"
	"time"
	"unsafe"
)

// ThreadTime is the processor time of the thread that calls it; on other systems than Linux, time as it passes. Only
// differences mean anything, on one thread.
func ThreadTime() time.Duration {
	const clockThread = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThread, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return 0
	}
	return time.Duration(t.Nano())
}
