//go:build !linux

package main

import "time"

// clock is the time of day, where the processor time of this process is not known.
func clock() time.Duration { return time.Since(start) }
