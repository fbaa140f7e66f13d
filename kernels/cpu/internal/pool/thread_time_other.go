//go:build !linux

package pool

import "time"

var threadTimeBegin = time.Now()

// ThreadTime is wall-clock time, on whatever thread.
func ThreadTime() time.Duration { return time.Since(threadTimeBegin) }
