package memory

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
)

// room is a limit on memory and how much of it is left.
type room struct {
	what string // "this machine has left"
	left int
	todo string // what makes more room
}

const smaller = "use smaller batches, fewer examples in a call, or smaller layers"

// heap is the memory that Go's runtime holds, in bytes.
type heap struct {
	mapped   int // from the system, without what was given back
	idle     int // of it, no object lies there
	released int // given back, its addresses kept
}

func readHeap() heap {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(s)
	released := int(s[1].Value.Uint64())
	return heap{mapped: int(s[0].Value.Uint64()) - released, idle: int(s[2].Value.Uint64()), released: released}
}

// left returns what is left under the tightest limit: that of the garbage collector (GOMEMLIMIT), the address space of
// the process, its control groups, and the machine. Memory that was requested but not yet written to counts as used.
func left() room {
	h := readHeap()
	least := room{"64 TiB can be addressed, of which there are", Addressable, smaller}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		least = tighter(least, room{"GOMEMLIMIT leaves", int(limit) - h.mapped + h.idle, smaller + ", or raise GOMEMLIMIT"})
	}
	for _, r := range systemRooms(h) {
		least = tighter(least, r)
	}
	least.left = max(least.left, 0)
	return least
}

func tighter(a, b room) room {
	if b.left < a.left {
		return b
	}
	return a
}
