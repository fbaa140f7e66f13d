package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock is the processor time of this process: other processes on the machine do not add to it, as they do to the time
// of day, which is used if several threads work.
func clock() time.Duration {
	if threads > 1 {
		return time.Since(start)
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return time.Since(start)
	}
	return time.Duration(t.Nano())
}
