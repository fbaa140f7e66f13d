package kernels

import "github.com/gokeras/gokeras/kernels/ir"

// Buffer is the memory of one value on one device: dense, row-major elements of a fixed type, little endian.
type Buffer interface {
	Type() ir.Type
	Device() Device
	// Write copies len(src) bytes (all of the buffer) from host memory. When it returns, src may be used again; the
	// device may still have to read the copy.
	Write(src []byte) error
	// Read copies the whole buffer to host memory and waits for it: for what writes the buffer, and for the copy.
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
	// Free gives the memory back when what was asked for so far is over; the buffer must not be used afterwards.
	Free()
}

// Borrower is implemented by buffers in host memory that can stand for memory of the caller's, so that inputs need not
// be copied.
type Borrower interface {
	Buffer
	// Borrow makes the buffer use the given memory, which must be as long and must not change while a program runs; a
	// program reads it and does not write it. nil, and Write, bring the buffer's own memory back.
	Borrow(memory []byte) error
}

// Exchanger is implemented by buffers that can trade memory with another one, so that a value computed beside the
// current one takes its place without a copy. If addresses are part of what was captured, buffers are better copied.
type Exchanger interface {
	Buffer
	// Exchange swaps the contents of two buffers of one type and device. No program that uses either may be running.
	Exchange(other Buffer) error
}

// Filler is implemented by buffers in host memory whose contents can be made in their place.
type Filler interface {
	Buffer
	// Fill hands the memory to f, which writes it and keeps no hold of it. No program that uses the buffer may be
	// running.
	Fill(f func(memory []byte) error) error
}

// Scratcher is implemented by buffers that a running program shows to a communicator where the device cannot be asked
// for anything else meanwhile.
type Scratcher interface {
	Buffer
	// Scratch makes memory of another type on the same device, which is used during calls from that program.
	Scratch(t ir.Type) (Buffer, error)
}
