package async

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buffer is memory of a device.
type buffer struct {
	backend *Backend
	device  *device
	typ     ir.Type
	memory  kernels.Buffer // used by the device's goroutine alone
	freed   atomic.Bool
}

var _ kernels.Buffer = (*buffer)(nil)

var errFreed = errors.New("async: the buffer has been freed")

func (b *buffer) Type() ir.Type          { return b.typ }
func (b *buffer) Device() kernels.Device { return b.device.name }

// Bytes is nil: the host cannot see the memory.
func (b *buffer) Bytes() []byte { return nil }

// usable reports a buffer that has been freed, or a length that is not the buffer's.
func (b *buffer) usable(bytes int) error {
	if b.freed.Load() {
		return errFreed
	}
	if bytes != b.typ.Bytes() {
		return fmt.Errorf("async: a buffer of %v has %d bytes, received %d", b.typ, b.typ.Bytes(), bytes)
	}
	return nil
}

// Write copies src and hands the copy to the device.
func (b *buffer) Write(src []byte) error {
	if err := b.usable(len(src)); err != nil {
		return err
	}
	b.Upload(bytes.Clone(src))
	return nil
}

// Upload lets the device read src when it comes to it.
func (b *buffer) Upload(src []byte) kernels.Event {
	if err := b.usable(len(src)); err != nil {
		return kernels.Completed(err)
	}
	b.backend.stats.uploads.Add(1)
	return b.device.do(func() error { return b.memory.Write(src) })
}

// Read waits for the device.
func (b *buffer) Read(dst []byte) error {
	b.backend.stats.synchronizations.Add(1)
	return b.Download(dst).Wait(context.Background())
}

// Download lets the device fill dst when it comes to it.
func (b *buffer) Download(dst []byte) kernels.Event {
	if err := b.usable(len(dst)); err != nil {
		return kernels.Completed(err)
	}
	b.backend.stats.downloads.Add(1)
	return b.device.do(func() error { return b.memory.Read(dst) })
}

// CopyFrom copies between buffers of the backend. Between devices, one waits until the other has read the value.
func (b *buffer) CopyFrom(src kernels.Buffer) kernels.Event {
	from, ok := src.(*buffer)
	if !ok || from.backend != b.backend {
		return kernels.Completed(fmt.Errorf("async: a buffer on %v cannot be copied from %T on %v", b.device.name, src, src.Device()))
	}
	if !from.typ.Equal(b.typ) {
		return kernels.Completed(fmt.Errorf("async: a buffer of %v cannot be filled with one of %v", b.typ, from.typ))
	}
	if b.freed.Load() || from.freed.Load() {
		return kernels.Completed(errFreed)
	}
	b.backend.stats.copies.Add(1)
	if from.device == b.device {
		return b.device.do(func() error { return b.memory.CopyFrom(from.memory).Wait(context.Background()) })
	}
	value := make([]byte, b.typ.Bytes())
	read := from.device.do(func() error { return from.memory.Read(value) })
	return b.device.do(func() error {
		<-read.over
		if read.err != nil {
			return read.err
		}
		return b.memory.Write(value)
	})
}

// Free gives the memory back when the device has done what uses it. Freeing twice is counted.
func (b *buffer) Free() {
	if b.freed.Swap(true) {
		b.backend.stats.twice.Add(1)
		return
	}
	b.backend.stats.buffers.Add(-1)
	b.device.taken.Add(-int64(b.typ.Bytes()))
	b.device.do(func() error { b.memory.Free(); return nil })
}
