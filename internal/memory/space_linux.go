package memory

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// reserve is what Go's heap may ask for beside an allocation: it grows by 64 MiB at a time.
const reserve = 128 << 20

// addressSpace is what is left of the limit that the system sets for the process (ulimit -v); Addressable without a limit.
func addressSpace() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &r) != nil || r.Cur > Addressable {
		return Addressable
	}
	text, err := os.ReadFile("/proc/self/statm")
	pages, _, _ := bytes.Cut(text, []byte(" "))
	used, bad := strconv.Atoi(string(pages))
	if err != nil || bad != nil {
		return int(r.Cur)
	}
	return max(int(r.Cur)-used*os.Getpagesize()-reserve, 0)
}
