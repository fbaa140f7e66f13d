//go:build linux

package capi

import (
	"errors"
	"unsafe"
)

// Element types of buffers.
const (
	Pred = 1 + iota
	S8
	S16
	S32
	S64
	U8
	U16
	U32
	U64
	F16
	F32
	F64
	BF16
)

// Upload copies a dense row-major array to a device and returns its buffer. The array may change when it has returned.
// memory is one that the device reaches; 0 is its default one.
func (c *Client) Upload(device, memory uintptr, elementType int, dims []int, data []byte) (uintptr, error) {
	var a arguments
	defer a.release()
	b := newBlock(120)
	b[2], b[3], b[4] = uint64(c.object), a.bytes(data), uint64(elementType)
	if len(dims) > 0 {
		list := make([]uint64, len(dims))
		for i, d := range dims {
			list[i] = uint64(d)
		}
		b[5], b[6] = a.words(list), uint64(len(dims))
	}
	b[9] = 0 // the array does not change during the call
	b[10], b[11] = uint64(device), uint64(memory)
	if err := c.Plugin.call(bufferFromHost, b); err != nil {
		return 0, err
	}
	if err := c.Plugin.Await(uintptr(b[13])); err != nil {
		return 0, errors.Join(err, c.Free(uintptr(b[14])))
	}
	return uintptr(b[14]), nil
}

// Download copies a buffer in its device's default memory to host memory, which must be as long as its elements.
func (c *Client) Download(buffer uintptr, data []byte) error {
	if c.isHost(buffer) {
		return c.read(buffer, data)
	}
	return c.Fetch(buffer, data)
}

// Fetch is Download for buffers in any memory.
func (c *Client) Fetch(buffer uintptr, data []byte) error {
	var a arguments
	defer a.release()
	b := newBlock(56)
	b[2], b[4], b[5] = uint64(buffer), a.bytes(data), uint64(len(data))
	if err := c.Plugin.call(bufferToHost, b); err != nil {
		return err
	}
	return c.Plugin.Await(uintptr(b[6]))
}

// isHost reports whether the devices' memory is the host's, which the first buffer tells.
func (c *Client) isHost(buffer uintptr) bool {
	c.host.Do(func() {
		on, err := c.Plugin.ask(bufferIsOnCPU, buffer)
		_, without := c.Plugin.function(bufferUnsafePointer)
		c.isOnHost = err == nil && without == nil && on&0xff != 0
	})
	return c.isOnHost
}

// read copies out of memory that the host can reach. The plugin's own copy would be made by another thread, which takes
// several times as long to wake up as a launch takes.
func (c *Client) read(buffer uintptr, data []byte) error {
	if err := c.Await(buffer); err != nil {
		return err
	}
	address, err := c.Plugin.ask(bufferUnsafePointer, buffer)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		copy(data, unsafe.Slice((*byte)(pointer(uintptr(address))), len(data)))
	}
	return nil
}

// Await waits until a buffer has its contents. The error is that of the run that should have made them.
func (c *Client) Await(buffer uintptr) error {
	event, err := c.Plugin.ask(bufferReadyEvent, buffer)
	if err != nil {
		return err
	}
	return c.Plugin.Await(uintptr(event))
}

// CopyTo copies a buffer to another device of the client.
func (c *Client) CopyTo(device, buffer uintptr) (uintptr, error) {
	b := newBlock(40)
	b[2], b[3] = uint64(buffer), uint64(device)
	err := c.Plugin.call(bufferToDevice, b)
	return uintptr(b[4]), err
}

// Free gives a buffer back; 0 is none.
func (c *Client) Free(buffer uintptr) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if buffer == 0 || c.closed {
		return nil
	}
	return c.Plugin.handle(bufferDestroy, buffer)
}
