//go:build unix

package main

import (
	"syscall"
	"time"
)

// processor is the processor time that this process has used.
func processor() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
