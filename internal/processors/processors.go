// Package processors says how many of the machine's processors this process computes with.
package processors

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Variable is the environment variable with which users choose the number themselves.
const Variable = "GOMAXPROCS"

var (
	mu     sync.Mutex
	claims []int // of all who share, how many processes they say there are

	// sharers is the largest of them; 0: this process computes alone.
	sharers atomic.Int32

	// inQuota is how many of them share this process's quota of processors.
	inQuota atomic.Int32
)

// settled is after how long all processes of a job have been started.
const settled = 10 * time.Second

// Share says that the given number of processes, including this one, compute on this machine all the time. Each then
// uses at most its part of the machine's processors, because threads that wait for each other's parts of a product
// would take processors from processes that could compute. A process that is bound to fewer processors, for example by
// Slurm or a container's quota, keeps these, except that processes in one container divide its quota. If the
// environment variable GOMAXPROCS is set, nothing changes. The returned function undoes it.
func Share(processes int) (restore func()) {
	if os.Getenv(Variable) != "" {
		return func() {}
	}
	mu.Lock()
	defer mu.Unlock()
	claims = append(claims, processes)
	divide()
	var later *time.Timer
	if processes > 1 { // others may be about to start
		later = time.AfterFunc(settled, func() {
			mu.Lock()
			defer mu.Unlock()
			divide()
		})
	}
	return sync.OnceFunc(func() {
		mu.Lock()
		defer mu.Unlock()
		if later != nil {
			later.Stop()
		}
		at := slices.Index(claims, processes)
		claims = slices.Delete(claims, at, at+1)
		divide()
	})
}

// divide records with how many processes this one shares. The caller holds mu.
func divide() {
	n := 0
	if len(claims) > 0 {
		n = slices.Max(claims)
	}
	sharers.Store(int32(n))
	inQuota.Store(1)
	if n > 1 {
		inQuota.Store(int32(quotaSharers(n)))
	}
}

// Count is how many processors to compute with, at least 1: GOMAXPROCS, or this process's part of the machine's if that
// is less.
func Count() int {
	own := runtime.GOMAXPROCS(0)
	if n := int(sharers.Load()); n > 1 {
		return min(max(own/int(max(inQuota.Load(), 1)), 1), max(max(Machine(), own)/n, 1))
	}
	return own
}

// Machine is how many processors the machine has, including those that this process may not use.
func Machine() int { return machine() }

var machine = sync.OnceValue(func() int {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if n := listed(string(text)); err == nil && n > 0 {
		return n
	}
	return runtime.NumCPU()
})

// listed counts the numbers of a list such as "0-3,8,10-11"; 0: it is none.
func listed(list string) (n int) {
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(last)
		}
		if err != nil || to < from {
			return 0
		}
		n += to - from + 1
	}
	return n
}
