package cpu

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"

	"github.com/gokeras/gokeras/kernels/ir"
)

// addressable is more than any machine can address, and so the end of what is tried: 64 TiB, or 2 GiB where int has 32 bits.
const addressable = min(1<<46, math.MaxInt)

// memoryLimit is the memory of the machine or of the control group that the process runs in, in bytes. A larger allocation would end
// the process, where it can be an error.
var memoryLimit = sync.OnceValue(func() int {
	limit := addressable
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
			if n, err := strconv.Atoi(string(f[1])); err == nil && n > 0 && n < addressable>>10 {
				return n << 10
			}
		}
	}
	return addressable
}

// checkMemory refuses what cannot be allocated.
func checkMemory(what string, n float64) error {
	if limit := memoryLimit(); n > float64(limit) {
		return fmt.Errorf("cpu: %s takes %.3g bytes of memory, more than the %.3g of this machine; use smaller batches or layers", what, n, float64(limit))
	}
	return nil
}

// bytesOf is the size of a value, without overflow.
func bytesOf(t ir.Type) float64 {
	n := float64(t.DType.Size())
	for _, d := range t.Shape {
		n *= float64(d)
	}
	return n
}

// checkSizes refuses programs with values whose size cannot be computed with. Larger values than memory are fine where they are never
// stored as a whole.
func checkSizes(p *ir.Program) error {
	for _, n := range p.Nodes {
		for _, v := range n.Outputs {
			if size := bytesOf(p.Type(v)); size > addressable {
				return fmt.Errorf("cpu: %s: the result of %v, %v, takes %.3g bytes of memory, more than a machine can address; use smaller batches or layers", n.Scope, n.Op, p.Type(v), size)
			}
		}
		for _, sub := range ir.SubPrograms(n.Attrs) {
			if err := checkSizes(sub); err != nil {
				return err
			}
		}
	}
	return nil
}
