// Package processors says how many of the machine's processors this process computes with.
package processors

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Variable names the environment variable with which users decide for themselves.
const Variable = "GOMAXPROCS"

var (
	mu     sync.Mutex
	claims []int // of all who share, how many processes they say there are

	// sharers is the largest of them; 0: this process computes alone.
	sharers atomic.Int32
)

// Share says that so many processes, this one among them, compute on this machine all the time. Each then computes with
// its part of the processors: threads that wait for each other's parts of one product take processors from processes
// that would compute. Where the environment variable GOMAXPROCS is set nothing changes. The returned function takes
// it back.
func Share(processes int) (restore func()) {
	if os.Getenv(Variable) != "" {
		return func() {}
	}
	mu.Lock()
	defer mu.Unlock()
	claims = append(claims, processes)
	sharers.Store(int32(slices.Max(claims)))
	return sync.OnceFunc(func() {
		mu.Lock()
		defer mu.Unlock()
		at := slices.Index(claims, processes)
		claims = slices.Delete(claims, at, at+1)
		sharers.Store(0)
		if len(claims) > 0 {
			sharers.Store(int32(slices.Max(claims)))
		}
	})
}

// Count is how many processors to compute with, at least 1: GOMAXPROCS, or this process's part of them.
func Count() int {
	all := runtime.GOMAXPROCS(0)
	if n := int(sharers.Load()); n > 1 {
		return max(all/n, 1)
	}
	return all
}
