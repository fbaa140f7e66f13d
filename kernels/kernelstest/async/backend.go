package async

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Options configure a backend. The zero value is a backend of the kind "async" with eight devices.
type Options struct {
	Kind    string        // "" is "async"
	Devices int           // 0 is 8
	Delay   time.Duration // of work on a device, at most; 0 is 200 µs, negative none
	// Memory is the number of bytes that buffers and programs may take on each device; 0 is no limit.
	Memory int64
	// OneProcess makes communicators connect replicas of one process only, so that processes meet in host memory.
	OneProcess bool
	// Loops makes the backend a [kernels.Looper] that wants steps repeated on the device.
	Loops bool
}

// Backend runs programs on devices that work by themselves. See the package comment.
type Backend struct {
	options Options
	inner   cpu.Backend

	mu      sync.Mutex
	devices map[int]*device
	stats   counters
}

var _ kernels.Backend = (*Backend)(nil)

// New returns a backend; [kernels.Register] makes it known to strategies.
func New(o Options) *Backend {
	if o.Kind == "" {
		o.Kind = "async"
	}
	if o.Devices == 0 {
		o.Devices = 8
	}
	if o.Delay == 0 {
		o.Delay = 200 * time.Microsecond
	}
	return &Backend{options: o, devices: map[int]*device{}}
}

// Kind is the kind of its devices.
func (b *Backend) Kind() string { return b.options.Kind }

// LoopsSteps is the option Loops.
func (b *Backend) LoopsSteps() bool { return b.options.Loops }

// Devices lists none: a strategy that takes every accelerator is not to find those of a test, which are used by name.
func (b *Backend) Devices() []kernels.Device { return nil }

// Open reports whether the device exists.
func (b *Backend) Open(d kernels.Device) error {
	if d.Kind != b.options.Kind || d.Index < 0 || d.Index >= b.options.Devices {
		return fmt.Errorf("async: device %v: expected \"%s:0\" to \"%s:%d\"", d, b.options.Kind, b.options.Kind, b.options.Devices-1)
	}
	return nil
}

// at returns the device.
func (b *Backend) at(d kernels.Device) (*device, error) {
	if err := b.Open(d); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.devices[d.Index] == nil {
		b.devices[d.Index] = &device{name: d, delay: b.options.Delay, random: rand.New(rand.NewPCG(uint64(d.Index), 1)), waits: &b.stats.waits}
	}
	return b.devices[d.Index], nil
}

// inside is the device of the backend that computes.
func inside(d kernels.Device) kernels.Device { return kernels.Device{Kind: cpu.Kind, Index: d.Index} }

// NewBuffer makes a buffer of zeros.
func (b *Backend) NewBuffer(d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	dev, err := b.at(d)
	if err != nil {
		return nil, err
	}
	if err := dev.take(int64(t.Bytes()), b.options.Memory, fmt.Sprint("a buffer of ", t)); err != nil {
		return nil, err
	}
	memory, err := b.inner.NewBuffer(inside(d), t)
	if err != nil {
		dev.taken.Add(-int64(t.Bytes()))
		return nil, err
	}
	b.stats.buffers.Add(1)
	return &buffer{backend: b, device: dev, typ: t, memory: memory}, nil
}

// NewQueue opens a queue.
func (b *Backend) NewQueue(d kernels.Device) (kernels.Queue, error) {
	dev, err := b.at(d)
	if err != nil {
		return nil, err
	}
	b.stats.queues.Add(1)
	return &queue{backend: b, device: dev}, nil
}

// queue remembers the first failure of its launches.
type queue struct {
	backend *Backend
	device  *device
	mu      sync.Mutex
	err     error
}

func (q *queue) Device() kernels.Device { return q.device.name }

// Inline is false: devices work by themselves.
func (q *queue) Inline() bool { return false }

// Wait waits for all that the device has been given.
func (q *queue) Wait(ctx context.Context) error {
	q.backend.stats.synchronizations.Add(1)
	if err := q.device.do(func() error { return nil }).Wait(ctx); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.err
	q.err = nil
	return err
}

func (q *queue) Close() { q.backend.stats.queues.Add(-1) }

func (q *queue) failure() error {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

func (q *queue) fail(err error) {
	if q == nil || err == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
}
