package pool

import (
	"runtime"
	"syscall"
)

// yield lets other goroutines and other threads run. If a machine has more runnable threads than processors, one of
// them may be the thread that a spinning goroutine waits for.
func yield() {
	runtime.Gosched()
	_, _, _ = syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
}
