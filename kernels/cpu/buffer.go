package cpu

import (
	"fmt"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buffer is host memory, aligned to 64 bytes.
type buffer struct {
	typ    ir.Type
	device kernels.Device
	data   []byte // memory in use: own, or borrowed
	own    []byte

	deferred bool // own is made when it is needed; see memory

	version  atomic.Uint64 // of the contents; see changing
	borrowed bool          // data belongs to the caller
	exposed  atomic.Bool   // Bytes has been called, so others may write the memory
	panels   panels
	tiles    panels // the transformed kernel of a convolution; see winograd.go
	halves   halves // the contents in 16 bits; see kept_halves.go
	scaled   scaledPanels
	derived  derivedValues
	checksum checksum
}

var (
	_ kernels.Borrower    = (*buffer)(nil)
	_ kernels.Exchanger   = (*buffer)(nil)
	_ kernels.Filler      = (*buffer)(nil)
	_ kernels.RangeReader = (*buffer)(nil)
)

func newBuffer(d kernels.Device, t ir.Type) *buffer {
	memory := plan.BufferBytes(t.Bytes())
	return &buffer{typ: t, device: d, data: memory, own: memory}
}

// memory returns the memory in use.
func (b *buffer) memory() []byte {
	if b.deferred && b.data == nil {
		b.useOwn()
	}
	return b.data
}

// useOwn makes the buffer use its own memory.
func (b *buffer) useOwn() {
	if b.deferred && b.own == nil {
		b.own = plan.BufferBytes(b.typ.Bytes())
	}
	b.data, b.borrowed = b.own, false
}

// Borrow makes the buffer use the caller's memory. Kernels need no alignment, and never read or write beyond the end.
func (b *buffer) Borrow(memory []byte) error {
	if memory == nil {
		b.data, b.borrowed = b.own, false
		return nil
	}
	if n := b.typ.Bytes(); len(memory) != n || b.data == nil && !b.deferred && n > 0 {
		return b.check(len(memory))
	}
	b.data, b.borrowed = memory, true
	return nil
}

// Exchange swaps the memory of two buffers. Borrowed memory goes back to its owner first.
func (b *buffer) Exchange(other kernels.Buffer) error {
	o, ok := other.(*buffer)
	if !ok || !o.typ.Equal(b.typ) {
		return fmt.Errorf("cpu: a buffer of %v cannot be exchanged with %T of %v", b.typ, other, other.Type())
	}
	b.useOwn()
	o.useOwn()
	b.changing()
	o.changing()
	b.own, o.own = o.own, b.own
	b.data, o.data = b.own, o.own
	b.borrowed, o.borrowed = false, false
	known := b.exposed.Load() || o.exposed.Load()
	b.exposed.Store(known)
	o.exposed.Store(known)
	b.changing()
	o.changing()
	return nil
}

func (b *buffer) Type() ir.Type          { return b.typ }
func (b *buffer) Device() kernels.Device { return b.device }

// Bytes returns the memory. The caller may write it at any time, so from now on programs read it afresh in each run.
func (b *buffer) Bytes() []byte {
	memory := b.memory()
	if len(memory) > 0 {
		b.exposed.Store(true)
	}
	return memory
}

// Free drops the memory. The garbage collector reclaims it once no view of it is left.
func (b *buffer) Free() {
	b.changing()
	b.data, b.own, b.deferred = nil, nil, false
	for _, k := range [...]*panels{&b.panels, &b.tiles} {
		k.mu.Lock()
		k.holds.Store(0)
		k.memory = nil
		k.mu.Unlock()
	}
	b.halves.forget()
	b.scaled.free()
	b.derived.forget()
}

func (b *buffer) check(n int) error {
	if n != len(b.data) {
		return fmt.Errorf("cpu: buffer of %v has %d bytes, received %d", b.typ, len(b.data), n)
	}
	return nil
}

// Write copies src, which must be as long as the buffer, into it.
func (b *buffer) Write(src []byte) error {
	b.useOwn()
	if err := b.check(len(src)); err != nil {
		return err
	}
	b.changing()
	vec.Copy(b.data, src)
	b.changing()
	return nil
}

// Fill lets f write the buffer's own memory.
func (b *buffer) Fill(f func(memory []byte) error) error {
	b.useOwn()
	b.changing()
	defer b.changing()
	return f(b.data)
}

// Read copies the buffer into dst, which must be as long.
func (b *buffer) Read(dst []byte) error {
	b.memory()
	if err := b.check(len(dst)); err != nil {
		return err
	}
	vec.Copy(dst, b.data)
	return nil
}

// ReadRange copies the part of the buffer that begins at offset into dst.
func (b *buffer) ReadRange(dst []byte, offset int) error {
	b.memory()
	if offset < 0 || offset > len(b.data)-len(dst) {
		return fmt.Errorf("cpu: buffer of %v has %d bytes, %d were asked for from %d on", b.typ, len(b.data), len(dst), offset)
	}
	vec.Copy(dst, b.data[offset:])
	return nil
}

// Upload copies src before it returns.
func (b *buffer) Upload(src []byte) kernels.Event { return kernels.Completed(b.Write(src)) }

// Download copies into dst before it returns.
func (b *buffer) Download(dst []byte) kernels.Event { return kernels.Completed(b.Read(dst)) }

// CopyFrom copies another buffer in host memory before it returns.
func (b *buffer) CopyFrom(src kernels.Buffer) kernels.Event {
	return kernels.Completed(b.copyFrom(src))
}

func (b *buffer) copyFrom(src kernels.Buffer) error {
	if !src.Type().Equal(b.typ) {
		return fmt.Errorf("cpu: a buffer of %v cannot be filled with one of %v", b.typ, src.Type())
	}
	if o, ok := src.(*buffer); ok {
		return b.Write(o.memory())
	}
	memory := src.Bytes()
	if memory == nil && b.typ.Bytes() > 0 {
		return fmt.Errorf("cpu: a buffer on %v is not in host memory; read it, and write what was read", src.Device())
	}
	return b.Write(memory)
}
