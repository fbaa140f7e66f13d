// Package memory knows how much memory a process can have, so that asking for more is an error and not its end.
package memory

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
)

// Addressable is more than any machine can address, and so the end of what is tried: 64 TiB, or 2 GiB where int has 32 bits.
const Addressable = min(1<<46, math.MaxInt)

// Limit is the memory of the machine, or of the control group that the process runs in, in bytes. A larger allocation would end the process, where it can be an error.
var Limit = sync.OnceValue(func() int {
	limit := Addressable
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		limit = min(limit, memTotal(text))
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if n, bad := strconv.Atoi(string(bytes.TrimSpace(text))); err == nil && bad == nil && n > 0 {
			limit = min(limit, n)
		}
	}
	return limit
})

// memTotal reads the line "MemTotal: 24684096 kB".
func memTotal(text []byte) int {
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "MemTotal:" {
			if n, err := strconv.Atoi(string(f[1])); err == nil && n > 0 && n < Addressable>>10 {
				return n << 10
			}
		}
	}
	return Addressable
}

// Check refuses n bytes that cannot be allocated; n is of type float64 or int, where math.MaxInt says that it does not fit an int.
func Check[N int | float64](what string, n N) error {
	if limit := min(Limit(), addressSpace()); float64(n) > float64(limit) {
		return fmt.Errorf("%s takes %.3g bytes of memory, more than the %.3g of this machine or process; use smaller batches or layers", what, float64(n), float64(limit))
	}
	return nil
}
