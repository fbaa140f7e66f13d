package kernels

import "github.com/gokeras/gokeras/kernels/ir"

// Buffer is the memory of one value on one device: dense, row-major elements of a fixed type, little endian.
type Buffer interface {
	Type() ir.Type
	Device() Device
	// Write copies len(src) bytes (all of the buffer) from host memory. When it returns, src may be reused; the device
	// may still have to read the copy.
	Write(src []byte) error
	// Read copies the whole buffer to host memory; it waits for pending writes to the buffer and for the copy.
	Read(dst []byte) error
	// Upload is Write without the copy in between: src must not change until the event.
	Upload(src []byte) Event
	// Download is Read without waiting: dst is filled at the event.
	Download(dst []byte) Event
	// CopyFrom copies another buffer of the same type and of a device of the same kind, on the devices.
	CopyFrom(src Buffer) Event
	// Bytes returns the host memory that backs the buffer, or nil when it lives elsewhere. Callers may write it while
	// no program that uses the buffer runs.
	Bytes() []byte
	// Free releases the memory when all pending operations are over; the buffer must not be used afterwards.
	Free()
}

// Borrower is implemented by buffers in host memory that can use the caller's memory, so that inputs and results need
// not be copied.
type Borrower interface {
	Buffer
	// Borrow makes the buffer use the given memory, which must be as long and must not change while a program runs. A
	// program writes it only where it is told to replace the buffer's value. nil, and Write, restore the buffer's own
	// memory.
	Borrow(memory []byte) error
}

// Stager is implemented by buffers on devices that copy from host memory of their own. What is written there
// beforehand, by another goroutine, costs the one that runs steps no time.
type Stager interface {
	Buffer
	// Stage returns host memory as long as the buffer, or nil where there is none to be had. It may be called at any
	// time and from any goroutine, also when the buffer has been freed.
	Stage() Staged
	// WriteStaged is Write of what the memory holds, which it takes back.
	WriteStaged(s Staged) error
}

// Staged is host memory from a [Stager], for one WriteStaged or Drop.
type Staged interface {
	// Bytes is the memory. It holds anything at first.
	Bytes() []byte
	// Drop gives it back unused.
	Drop()
}

// Exchanger is implemented by buffers that can swap memory with another one, so that a value computed beside the
// current one replaces it without a copy. If captured launches contain addresses, copy buffers instead.
type Exchanger interface {
	Buffer
	// Exchange swaps the contents of two buffers of one type and device. No program that uses either may be running.
	Exchange(other Buffer) error
}

// Filler is implemented by buffers in host memory whose contents can be written in place.
type Filler interface {
	Buffer
	// Fill passes the memory to f, which writes it and does not retain it. No program that uses the buffer may be
	// running.
	Fill(f func(memory []byte) error) error
}

// RangeReader is implemented by buffers in host memory that can be read piece by piece.
type RangeReader interface {
	Buffer
	// ReadRange copies the bytes from offset on into dst. No program that replaces the buffer may be running.
	ReadRange(dst []byte, offset int) error
}

// Checksummer is implemented by buffers in host memory that tell contents apart without a copy.
type Checksummer interface {
	Buffer
	// Checksum is the CRC-32 of the contents, in the polynomial of IEEE. It takes no time where they have not changed
	// since the last one. No program that writes the buffer may be running.
	Checksum() uint32
}

// Scratcher is implemented by buffers that a running program passes to a communicator while the device cannot do
// anything else.
type Scratcher interface {
	Buffer
	// Scratch allocates memory of another type on the same device, which is used during calls from that program.
	Scratch(t ir.Type) (Buffer, error)
}
