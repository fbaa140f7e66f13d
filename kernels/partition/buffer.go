package partition

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buffer is an array on a mesh. How it is divided is known only when a program uses it; until then its contents are in
// host memory.
type buffer struct {
	mesh *mesh
	typ  ir.Type

	// guarded by the mesh
	host  []byte // contents while there are no parts; nil is zeros
	at    layout
	parts []kernels.Buffer // by device; nil: none yet
	own   []byte           // one part in host memory, for copies
	freed bool
}

func (b *buffer) Type() ir.Type          { return b.typ }
func (b *buffer) Device() kernels.Device { return b.mesh.name }
func (b *buffer) Bytes() []byte          { return nil }

func (b *buffer) check(what string, n int) error {
	if want := b.typ.Bytes(); n != want {
		return fmt.Errorf("partition: %s a buffer %v on %v: received %d bytes, expected %d", what, b.typ, b.mesh.name, n, want)
	}
	return nil
}

// alive returns an error if the buffer was freed. The caller holds the mesh.
func (b *buffer) alive() error {
	if b.freed {
		return fmt.Errorf("partition: the buffer %v on %v is used after Free", b.typ, b.mesh.name)
	}
	return nil
}

// Write copies src to the devices, or keeps a copy until it is known how the array is divided.
func (b *buffer) Write(src []byte) error {
	if err := b.check("writing", len(src)); err != nil {
		return err
	}
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	return b.write(src)
}

func (b *buffer) write(src []byte) error {
	if err := b.alive(); err != nil {
		return err
	}
	if b.parts == nil {
		b.host = append(b.host[:0], src...)
		return nil
	}
	for device, part := range b.parts {
		own := src
		if b.at.divided() {
			own = b.one()
			b.mesh.shape.Cut(b.typ, b.at, device, own, src)
		}
		if err := part.Write(own); err != nil {
			return err
		}
	}
	return nil
}

// one is host memory for a part.
func (b *buffer) one() []byte {
	if n := b.mesh.shape.Part(b.typ, b.at).Bytes(); len(b.own) != n {
		b.own = make([]byte, n)
	}
	return b.own
}

// Read copies the whole array to host memory.
func (b *buffer) Read(dst []byte) error {
	if err := b.check("reading", len(dst)); err != nil {
		return err
	}
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	return b.read(dst)
}

func (b *buffer) read(dst []byte) error {
	if err := b.alive(); err != nil {
		return err
	}
	switch {
	case b.parts == nil:
		clear(dst)
		copy(dst, b.host)
		return nil
	case !b.at.divided():
		return b.parts[0].Read(dst)
	}
	own := b.one()
	for device, part := range b.parts {
		if err := part.Read(own); err != nil {
			return err
		}
		b.mesh.shape.Paste(b.typ, b.at, device, own, dst)
	}
	return nil
}

func (b *buffer) Upload(src []byte) kernels.Event   { return kernels.Completed(b.Write(src)) }
func (b *buffer) Download(dst []byte) kernels.Event { return kernels.Completed(b.Read(dst)) }

// CopyFrom copies another buffer through the host.
func (b *buffer) CopyFrom(src kernels.Buffer) kernels.Event {
	if !src.Type().Equal(b.typ) {
		return kernels.Completed(fmt.Errorf("partition: a buffer %v on %v cannot be a copy of %v on %v", b.typ, b.mesh.name, src.Type(), src.Device()))
	}
	data := make([]byte, b.typ.Bytes())
	if err := src.Read(data); err != nil {
		return kernels.Completed(err)
	}
	return kernels.Completed(b.Write(data))
}

// Exchange swaps the contents with those of another buffer of the same type and mesh.
func (b *buffer) Exchange(other kernels.Buffer) error {
	o, ok := other.(*buffer)
	if !ok || o.mesh != b.mesh || !o.typ.Equal(b.typ) {
		return fmt.Errorf("partition: a buffer %v on %v cannot be exchanged with one of %v on %v", b.typ, b.mesh.name, other.Type(), other.Device())
	}
	if o == b {
		return nil
	}
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	if err := errors.Join(b.alive(), o.alive()); err != nil {
		return err
	}
	b.host, o.host = o.host, b.host
	b.at, o.at = o.at, b.at
	b.parts, o.parts = o.parts, b.parts
	return nil
}

// PartShape is the shape of the part on each device, or of the whole array if no program has used it yet.
func (b *buffer) PartShape() []int {
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	return b.mesh.shape.Part(b.typ, b.at).Shape
}

// placed returns the parts, divided as a program wants them. The caller holds the mesh.
func (b *buffer) placed(at layout) ([]kernels.Buffer, error) {
	if b.parts != nil && slices.Equal(b.at, at) {
		return b.parts, nil
	}
	data := make([]byte, b.typ.Bytes())
	if err := b.read(data); err != nil {
		return nil, err
	}
	b.free()
	t := b.mesh.shape.Part(b.typ, at)
	for _, device := range b.mesh.devices {
		part, err := b.mesh.base.NewBuffer(device, t)
		if err != nil {
			b.free()
			b.host = data
			return nil, err
		}
		b.parts = append(b.parts, part)
	}
	b.at, b.host = at, nil
	if err := b.write(data); err != nil {
		b.free()
		b.host = data
		return nil, err
	}
	return b.parts, nil
}

func (b *buffer) free() {
	for _, part := range b.parts {
		part.Free()
	}
	b.parts, b.at, b.own = nil, nil, nil
}

// Free releases the memory.
func (b *buffer) Free() {
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	b.host, b.freed = nil, true
	b.free()
}
