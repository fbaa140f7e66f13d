//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/internal/background"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buffer is memory on a device.
type buffer struct {
	device  *device
	typ     ir.Type
	address driver.Address
	freed   bool
}

var _ kernels.Exchanger = (*buffer)(nil)

func (d *device) newBuffer(t ir.Type) (*buffer, error) {
	bytes := int64(t.Bytes())
	a, err := d.alloc(bytes, fmt.Sprintf("a value of type %v", t))
	if err != nil {
		return nil, err
	}
	b := &buffer{device: d, typ: t, address: a}
	if bytes > 0 {
		if err := d.enqueue(func() error { return d.Err(d.API.Fill(a, 0, bytes, d.Stream), "cuMemsetD8Async") }); err != nil {
			b.Free()
			return nil, err
		}
	}
	d.dead.Watch(b)
	return b, nil
}

func (b *buffer) Type() ir.Type          { return b.typ }
func (b *buffer) Device() kernels.Device { return b.device.name }

// Bytes is nil, because the memory is on the device.
func (b *buffer) Bytes() []byte { return nil }

func (b *buffer) check(what string, n int) error {
	if b.freed {
		return fmt.Errorf("cuda: %s a buffer %v on %v that was freed", what, b.typ, b.device.name)
	}
	if want := b.typ.Bytes(); n != want {
		return fmt.Errorf("cuda: %s a buffer %v on %v: received %d bytes, expected %d", what, b.typ, b.device.name, n, want)
	}
	return nil
}

// pieceBytes is how much is copied at once if the host waits anyway.
var pieceBytes = 32 << 20

// Write copies src to host memory that the device reads later. If src is larger than two pieces, it waits for all but
// the last two.
func (b *buffer) Write(src []byte) error {
	if err := b.check("writing", len(src)); err != nil || len(src) == 0 {
		return err
	}
	defer runtime.KeepAlive(b) // the garbage collector releases what it finds
	d := b.device
	var blocks [2]*block
	defer func() {
		for _, h := range blocks {
			if h != nil {
				d.keepBlock(h)
			}
		}
	}()
	for i, at := 0, 0; at < len(src); i, at = i+1, at+pieceBytes {
		piece := src[at:min(at+pieceBytes, len(src))]
		h, err := blocks[i%2], error(nil)
		if h == nil {
			h, err = d.takeBlock(len(piece))
			blocks[i%2] = h
		} else {
			err = d.settle(h)
		}
		if err != nil {
			return err
		}
		copy(h.memory, piece)
		if err := d.send(b.address+driver.Address(at), h, len(piece)); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until the copy that uses a block is over.
func (d *device) settle(h *block) error {
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	return d.Err(d.API.SynchronizeEvent(h.event), "cuEventSynchronize")
}

// fetch begins a copy of n bytes from an offset on to host memory.
func (b *buffer) fetch(at, n int) (*block, error) {
	defer runtime.KeepAlive(b)
	d := b.device
	h, err := d.takeBlock(n)
	if err != nil {
		return nil, err
	}
	err = d.enqueue(func() error {
		if err := d.Err(d.API.CopyToHost(h.memory[:n], b.address+driver.Address(at), d.Stream), "cuMemcpyDtoHAsync_v2"); err != nil {
			return err
		}
		return d.record(h, d.Stream)
	})
	if err != nil {
		d.keepBlock(h)
		return nil, err
	}
	return h, nil
}

// arrive waits for a copy to host memory and copies it to dst.
func (d *device) arrive(h *block, dst []byte) error {
	defer d.keepBlock(h)
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	if err := d.Err(d.API.SynchronizeEvent(h.event), "cuEventSynchronize"); err != nil {
		return err
	}
	copy(dst, h.memory)
	return nil
}

// Read copies the buffer to host memory.
func (b *buffer) Read(dst []byte) error {
	if err := b.check("reading", len(dst)); err != nil || len(dst) == 0 {
		return err
	}
	for at := 0; at < len(dst); at += pieceBytes {
		piece := dst[at:min(at+pieceBytes, len(dst))]
		h, err := b.fetch(at, len(piece))
		if err == nil {
			err = b.device.arrive(h, piece)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Upload is Write, because the device reads a copy.
func (b *buffer) Upload(src []byte) kernels.Event { return kernels.Completed(b.Write(src)) }

// Download begins Read.
func (b *buffer) Download(dst []byte) kernels.Event {
	if err := b.check("reading", len(dst)); err != nil || len(dst) == 0 {
		return kernels.Completed(err)
	}
	h, err := b.fetch(0, len(dst))
	if err != nil {
		return kernels.Completed(err)
	}
	return background.Run(func() error { return b.device.arrive(h, dst) })
}

// CopyFrom copies another buffer. It goes through host memory if this device does not reach the other's memory.
func (b *buffer) CopyFrom(src kernels.Buffer) kernels.Event {
	from, ok := src.(*buffer)
	if !ok || !from.typ.Equal(b.typ) || from.freed || b.freed {
		return kernels.Completed(fmt.Errorf("cuda: a buffer %v on %v cannot be a copy of %v on %v: expected the same type and a device of the same kind", b.typ, b.device.name, src.Type(), src.Device()))
	}
	defer runtime.KeepAlive(b)
	defer runtime.KeepAlive(from)
	n := int64(b.typ.Bytes())
	if n == 0 || from == b {
		return kernels.Completed(nil)
	}
	d := b.device
	if from.device != d {
		near, err := d.reaches(from.device)
		switch {
		case err != nil:
		case near:
			err = d.cross(b.address, from.device, from.address, n)
		default:
			data := make([]byte, n)
			err = errors.Join(from.Read(data), b.Write(data))
		}
		return kernels.Completed(err)
	}
	return kernels.Completed(d.enqueue(func() error {
		return d.Err(d.API.CopyOnDevice(b.address, from.address, n, d.Stream), "cuMemcpyDtoDAsync_v2")
	}))
}

// Exchange swaps the contents with those of another buffer of the same type and device.
func (b *buffer) Exchange(other kernels.Buffer) error {
	o, ok := other.(*buffer)
	if !ok || !o.typ.Equal(b.typ) || o.device != b.device || o.freed || b.freed {
		return fmt.Errorf("cuda: a buffer %v on %v cannot be exchanged with one of %v on %v", b.typ, b.device.name, other.Type(), other.Device())
	}
	b.address, o.address = o.address, b.address
	return nil
}

// Free releases the memory when all operations so far are over.
func (b *buffer) Free() {
	if b.freed {
		return
	}
	b.freed = true
	unreachable.Forget(b)
	b.device.free(b.address, int64(b.typ.Bytes()))
}
