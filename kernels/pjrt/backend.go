//go:build linux

package pjrt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
)

// Option is a setting for the plugin's connection to its devices, such as "cpu_device_count" of XLA's plugin for CPUs.
// Value is a string, int64, []int64, float32 or bool. The plugin defines which options there are.
type Option = capi.Option

// Backend runs programs through one plugin.
type Backend struct {
	kind    string
	find    func() (string, error) // the plugin's file
	prepare func() error           // says why it is useless to open the plugin; may be nil
	options []Option
	meshes  *meshes
	loaded  atomic.Int64   // programs that came from the cache
	hosts   *kernels.Hosts // hosts of the devices; nil: this process. See [Backend.Join]
	dead    unreachable.List
	lent    lent

	once     sync.Once
	client   *capi.Client
	platform string          // the plugin's name for its kind of device
	flags    map[string]bool // of XLA, for all programs
	err      error
}

// flagsOf are the settings of XLA that a platform needs for its results to be those of StableHLO.
var flagsOf = map[string]map[string]bool{
	"cpu": {"xla_cpu_enable_fast_min_max": false}, // fast maxima lose NaN
}

// New makes a backend for devices of the given kind, such as "xla", from a plugin's file. The plugin is opened at the
// first use; its options are for the connection to the devices.
func New(kind, path string, options ...Option) *Backend {
	return &Backend{kind: kind, find: func() (string, error) { return path, nil }, options: options, meshes: newMeshes(kind)}
}

// Kind is the kind of device that the backend was made for.
func (b *Backend) Kind() string { return b.kind }

// connect opens the plugin and its devices, once.
func (b *Backend) connect() (*capi.Client, error) {
	b.once.Do(b.open)
	return b.client, b.err
}

// open is the first use.
func (b *Backend) open() {
	path, err := b.find()
	if err != nil {
		b.err = err
		return
	}
	if b.prepare != nil {
		if b.err = b.prepare(); b.err != nil {
			return
		}
	}
	plugin, err := capi.Open(path)
	if err != nil {
		b.err = occupied(err)
		return
	}
	store, options := b.settings()
	if b.client, err = plugin.NewClient(store, options...); err != nil {
		b.err = fmt.Errorf("pjrt: plugin %s cannot reach its devices: %w", path, occupied(err))
		return
	}
	b.platform, _, b.err = b.client.Platform()
	b.flags = flagsOf[b.platform]
}

// Devices lists the devices of the plugin. There are none if there is no plugin or it finds none.
func (b *Backend) Devices() []kernels.Device {
	c, err := b.connect()
	if err != nil {
		return nil
	}
	all := make([]kernels.Device, len(c.Devices))
	for i := range all {
		all[i] = kernels.Device{Kind: b.kind, Index: i}
	}
	return all
}

// Lockstep is true, because XLA compiles one program for all replicas.
func (b *Backend) Lockstep() bool { return true }

// LoopsSteps is true, because XLA repeats steps on the device.
func (b *Backend) LoopsSteps() bool { return true }

// Cores lists the devices of all processes, with their places if the platform knows them.
func (b *Backend) Cores() ([]kernels.Core, error) {
	c, err := b.connect()
	if err != nil {
		return nil, err
	}
	cores := make([]kernels.Core, len(c.All))
	for i, device := range c.All {
		info, err := c.Describe(device)
		if err != nil {
			return nil, fmt.Errorf("pjrt: describing device %d of %s: %w", i, c.Plugin.Path, err)
		}
		cores[i] = kernels.Core{Number: info.ID, Process: info.Process, Model: info.Kind, Coordinates: info.Coordinates, OnChip: info.Core}
		if own := slices.Index(c.Devices, device); own >= 0 {
			cores[i].Device = kernels.Device{Kind: b.kind, Index: own}
		}
	}
	slices.SortStableFunc(cores, func(a, b kernels.Core) int { return cmp.Compare(a.Number, b.Number) })
	return cores, nil
}

// Open returns an error that says why a device cannot be used: no plugin was found, it is too old, or it has fewer
// devices.
func (b *Backend) Open(d kernels.Device) error {
	_, _, err := b.device(d)
	return err
}

// device returns the plugin's object for a device.
func (b *Backend) device(d kernels.Device) (*capi.Client, uintptr, error) {
	if d.Kind != b.kind {
		return nil, 0, fmt.Errorf("pjrt: device %v is not one of this backend, whose devices are called %q", d, b.kind)
	}
	c, err := b.connect()
	if err != nil {
		return nil, 0, err
	}
	if d.Index < 0 || d.Index >= len(c.Devices) {
		return nil, 0, fmt.Errorf("pjrt: there is no device %v: the plugin %s has %d of them, counted from 0", d, c.Plugin.Path, len(c.Devices))
	}
	return c, c.Devices[d.Index], nil
}

// Info describes a plugin.
type Info struct {
	Path              string
	Interface         string // version of the plugin interface, "0.115"
	Platform, Version string
	StableHLO         string // the newest version that the plugin reads; "" if it does not say
}

// Info describes the plugin that the backend uses.
func (b *Backend) Info() (Info, error) {
	c, err := b.connect()
	if err != nil {
		return Info{}, err
	}
	p := c.Plugin
	info := Info{Path: p.Path, Interface: fmt.Sprintf("%d.%d", p.Major, p.Minor)}
	info.Platform, info.Version, err = c.Platform()
	if attributes, failed := p.Attributes(); failed == nil {
		if v := attributes["stablehlo_current_version"]; len(v) == 3 {
			info.StableHLO = fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
		}
	}
	return info, err
}

// Close ends the connection. Buffers and executables that have not been freed must no longer be used.
func (b *Backend) Close() error {
	b.once.Do(func() { b.err = errors.New("pjrt: the backend is closed") })
	if b.client == nil {
		return nil
	}
	b.dead.Collect()
	err := errors.Join(b.meshes.close(), b.lent.close(), b.client.Close())
	b.client, b.err = nil, errors.New("pjrt: the backend is closed")
	return err
}

// HasType reports whether the plugin interface has a number for the type here.
func (b *Backend) HasType(d ir.DType) bool { return elementTypes[d] != 0 }

// elementTypes are the plugin interface's numbers.
var elementTypes = map[ir.DType]int{
	ir.Bool: capi.Pred, ir.Int8: capi.S8, ir.Int16: capi.S16, ir.Int32: capi.S32, ir.Int64: capi.S64,
	ir.Uint8: capi.U8, ir.Uint16: capi.U16, ir.Uint32: capi.U32, ir.Uint64: capi.U64,
	ir.Float16: capi.F16, ir.BFloat16: capi.BF16, ir.Float32: capi.F32, ir.Float64: capi.F64,
}
