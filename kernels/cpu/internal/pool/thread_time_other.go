//go:build !linux

package pool

import "time"

var threadTimeBegin = time.Now()

// ThreadTime is time as it passes, on one thread or another.
func ThreadTime() time.Duration { return time.Since(threadTimeBegin) }
