package shared

import (
	"sync/atomic"
	"unsafe"
)

// Room is memory for numbers that servers of the same host read and write in place: what lies in it is not copied on
// its way. Its owner uses it for one message at a time, and not at all after one that went wrong: see Spoiled.
type Room struct {
	Floats []float32

	memory  *Memory // nil: memory of this process alone
	spoiled atomic.Bool
}

// leastRoom is how many numbers are worth being shared.
const leastRoom = 8 << 10

// NewRoom returns room for n numbers, all 0. Where memory cannot be shared it is like any other.
func NewRoom(n int) *Room {
	if n >= leastRoom {
		if m, err := newMemory(4*n, true); err == nil {
			return &Room{Floats: unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(m.Bytes))), n), memory: m}
		}
	}
	return &Room{Floats: make([]float32, n)}
}

// Note is what a server needs to open the room; "" where there is nothing to be opened.
func (r *Room) Note() string {
	if r == nil || r.memory == nil {
		return ""
	}
	return r.memory.Note()
}

// Place returns where v begins, in bytes from the beginning of the room, and whether it lies in it.
func (r *Room) Place(v []float32) (at int, inside bool) {
	if r == nil || r.memory == nil || len(v) == 0 {
		return 0, false
	}
	from, begin := uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&r.Floats[0]))
	return int(from - begin), from >= begin && from+uintptr(4*len(v)) <= begin+uintptr(4*len(r.Floats))
}

// Spoil says that a server may still be busy with the room, though nobody waits for it.
func (r *Room) Spoil() { r.spoiled.Store(true) }

// Spoiled reports whether a message about the room went wrong: its owner must not use it for another one.
func (r *Room) Spoiled() bool { return r.spoiled.Load() }

// Close gives the memory back. Nobody may use Floats any more.
func (r *Room) Close() {
	r.Floats = nil
	if r.memory != nil {
		r.memory.Close()
	}
}
