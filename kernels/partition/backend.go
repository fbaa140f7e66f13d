package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/internal/parts"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Backend has devices that are each a mesh of devices of another backend. A program for a mesh is a program for one
// device; [Program] spreads it. A launch returns when the run is over.
type Backend struct {
	base kernels.Backend
	kind string

	mu  sync.Mutex
	all []*mesh
}

// mesh is one device of the backend.
type mesh struct {
	base    kernels.Backend
	name    kernels.Device
	shape   parts.Mesh
	devices []kernels.Device // in row-major order of shape
	layouts func(p *ir.Program) ([][]int, error)

	mu   sync.Mutex // one run, or one look at a buffer, at a time
	ends []kernels.Communicator
}

var (
	backendsMu sync.Mutex
	backends   = map[string]*Backend{}
)

// For returns the backend for meshes of a backend's devices. Its kind ends in "_mesh".
func For(base kernels.Backend) (*Backend, error) {
	backendsMu.Lock()
	defer backendsMu.Unlock()
	if b := backends[base.Kind()]; b != nil && b.base == base {
		return b, nil
	}
	b := &Backend{base: base, kind: base.Kind() + "_mesh"}
	if _, err := kernels.Lookup(b.kind); err == nil {
		return nil, fmt.Errorf("partition: there is another backend for devices called %q", b.kind)
	}
	kernels.Register(b)
	backends[base.Kind()] = b
	return b, nil
}

// NewMesh combines several devices into one; see [kernels.Partitioner].
func (b *Backend) NewMesh(o kernels.MeshOptions) (kernels.Device, error) {
	if o.Span != nil {
		return kernels.Device{}, fmt.Errorf("partition: a mesh over several processes of devices of kind %q: %w; expected those of a PJRT plugin", b.base.Kind(), errors.ErrUnsupported)
	}
	if err := parts.Mesh(o.Shape).Check(len(o.Devices)); err != nil {
		return kernels.Device{}, fmt.Errorf("partition: %w", err)
	}
	if o.Layouts == nil {
		return kernels.Device{}, errors.New("partition: a mesh without layouts; expected a function that gives those of a program's inputs")
	}
	for i, d := range o.Devices {
		if d.Kind != b.base.Kind() {
			return kernels.Device{}, fmt.Errorf("partition: device %v is not one of kind %q", d, b.base.Kind())
		}
		if slices.Contains(o.Devices[:i], d) {
			return kernels.Device{}, fmt.Errorf("partition: device %v is in the mesh twice", d)
		}
		if err := b.base.Open(d); err != nil {
			return kernels.Device{}, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &mesh{base: b.base, name: kernels.Device{Kind: b.kind, Index: len(b.all)}, shape: o.Shape, devices: o.Devices, layouts: o.Layouts}
	b.all = append(b.all, m)
	return m.name, nil
}

func (b *Backend) at(d kernels.Device) (*mesh, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.Kind != b.kind || d.Index < 0 || d.Index >= len(b.all) {
		return nil, fmt.Errorf("partition: there is no mesh %v", d)
	}
	return b.all[d.Index], nil
}

// Kind is the kind of the meshes.
func (b *Backend) Kind() string { return b.kind }

// Devices is empty: meshes are made by their users.
func (b *Backend) Devices() []kernels.Device { return nil }

// Open returns an error if there is no such mesh.
func (b *Backend) Open(d kernels.Device) error {
	_, err := b.at(d)
	return err
}

// NewBuffer returns an array of zeros, which is divided when a program uses it.
func (b *Backend) NewBuffer(d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	m, err := b.at(d)
	if err != nil {
		return nil, err
	}
	return &buffer{mesh: m, typ: t}, nil
}

// NewCommunicators is not supported: a mesh is one device.
func (b *Backend) NewCommunicators(context.Context, kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	return nil, fmt.Errorf("partition: meshes cannot be replicas of each other; make one mesh of all devices: %w", errors.ErrUnsupported)
}

// NewQueue opens a queue, which is the caller.
func (b *Backend) NewQueue(d kernels.Device) (kernels.Queue, error) {
	if _, err := b.at(d); err != nil {
		return nil, err
	}
	return queue{d}, nil
}

type queue struct{ device kernels.Device }

func (q queue) Device() kernels.Device         { return q.device }
func (q queue) Inline() bool                   { return true }
func (q queue) Wait(ctx context.Context) error { return ctx.Err() }
func (q queue) Close()                         {}

// Compile spreads a program over the mesh and compiles what each device runs.
func (b *Backend) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	m, err := b.at(o.Device)
	if err != nil {
		return nil, err
	}
	if o.Replicas > 1 {
		return nil, fmt.Errorf("partition: program %q for %d replicas; a mesh is one", p.Name, o.Replicas)
	}
	layouts, err := m.layouts(p)
	if err != nil {
		return nil, err
	}
	own, err := Program(p, m.shape, layouts)
	if err != nil {
		return nil, err
	}
	layouts = slices.Clone(layouts) // the caller may keep its own for other programs
	for i, in := range p.Inputs {   // as Program has simplified them
		if layouts[i], err = Layout(in.Name, p.Type(in.Value), m.shape, layouts[i]); err != nil {
			return nil, err
		}
	}
	code, err := m.base.Compile(own, kernels.CompileOptions{Device: m.devices[0], Replicas: len(m.devices)})
	if err != nil {
		return nil, err
	}
	return &executable{mesh: m, program: p, layouts: layouts, code: code}, nil
}

// connected returns the communicators of the devices. The caller holds the mesh.
func (m *mesh) connected(ctx context.Context) ([]kernels.Communicator, error) {
	if m.ends == nil && len(m.devices) > 1 {
		ends, err := m.base.NewCommunicators(ctx, kernels.CommunicatorOptions{Devices: m.devices})
		if err != nil {
			return nil, err
		}
		m.ends = ends
	}
	return m.ends, nil
}

// disconnect closes communicators after a failure, which has ended them.
func (m *mesh) disconnect() {
	for _, end := range m.ends {
		end.Close()
	}
	m.ends = nil
}

// HasType reports whether the devices of the mesh have the type.
func (b *Backend) HasType(d ir.DType) bool {
	typed, ok := b.base.(kernels.Typed)
	return !ok || typed.HasType(d)
}
