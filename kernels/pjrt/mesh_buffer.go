//go:build linux

package pjrt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/internal/parts"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
)

// spread is an array in parts on the devices of a mesh.
type spread struct {
	layout  []int
	handles []uintptr // by device of this process
	remote  *link     // to the other processes that took part in making it; nil: none did
	held    bool      // forever, by a run that was given up
}

// spread puts an array on the devices.
func (m *mesh) spread(t ir.Type, layout []int, data []byte) (*spread, error) {
	s := &spread{layout: layout}
	part := m.shape.Part(t, layout)
	own := make([]byte, part.Bytes())
	for i, place := range m.places {
		if !parts.Divided(layout) {
			own = data
		} else {
			m.shape.Cut(t, layout, m.own[i], own, data)
		}
		var handle uintptr
		if err := m.backend.withRoom(func() (err error) {
			handle, err = m.client.Upload(place, 0, elementTypes[t.DType], part.Shape, own)
			return err
		}); err != nil {
			return nil, errors.Join(fmt.Errorf("pjrt: writing %v to %v: %w", t, m.name, err), s.free(m.client))
		}
		s.handles = append(s.handles, handle)
	}
	return s, nil
}

// gather reads an array back.
func (m *mesh) gather(name string, t ir.Type, s *spread, into []byte) error {
	if len(into) == 0 {
		return nil
	}
	if !parts.Divided(s.layout) {
		return m.download(s, 0, into)
	}
	own := make([]byte, m.shape.Part(t, s.layout).Bytes())
	var all []byte // parts for other processes
	for i := range s.handles {
		if err := m.download(s, i, own); err != nil {
			return fmt.Errorf("pjrt: reading %v from %v: %w", t, m.name, err)
		}
		m.shape.Paste(t, s.layout, m.own[i], own, into)
		if m.span != nil {
			all = append(all, own...)
		}
	}
	return m.span.complete(m, name, t, s.layout, all, into)
}

// download reads the part on one of this process's devices. A result that other processes take part in may never come.
// Then it is given up, and the memory that it would have been written to belongs to the call.
func (m *mesh) download(s *spread, i int, into []byte) error {
	if s.remote == nil {
		return m.client.Download(s.handles[i], into)
	}
	own := make([]byte, len(into))
	err := s.remote.await(context.Background(), func() error { return m.client.Download(s.handles[i], own) })
	if err == nil {
		copy(into, own)
	}
	return err
}

func (s *spread) free(client *capi.Client) error {
	if s == nil || s.held {
		return nil
	}
	var err error
	for _, handle := range s.handles {
		err = errors.Join(err, client.Free(handle))
	}
	s.handles = nil
	return err
}

// meshBuffer is an array on a mesh. How it is divided is known only when a program uses it; until then its contents are
// in host memory.
type meshBuffer struct {
	mesh *mesh
	typ  ir.Type

	// guarded by the mesh
	name   string  // of the input of a program that it was last, the path of a variable; "" where it never was
	host   []byte  // contents that are not on the devices yet; nil with nil spread is zeros
	spread *spread // nil where host counts
}

func (b *meshBuffer) Type() ir.Type          { return b.typ }
func (b *meshBuffer) Device() kernels.Device { return b.mesh.name }
func (b *meshBuffer) Bytes() []byte          { return nil }

func (b *meshBuffer) check(what string, n int) error {
	if want := b.typ.Bytes(); n != want {
		return fmt.Errorf("pjrt: %s a buffer %v on %v: received %d bytes, expected %d", what, b.typ, b.mesh.name, n, want)
	}
	return nil
}

// Write keeps a copy for the next launch.
func (b *meshBuffer) Write(src []byte) error {
	if err := b.check("writing", len(src)); err != nil {
		return err
	}
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	b.host = append(b.host[:0], src...)
	return b.replace(nil)
}

// replace replaces the parts by others. The caller holds the mesh.
func (b *meshBuffer) replace(s *spread) error {
	old := b.spread
	b.spread = s
	return old.free(b.mesh.client)
}

// Read copies the whole array to host memory.
func (b *meshBuffer) Read(dst []byte) error {
	if err := b.check("reading", len(dst)); err != nil {
		return err
	}
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	return b.read(dst)
}

func (b *meshBuffer) read(dst []byte) error {
	if b.spread != nil {
		return b.mesh.gather(b.name, b.typ, b.spread, dst)
	}
	clear(dst)
	copy(dst, b.host)
	return nil
}

func (b *meshBuffer) Upload(src []byte) kernels.Event   { return kernels.Completed(b.Write(src)) }
func (b *meshBuffer) Download(dst []byte) kernels.Event { return kernels.Completed(b.Read(dst)) }

// CopyFrom copies another buffer through the host.
func (b *meshBuffer) CopyFrom(src kernels.Buffer) kernels.Event {
	if !src.Type().Equal(b.typ) {
		return kernels.Completed(fmt.Errorf("pjrt: a buffer %v on %v cannot be a copy of %v on %v", b.typ, b.mesh.name, src.Type(), src.Device()))
	}
	data := make([]byte, b.typ.Bytes())
	if err := src.Read(data); err != nil {
		return kernels.Completed(err)
	}
	return kernels.Completed(b.Write(data))
}

// Exchange swaps the contents with those of another buffer of the same type and mesh.
func (b *meshBuffer) Exchange(other kernels.Buffer) error {
	o, ok := other.(*meshBuffer)
	if !ok || o.mesh != b.mesh || !o.typ.Equal(b.typ) {
		return fmt.Errorf("pjrt: a buffer %v on %v cannot be exchanged with one of %v on %v", b.typ, b.mesh.name, other.Type(), other.Device())
	}
	if o == b {
		return nil
	}
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	b.host, o.host = o.host, b.host
	b.spread, o.spread = o.spread, b.spread
	return nil
}

// placed returns the parts, divided as a program wants them. The caller holds the mesh.
func (b *meshBuffer) placed(layout []int) (*spread, error) {
	if b.spread != nil && (slices.Equal(b.spread.layout, layout) || !parts.Divided(b.spread.layout) && !parts.Divided(layout)) {
		return b.spread, nil
	}
	data := make([]byte, b.typ.Bytes())
	if err := b.read(data); err != nil {
		return nil, err
	}
	s, err := b.mesh.spread(b.typ, layout, data)
	if err != nil {
		return nil, err
	}
	return s, b.replace(s)
}

// PartShape is the shape of the part on each device, or of the whole array if no program has used it yet.
func (b *meshBuffer) PartShape() []int {
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	if b.spread == nil {
		return b.typ.Shape
	}
	return b.mesh.shape.Part(b.typ, b.spread.layout).Shape
}

// Free releases the memory.
func (b *meshBuffer) Free() {
	unreachable.Forget(b)
	b.Discard()
}

// Discard is Free for a buffer that nobody can reach.
func (b *meshBuffer) Discard() {
	b.mesh.mu.Lock()
	defer b.mesh.mu.Unlock()
	b.host = nil
	_ = b.replace(nil) // nobody waits for the outcome
}
