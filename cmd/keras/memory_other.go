//go:build !unix

package main

import "runtime"

// peakMemory returns the memory that the process has requested from the system, in bytes.
func peakMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
