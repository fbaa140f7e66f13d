//go:build !unix

package main

import "runtime"

// peakMemory returns the memory that the process has asked the system for, in bytes.
func peakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
