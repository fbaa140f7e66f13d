//go:build linux

package pjrt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/internal/background"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
)

// object is a buffer of the plugin, which never changes; copies share it.
type object struct {
	client *capi.Client
	handle uintptr
	memory uintptr // memory that it is in; 0: the default memory of its device
	lent   bool    // its contents are in host memory that is not the plugin's, and must not be replaced
	users  atomic.Int32
	remote atomic.Pointer[link] // of a run with other processes that writes or reads it; nil if there was none
}

// objects are reused, because each step makes one for each of its results.
var objects = sync.Pool{New: func() any { return &object{} }}

func newObject(client *capi.Client, handle uintptr) *object {
	o := objects.Get().(*object)
	o.client, o.handle, o.memory, o.lent = client, handle, 0, false
	o.remote.Store(nil)
	o.users.Store(1)
	return o
}

func (o *object) share() *object {
	o.users.Add(1)
	return o
}

// release gives up one use; nil is no object. The caller must not touch the object any more.
func (o *object) release() error {
	if o == nil || o.users.Add(-1) != 0 {
		return nil
	}
	client, handle := o.client, o.handle
	objects.Put(o)
	return client.Free(handle)
}

// read waits for the contents and copies them to host memory.
func (o *object) read(ctx context.Context, dst []byte) error {
	remote := o.remote.Load()
	if remote == nil {
		return o.download(dst)
	}
	data := make([]byte, len(dst))
	o.share()
	err := remote.await(ctx, func() error { return errors.Join(o.download(data), o.release()) })
	if err == nil {
		copy(dst, data)
	}
	return err
}

func (o *object) download(dst []byte) error {
	if o.memory != 0 {
		return o.client.Fetch(o.handle, dst)
	}
	return o.client.Download(o.handle, dst)
}

// await returns when the contents are there, or will never be.
func (o *object) await() error {
	remote := o.remote.Load()
	if remote == nil {
		return o.client.Await(o.handle)
	}
	o.share()
	return remote.await(context.Background(), func() error { return errors.Join(o.client.Await(o.handle), o.release()) })
}

// buffer is memory on a device. Plugins have no buffers that can be written: each run and each upload makes a new one,
// which replaces the one before.
type buffer struct {
	backend *Backend
	client  *capi.Client
	place   uintptr // the plugin's device
	memory  uintptr // memory of the contents between programs; 0: the default memory of the device
	usual   uintptr // the default memory, if memory is not 0
	device  kernels.Device
	typ     ir.Type

	mu     sync.Mutex
	object *object // nil while the buffer holds only zeros
	// meeting is the launch of several replicas that will replace the object when all have arrived; nil otherwise.
	meeting *meeting

	stages atomic.Pointer[stages] // nil before the first
}

// NewBuffer returns memory filled with zeros, which is allocated when it is first used.
func (b *Backend) NewBuffer(d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	client, place, err := b.device(d)
	if err != nil {
		return nil, err
	}
	if !t.DType.Valid() || slices.ContainsFunc(t.Shape, func(d int) bool { return d < 0 }) {
		return nil, fmt.Errorf("pjrt: a buffer of type %v: expected an element type of %v and axis lengths of 0 or more", t, ir.DTypes())
	}
	if err := kernels.CheckType(d.Kind, t.DType, b.HasType); err != nil {
		return nil, err
	}
	own := &buffer{backend: b, client: client, place: place, device: d, typ: t}
	b.dead.Watch(own)
	return own, nil
}

func (b *buffer) Type() ir.Type          { return b.typ }
func (b *buffer) Device() kernels.Device { return b.device }

// Bytes is nil, because the memory is on the device.
func (b *buffer) Bytes() []byte { return nil }

func (b *buffer) checkLength(what string, n int) error {
	if want := b.typ.Bytes(); n != want {
		return fmt.Errorf("pjrt: %s a buffer %v on %v: received %d bytes, expected %d", what, b.typ, b.device, n, want)
	}
	return nil
}

// settle waits until launches of several replicas that touch the buffer have been handed to the plugin. The caller
// holds mu.
func (b *buffer) settle() {
	if b.meeting != nil {
		<-b.meeting.over
		b.meeting = nil
	}
}

// Write copies src to the device.
func (b *buffer) Write(src []byte) error {
	if err := b.checkLength("writing", len(src)); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.write(src)
}

func (b *buffer) write(src []byte) error {
	b.settle()
	var handle uintptr
	err := b.backend.withRoom(func() (err error) {
		handle, err = b.client.Upload(b.place, b.memory, elementTypes[b.typ.DType], b.typ.Shape, src)
		return err
	})
	if err != nil {
		return fmt.Errorf("pjrt: writing %v to %v: %w", b.typ, b.device, err)
	}
	o := newObject(b.client, handle)
	o.memory = b.memory
	return b.replace(o)
}

// replace replaces the object by another one.
func (b *buffer) replace(o *object) error {
	old := b.object
	b.object = o
	return old.release()
}

// ready returns the object for use by the caller, who must release it. If nothing was written, it makes one of zeros.
func (b *buffer) ready() (*object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	if b.object == nil {
		if err := b.write(make([]byte, b.typ.Bytes())); err != nil {
			return nil, err
		}
	}
	return b.object.share(), nil
}

// Read copies the buffer to host memory.
func (b *buffer) Read(dst []byte) error {
	if err := b.checkLength("reading", len(dst)); err != nil {
		return err
	}
	b.mu.Lock()
	b.settle()
	if b.object == nil || len(dst) == 0 {
		b.mu.Unlock()
		clear(dst)
		return nil
	}
	o := b.object.share()
	b.mu.Unlock()
	if err := errors.Join(o.read(context.Background(), dst), o.release()); err != nil {
		return fmt.Errorf("pjrt: reading %v from %v: %w", b.typ, b.device, err)
	}
	return nil
}

// Upload is Write, because the plugin copies the array during the call.
func (b *buffer) Upload(src []byte) kernels.Event { return kernels.Completed(b.Write(src)) }

// Download begins Read on another goroutine. It reads the current contents, whatever is launched meanwhile.
func (b *buffer) Download(dst []byte) kernels.Event {
	if err := b.checkLength("reading", len(dst)); err != nil {
		return kernels.Completed(err)
	}
	o, err := b.ready()
	if err != nil || len(dst) == 0 {
		return kernels.Completed(errors.Join(err, o.release()))
	}
	return background.Run(func() error {
		if err := errors.Join(o.read(context.Background(), dst), o.release()); err != nil {
			return fmt.Errorf("pjrt: reading %v from %v: %w", b.typ, b.device, err)
		}
		return nil
	})
}

// CopyFrom copies another buffer. On one device the two share the object, because neither can change it.
func (b *buffer) CopyFrom(src kernels.Buffer) kernels.Event {
	from, ok := src.(*buffer)
	if !ok || !from.typ.Equal(b.typ) || from.client != b.client {
		return kernels.Completed(fmt.Errorf("pjrt: a buffer %v on %v cannot be a copy of %v on %v: expected the same type and devices of one plugin", b.typ, b.device, src.Type(), src.Device()))
	}
	o, err := from.ready()
	if err != nil {
		return kernels.Completed(err)
	}
	if from.place != b.place {
		handle, err := b.client.CopyTo(b.place, o.handle)
		if err = errors.Join(err, o.release()); err != nil {
			return kernels.Completed(fmt.Errorf("pjrt: copying %v from %v to %v: %w", b.typ, from.device, b.device, err))
		}
		o = newObject(b.client, handle)
	}
	if o.memory != b.memory {
		to := b.memory
		if to == 0 {
			to = from.usual
		}
		if o, err = o.in(b.memory, to); err != nil {
			return kernels.Completed(fmt.Errorf("pjrt: copying %v on %v to another memory: %w", b.typ, b.device, err))
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	return kernels.Completed(b.replace(o))
}

// Exchange swaps the contents with those of another buffer of the same type, device and memory.
func (b *buffer) Exchange(other kernels.Buffer) error {
	o, ok := other.(*buffer)
	if !ok || !o.typ.Equal(b.typ) || o.device != b.device || o.client != b.client || o.memory != b.memory {
		return fmt.Errorf("pjrt: a buffer %v on %v cannot be exchanged with one of %v on %v: expected the same type, device and memory", b.typ, b.device, other.Type(), other.Device())
	}
	if o == b {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	o.mu.Lock() // nobody else may use either buffer now, so the order of the locks does not matter
	defer o.mu.Unlock()
	o.settle()
	b.object, o.object = o.object, b.object
	return nil
}

// Free releases the memory when the launches so far are over.
func (b *buffer) Free() {
	unreachable.Forget(b)
	b.Discard()
}

// Discard is Free for a buffer that nobody can reach.
func (b *buffer) Discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	b.replace(nil)
	if s := b.stages.Swap(noStages); s != nil {
		s.close(b.backend)
	}
}
