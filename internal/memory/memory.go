// Package memory determines how much memory a process can have, so that asking for more is an error instead of killing
// it.
package memory

import (
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
)

// Addressable is more than any machine can address, so larger requests are not even tried: 64 TiB, or 2 GiB where int
// has 32 bits.
const Addressable = min(1<<46, math.MaxInt)

// Noticed is how many bytes may be requested in small pieces before the remaining memory is checked. For requests of at
// least that size it is worth saying what they are for.
const Noticed = 64 << 20

var sinceLook atomic.Int64

// Check refuses n bytes that the process cannot have besides what it has: more than the machine, its control groups,
// the limit on its address space or GOMEMLIMIT leave. A larger allocation would end the process. n is of type float64
// or int, where math.MaxInt says that it does not fit an int.
//
// Small requests are added up and checked together. A request that does not fit is checked again after a garbage
// collection.
func Check[N int | float64](what string, n N) error { return check(what, float64(n)) }

func check(what string, n float64) error {
	if limit := Limit(); n > float64(limit) {
		return fmt.Errorf("%s takes %.3g bytes of memory, more than the %.3g of this machine or process; %s", what, n, float64(limit), smaller)
	}
	if n < Noticed && sinceLook.Add(int64(n)) < Noticed {
		return nil
	}
	sinceLook.Store(0)
	r := left()
	if n <= float64(r.left) {
		return nil
	}
	debug.FreeOSMemory()
	if r = left(); n <= float64(r.left) {
		return nil
	}
	return fmt.Errorf("%s takes %.3g bytes of memory, and %s %.3g; %s", what, n, r.what, float64(r.left), r.todo)
}
