package pool

import (
	"runtime"
	"syscall"
)

// yield lets other goroutines and other threads run. On a machine with more runnable threads than processors the thread
// that a spinning goroutine waits for may be one of them.
func yield() {
	runtime.Gosched()
	_, _, _ = syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
}
