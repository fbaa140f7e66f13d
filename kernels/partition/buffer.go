package partition

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buffer is an array on a mesh. How it is divided is known when a program uses it; until then its contents wait in host
// memory.
type buffer struct {
	mesh *mesh
	typ  ir.Type

	// guarded by the mesh
	host  []byte // contents while there are no parts; nil is zeros
	at    layout
	parts []kernels.Buffer // by device; nil: none yet
	own   []byte           // one part, on the way
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
	if b.parts == nil {
		b.host = append(b.host[:0], src...)
		return nil
	}
	for device, part := range b.parts {
		own := src
		if b.at.divided() {
			own = b.one()
			b.mesh.rows(b.typ, b.at, device, func(inPart, inWhole, n int) { copy(own[inPart:inPart+n], src[inWhole:]) })
		}
		if err := part.Write(own); err != nil {
			return err
		}
	}
	return nil
}

// one is memory for a part.
func (b *buffer) one() []byte {
	if n := b.mesh.part(b.typ, b.at).Bytes(); len(b.own) != n {
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
		b.mesh.rows(b.typ, b.at, device, func(inPart, inWhole, n int) { copy(dst[inWhole:inWhole+n], own[inPart:]) })
	}
	return nil
}

func (b *buffer) Upload(src []byte) kernels.Event   { return kernels.Completed(b.Write(src)) }
func (b *buffer) Download(dst []byte) kernels.Event { return kernels.Completed(b.Read(dst)) }

// CopyFrom copies another buffer by way of the host.
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
	b.host, o.host = o.host, b.host
	b.at, o.at = o.at, b.at
	b.parts, o.parts = o.parts, b.parts
	return nil
}

// PartShape is the shape of what lies on each device; that of the whole array where no program has used it yet.
func (b *buffer) PartShape() []int {
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	return b.mesh.part(b.typ, b.at).Shape
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
	t := b.mesh.part(b.typ, at)
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
	return b.parts, b.write(data)
}

func (b *buffer) free() {
	for _, part := range b.parts {
		part.Free()
	}
	b.parts, b.at, b.own = nil, nil, nil
}

// Free gives the memory back.
func (b *buffer) Free() {
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	b.host = nil
	b.free()
}

// part is the type of each part.
func (m *mesh) part(t ir.Type, at layout) ir.Type {
	s := spreader{mesh: m.shape}
	return s.part(t, at)
}

// rows calls f for each run of bytes that a part and the whole array share: n bytes at place inPart of the part and
// inWhole of the array.
func (m *mesh) rows(t ir.Type, at layout, device int, f func(inPart, inWhole, n int)) {
	part, size := m.part(t, at).Shape, t.DType.Size()
	if part.Size() == 0 || len(part) == 0 {
		return
	}
	first := make([]int, len(part)) // of the part in the whole
	for i, axis := range at {
		if axis >= 0 {
			first[i] = m.coordinate(device, axis) * part[i]
		}
	}
	last := len(part) - 1
	run := part[last] * size
	for line := range part[:last].Size() {
		place, rest, stride := first[last], line, t.Shape[last]
		for i := last - 1; i >= 0; i-- {
			place += (first[i] + rest%part[i]) * stride
			stride *= t.Shape[i]
			rest /= part[i]
		}
		f(line*run, place*size, run)
	}
}

// coordinate is the place of a device along an axis of the mesh.
func (m *mesh) coordinate(device, axis int) int {
	for _, n := range m.shape[axis+1:] {
		device /= n
	}
	return device % m.shape[axis]
}
