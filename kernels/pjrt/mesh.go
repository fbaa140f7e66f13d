//go:build linux

package pjrt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/internal/parts"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// meshes is a backend whose devices are each a mesh of devices of a plugin: XLA spreads a program over them. A launch
// returns when the run is over.
type meshes struct {
	kind string
	mu   sync.Mutex
	all  []*mesh
}

// mesh is one of its devices.
type mesh struct {
	backend *Backend
	client  *capi.Client
	name    kernels.Device
	shape   parts.Mesh
	ids     []int     // the numbers of the plugin's devices, in row-major order of shape
	own     []int     // positions in ids of this process's devices: all, unless the mesh spans several processes
	places  []uintptr // these
	span    *span     // over several processes; nil: one
	layouts func(p *ir.Program) ([][]int, error)

	mu   sync.Mutex // for one run, or one access to a buffer, at a time
	flag *spread    // zeros, for the failure flag
}

// NewMesh combines several devices into one; see [kernels.Partitioner].
func (b *Backend) NewMesh(o kernels.MeshOptions) (kernels.Device, error) {
	devices := len(o.Devices)
	if o.Span != nil {
		devices = len(o.Span.Cores)
	}
	if err := parts.Mesh(o.Shape).Check(devices); err != nil {
		return kernels.Device{}, fmt.Errorf("pjrt: %w", err)
	}
	if o.Layouts == nil {
		return kernels.Device{}, errors.New("pjrt: a mesh without layouts; expected a function that gives those of a program's inputs")
	}
	if o.Span != nil {
		m, err := b.spanning(o)
		if err != nil {
			return kernels.Device{}, err
		}
		return b.meshes.add(m)
	}
	m := &mesh{backend: b, shape: o.Shape, layouts: o.Layouts}
	for i, d := range o.Devices {
		client, place, err := b.device(d)
		if err != nil {
			return kernels.Device{}, err
		}
		if slices.Contains(o.Devices[:i], d) {
			return kernels.Device{}, fmt.Errorf("pjrt: device %v is in the mesh twice", d)
		}
		info, err := client.Describe(place)
		if err != nil {
			return kernels.Device{}, err
		}
		m.client, m.places, m.ids, m.own = client, append(m.places, place), append(m.ids, info.ID), append(m.own, i)
	}
	return b.meshes.add(m)
}

func newMeshes(kind string) *meshes { return &meshes{kind: kind + "_mesh"} }

// add gives a mesh a name. The first one registers the kind.
func (s *meshes) add(m *mesh) (kernels.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, err := kernels.Lookup(s.kind); err != nil {
		kernels.Register(s)
	} else if other != kernels.Backend(s) {
		return kernels.Device{}, fmt.Errorf("pjrt: there are two backends for devices of one kind, and both want to make meshes called %q", s.kind)
	}
	m.name = kernels.Device{Kind: s.kind, Index: len(s.all)}
	s.all = append(s.all, m)
	return m.name, nil
}

func (s *meshes) at(d kernels.Device) (*mesh, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Kind != s.kind || d.Index < 0 || d.Index >= len(s.all) {
		return nil, fmt.Errorf("pjrt: there is no mesh %v", d)
	}
	return s.all[d.Index], nil
}

func (s *meshes) Kind() string { return s.kind }

// Devices is empty: meshes are made by their users.
func (s *meshes) Devices() []kernels.Device { return nil }

func (s *meshes) Open(d kernels.Device) error {
	_, err := s.at(d)
	return err
}

func (s *meshes) NewBuffer(d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	m, err := s.at(d)
	if err != nil {
		return nil, err
	}
	b := &meshBuffer{mesh: m, typ: t}
	m.backend.dead.Watch(b)
	return b, nil
}

// NewQueue opens a queue, which is the caller.
func (s *meshes) NewQueue(d kernels.Device) (kernels.Queue, error) {
	if _, err := s.at(d); err != nil {
		return nil, err
	}
	return meshQueue{d}, nil
}

type meshQueue struct{ device kernels.Device }

func (q meshQueue) Device() kernels.Device         { return q.device }
func (q meshQueue) Inline() bool                   { return true }
func (q meshQueue) Wait(ctx context.Context) error { return ctx.Err() }
func (q meshQueue) Close()                         {}

// Compile compiles a program for all devices of the mesh together. A program for replicas is compiled when they meet,
// because only then their meshes are known.
func (s *meshes) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	m, err := s.at(o.Device)
	if err != nil {
		return nil, err
	}
	layouts, err := m.layouts(p)
	if err != nil {
		return nil, err
	}
	replicas := max(o.Replicas, 1)
	layouts, options, err := divide(p, m.shape, layouts, replicas, takesShardy(m.client.Plugin))
	if err != nil {
		return nil, err
	}
	options.Platform = m.backend.platform
	module, err := stablehlo.Lower(p, options)
	if err != nil {
		return nil, err
	}
	if err := m.span.same(p.Name, module.Text); err != nil {
		return nil, err
	}
	e := &meshExecutable{mesh: m, program: p, module: module, layouts: layouts, replicas: replicas, codes: map[string]*capi.Executable{}}
	m.backend.dead.Watch(e)
	if replicas == 1 {
		_, err = e.on(m.ids)
	}
	return e, err
}

// close frees what the meshes hold themselves.
func (s *meshes) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, m := range s.all {
		m.mu.Lock()
		err = errors.Join(err, m.flag.free(m.client))
		m.flag = nil
		m.mu.Unlock()
	}
	return err
}

// zeros is the failure flag for a run that follows no failure. The caller holds the mesh.
func (m *mesh) zeros() (*spread, error) {
	if m.flag == nil {
		f, err := m.spread(stablehlo.FlagType, nil, make([]byte, stablehlo.FlagType.Bytes()))
		if err != nil {
			return nil, err
		}
		m.flag = f
	}
	return m.flag, nil
}
