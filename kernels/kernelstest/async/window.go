package async

import (
	"context"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// present shows a communicator of somebody else the values of a running program as what they are: memory that the host
// cannot see.
func (s *session) present(c kernels.Communicator) kernels.Communicator {
	g := &guest{Communicator: c, session: s}
	if o, ok := c.(kernels.Overlapper); ok {
		return &overlappingGuest{g, o}
	}
	return g
}

// guest calls a communicator from a running program.
type guest struct {
	kernels.Communicator
	session *session
}

func (g *guest) show(values []kernels.Buffer) []kernels.Buffer {
	out := make([]kernels.Buffer, len(values))
	for i, v := range values {
		out[i] = &window{v, g.session}
	}
	return out
}

func (g *guest) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	return g.Communicator.AllReduce(ctx, kind, g.show(values))
}

func (g *guest) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	return g.Communicator.AllGather(ctx, &window{part, g.session}, &window{whole, g.session}, axis)
}

func (g *guest) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	return g.Communicator.Broadcast(ctx, root, &window{value, g.session})
}

type overlappingGuest struct {
	*guest
	overlapper kernels.Overlapper
}

func (g *overlappingGuest) StartAllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	return g.overlapper.StartAllReduce(ctx, kind, g.show(values))
}

func (g *overlappingGuest) WaitAllReduce(ctx context.Context) error {
	return g.overlapper.WaitAllReduce(ctx)
}

// window is a value of a running program. The device waits for the communicator meanwhile, so that copies are made at
// once.
type window struct {
	memory  kernels.Buffer
	session *session
}

var _ kernels.Scratcher = (*window)(nil)

func (w *window) Type() ir.Type          { return w.memory.Type() }
func (w *window) Device() kernels.Device { return w.session.device.name }
func (w *window) Bytes() []byte          { return nil }
func (w *window) Free()                  { w.memory.Free() }
func (w *window) Write(src []byte) error { return w.Upload(src).Wait(context.Background()) }
func (w *window) Read(dst []byte) error  { return w.Download(dst).Wait(context.Background()) }

func (w *window) Upload(src []byte) kernels.Event {
	w.session.backend.stats.uploads.Add(1)
	return w.memory.Upload(src)
}

func (w *window) Download(dst []byte) kernels.Event {
	w.session.backend.stats.downloads.Add(1)
	return w.memory.Download(dst)
}

func (w *window) CopyFrom(src kernels.Buffer) kernels.Event {
	if other, ok := src.(*window); ok {
		return w.memory.CopyFrom(other.memory)
	}
	return w.memory.CopyFrom(src)
}

// Scratch makes memory that can be used while the program runs.
func (w *window) Scratch(t ir.Type) (kernels.Buffer, error) {
	m, err := w.session.backend.inner.NewBuffer(inside(w.session.device.name), t)
	if err != nil {
		return nil, err
	}
	return &window{m, w.session}, nil
}
