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
	// Upload is Write without the intermediate copy: src must not change until the event is done.
	Upload(src []byte) Event
	// Download is Read without waiting: dst is filled when the event is done.
	Download(dst []byte) Event
	// CopyFrom copies another buffer of the same type, on a device of the same kind, without going through the host.
	CopyFrom(src Buffer) Event
	// Bytes returns the host memory that backs the buffer, or nil if it is elsewhere. Callers may write it while no
	// program that uses the buffer is running.
	Bytes() []byte
	// Free releases the memory when all pending operations are over; the buffer must not be used afterwards.
	Free()
}

// Borrower is implemented by buffers in host memory that can use the caller's memory, so that inputs and results need
// not be copied.
type Borrower interface {
	Buffer
	// Borrow makes the buffer use the given memory, which must have the same length and must not change while a program
	// runs. A program writes to it only if told to replace the buffer's value. nil, and Write, restore the buffer's own
	// memory.
	Borrow(memory []byte) error
}

// Deferrer is implemented by backends whose buffers can use the caller's memory.
type Deferrer interface {
	Backend
	// NewBorrowingBuffer is NewBuffer for a buffer that usually uses the caller's memory: it gets memory of its own
	// when it needs some.
	NewBorrowingBuffer(d Device, t ir.Type) (Borrower, error)
}

// Stager is implemented by buffers on devices that copy from host memory of their own. If another goroutine writes that
// memory in advance, the goroutine that runs steps loses no time.
type Stager interface {
	Buffer
	// Stage returns host memory as long as the buffer, or nil if none is available. It may be called at any time and
	// from any goroutine, even when the buffer has been freed.
	Stage() Staged
	// WriteStaged is Write with the contents of staged memory, which it takes back.
	WriteStaged(s Staged) error
}

// Staged is host memory from a [Stager], for one WriteStaged or Drop.
type Staged interface {
	// Bytes is the memory. Its initial contents are undefined.
	Bytes() []byte
	// Drop returns it unused.
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
	// Fill passes the memory to f, which writes it and must not retain it. No program that uses the buffer may be
	// running.
	Fill(f func(memory []byte) error) error
}

// RangeReader is implemented by buffers in host memory that can be read piece by piece.
type RangeReader interface {
	Buffer
	// ReadRange copies the bytes from offset on into dst. No program that replaces the buffer may be running.
	ReadRange(dst []byte, offset int) error
}

// Checksummer is implemented by buffers in host memory whose contents can be compared without a copy.
type Checksummer interface {
	Buffer
	// Checksum is the CRC-32 (IEEE) of the contents. If they have not changed since the last call it takes no time. No
	// program that writes the buffer may be running.
	Checksum() uint32
}

// Scratcher is implemented by buffers that a running program passes to a communicator while the device is otherwise
// blocked.
type Scratcher interface {
	Buffer
	// Scratch allocates memory of another type on the same device, for use during calls from that program.
	Scratch(t ir.Type) (Buffer, error)
}
