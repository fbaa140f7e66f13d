//go:build linux

package capi

import "runtime"

// alignment of memory that plugins for CPUs use in place.
const alignment = 64

// Lent is memory of the host that a plugin may read at any time after Send, and not only during the call, until Done.
// So a plugin for CPUs has no copy to make, and others copy while the host goes on. Its methods allocate nothing.
type Lent struct {
	client *Client
	block  block
	dims   []uint64
	memory []byte
	event  uintptr // that the plugin needs the memory no more; 0: it does not have it
}

// NewLent makes memory for dense row-major arrays.
func (c *Client) NewLent(elementType int, dims []int, size int) *Lent {
	l := &Lent{client: c, block: newBlock(120), dims: make([]uint64, max(len(dims), 1)), memory: make([]byte, size+alignment)}
	first := int(-addressOfBytes(l.memory) & (alignment - 1))
	l.memory = l.memory[first : first+size : first+size]
	for i, d := range dims {
		l.dims[i] = uint64(d)
	}
	b := l.block
	b[2], b[3], b[4], b[5], b[6] = uint64(c.object), uint64(addressOfBytes(l.memory)), uint64(elementType), addressOf(l.dims), uint64(len(dims))
	b[9] = 2 // the array does not change while the buffer lives
	return l
}

// Bytes is the memory, which must not be written between Send and Done.
func (l *Lent) Bytes() []byte { return l.memory }

// Send makes the contents a buffer of a device; memory is one that the device reaches, 0 its default one.
func (l *Lent) Send(device, memory uintptr) (uintptr, error) {
	b := l.block
	b[10], b[11], b[13], b[14] = uint64(device), uint64(memory), 0, 0
	err := l.client.Plugin.call(bufferFromHost, b)
	runtime.KeepAlive(l)
	if err != nil {
		return 0, err
	}
	l.event = uintptr(b[13])
	return uintptr(b[14]), nil
}

// Done reports whether the memory may be written.
func (l *Lent) Done() (bool, error) {
	if l.event == 0 {
		return true, nil
	}
	ready, err := l.client.Plugin.ask(eventIsReady, l.event)
	if err != nil || ready&0xff == 0 {
		return false, err
	}
	return true, l.Forget()
}

// Forget gives back the event by which the plugin would have said that it is done; the memory must stay until then.
func (l *Lent) Forget() error {
	event := l.event
	l.event = 0
	if event == 0 {
		return nil
	}
	return l.client.Plugin.handle(eventDestroy, event)
}
