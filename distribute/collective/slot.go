package collective

import (
	"sync"
	"unsafe"

	"google.golang.org/grpc/mem"
)

// slot is memory for one payload, in the form in which gRPC's pools return memory.
type slot struct {
	handle []byte // is first, so that a pointer to it is one to the slot
	memory []byte
}

var slots = sync.Pool{New: func() any { return &slot{memory: make([]byte, slotBytes)} }}

func ownSlot() *slot { return slots.Get().(*slot) }

func (s *slot) release() {
	if s.handle = nil; len(s.memory) == slotBytes {
		slots.Put(s)
	}
}

// Get implements gRPC's pool for data received on this connection. The reading goroutine calls it.
func (in *inflow) Get(length int) *[]byte {
	s := in.offered
	switch {
	case s != nil && length == in.frames[in.first].length:
		in.offered, in.frames[in.first].given = nil, true
	case length <= slotBytes:
		s = ownSlot()
	default:
		s = &slot{memory: make([]byte, length)}
	}
	s.handle = s.memory[:length]
	return &s.handle
}

// Put implements gRPC's pool.
func (*inflow) Put(b *[]byte) { (*slot)(unsafe.Pointer(b)).release() }

var _ mem.BufferPool = (*inflow)(nil)
