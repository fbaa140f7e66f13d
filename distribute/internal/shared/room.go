package shared

import (
	"sync/atomic"
	"unsafe"
)

// Room is memory for numbers that servers on the same host read and write in place, so that the numbers are not copied
// on the way. Its owner uses it for one message at a time, and not at all after a failed one: see Spoiled.
type Room struct {
	Floats []float32

	memory  *Memory // nil: memory of this process alone
	spoiled atomic.Bool
}

// leastRoom is the smallest number of numbers that is worth sharing.
const leastRoom = 8 << 10

// NewRoom returns room for n numbers, all 0. If memory cannot be shared it is ordinary memory.
func NewRoom(n int) *Room {
	if n >= leastRoom {
		if m, err := newMemory(4*n, true); err == nil {
			return &Room{Floats: unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(m.Bytes))), n), memory: m}
		}
	}
	return &Room{Floats: make([]float32, n)}
}

// Note is what a server needs to open the room; "" if the memory is not shared.
func (r *Room) Note() string {
	if r == nil || r.memory == nil {
		return ""
	}
	return r.memory.Note()
}

// Place returns the offset of v in the room, in bytes, and whether v is in the room.
func (r *Room) Place(v []float32) (at int, inside bool) {
	if r == nil || r.memory == nil || len(v) == 0 {
		return 0, false
	}
	from, begin := uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&r.Floats[0]))
	return int(from - begin), from >= begin && from+uintptr(4*len(v)) <= begin+uintptr(4*len(r.Floats))
}

// Spoil notes that a server may still be using the room, although its answer is no longer awaited.
func (r *Room) Spoil() { r.spoiled.Store(true) }

// Spoiled reports whether a message about the room failed; its owner must not use it for another one.
func (r *Room) Spoiled() bool { return r.spoiled.Load() }

// Close frees the memory. Floats must not be used afterwards.
func (r *Room) Close() {
	r.Floats = nil
	if r.memory != nil {
		r.memory.Close()
	}
}
