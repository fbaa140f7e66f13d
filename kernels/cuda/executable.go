//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/ir"
)

// executable is a program in kernels, with the modules that devices have loaded.
type executable struct {
	backend *backend
	program *ir.Program
	plan    *lower.Plan
	number  int64 // in failure flags

	mu     sync.Mutex
	loaded map[*device]*loaded
	users  int // the executable itself, and its sessions
}

// loaded is the program on one device.
type loaded struct {
	functions map[string]driver.Handle
	kernels   []string // their texts, for the device
	constants driver.Address
}

// Compile lowers a program. The driver compiles its kernels when a session of it is made.
func (b *backend) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	if err := b.Open(o.Device); err != nil {
		return nil, err
	}
	if err := kernels.CheckTypes(Kind, p, lower.HasType); err != nil {
		return nil, err
	}
	options, err := b.options(o)
	if err != nil {
		return nil, err
	}
	plan, err := lower.Program(p, options)
	if err != nil {
		return nil, err
	}
	return b.executable(p, plan), nil
}

// executable is a program with its plan.
func (b *backend) executable(p *ir.Program, plan *lower.Plan) *executable {
	e := &executable{backend: b, program: p, plan: plan, loaded: map[*device]*loaded{}, users: 1}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.number = b.numberOf(plan.Checks)
	b.dead.Watch(e)
	return e
}

// options describe the device to the lowering. If replicas run the program on other devices too, they describe the
// least capable one. Kernels for a single architecture are used only if all devices have it and the driver knows it.
func (b *backend) options(o kernels.CompileOptions) (lower.Options, error) {
	least, err := driver.Capability(b.api, o.Device.Index)
	most := least
	for i := 0; i < len(b.devices) && o.Replicas > 1 && err == nil; i++ {
		var c int
		c, err = driver.Capability(b.api, i)
		least, most = min(least, c), max(most, c)
	}
	var version int
	if err == nil {
		var r driver.Result
		version, r = b.api.Version()
		err = driver.Check(b.api, r, "cuDriverGetVersion", "")
	}
	const knowsHopper = 12000
	options := lower.Options{Replicas: o.Replicas, Capability: least, TF32: o.TF32, Hopper: least == 90 && most == 90 && version >= knowsHopper}
	options.Stages, options.Several, options.Cut = b.stages, b.several, b.cut
	options.Bulk = options.Hopper && describesMatrices(b.api)
	options.Pick = b.picker(o.Device, options)
	options.Library = b.libraryPicker(o.Device, options)
	return options, err
}

// numbered is what a program's number stands for in failure flags.
type numbered struct {
	checks []lower.Check
	users  int
}

// numberOf returns the number of a list of checks. It follows from the list, so that all processes have the same one,
// and a flag can be read in any. The lock is held.
func (b *backend) numberOf(checks []lower.Check) int64 {
	h := fnv.New32a()
	fmt.Fprint(h, checks)
	for number := int64(h.Sum32() >> 1); ; number++ {
		n := b.numbers[number]
		if n == nil {
			n = &numbered{checks: checks}
			b.numbers[number] = n
		}
		if slices.EqualFunc(n.checks, checks, func(x, y lower.Check) bool { return reflect.DeepEqual(x, y) }) {
			n.users++
			return number
		}
	}
}

// arenaName says what the arena is for, and which layer needs the most of it.
func (e *executable) arenaName() string {
	name := fmt.Sprintf("the memory for intermediate values of program %q", e.program.Name)
	if e.plan.Peak != "" {
		name += ", of which layer " + e.plan.Peak + " needs the most,"
	}
	return name
}

// Stats describes the plan.
func (e *executable) Stats() kernels.Stats {
	return kernels.Stats{Nodes: e.plan.Nodes, Steps: e.plan.Launches, ArenaBytes: e.plan.ArenaBytes}
}

// Close forgets the program when the last session is closed.
func (e *executable) Close() {
	unreachable.Forget(e)
	e.release()
}

// Discard is Close for an executable that nobody can reach: its sessions are gone.
func (e *executable) Discard() { e.release() }

func (e *executable) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users--; e.users != 0 {
		return
	}
	for d, l := range e.loaded {
		l.unload(d, int64(len(e.plan.Constants)))
	}
	e.loaded = nil
	e.backend.mu.Lock()
	defer e.backend.mu.Unlock()
	if n := e.backend.numbers[e.number]; n != nil {
		if n.users--; n.users == 0 {
			delete(e.backend.numbers, e.number)
		}
	}
}

func (l *loaded) unload(d *device, constants int64) {
	if l.constants != 0 {
		d.free(l.constants, constants)
	}
	d.unload(l.kernels)
}

// on loads the program onto a device, once.
func (e *executable) on(d *device) (*loaded, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := e.loaded[d]; l != nil {
		e.users++
		return l, nil
	}
	l := &loaded{}
	var err error
	if l.functions, l.kernels, err = d.load(e.program.Name, e.plan.Text); err != nil {
		return nil, err
	}
	err = d.enqueue(func() error { return e.allowShared(d, l, e.plan.Steps) })
	if err == nil && len(e.plan.Constants) > 0 {
		err = e.constants(d, l)
	}
	if err != nil {
		l.unload(d, int64(len(e.plan.Constants)))
		return nil, err
	}
	e.loaded[d] = l
	e.users++
	return l, nil
}

// allowShared lets kernels use more shared memory than the driver allows by default.
func (e *executable) allowShared(d *device, l *loaded, steps []lower.Step) error {
	for i := range steps {
		s := &steps[i]
		if s.Kind == lower.Launch && s.Shared > driver.DefaultShared {
			if r := d.API.AllowShared(l.functions[s.Kernel], s.Shared); r != driver.Success {
				return d.orLost(driver.Check(d.API, r, "cuFuncSetAttribute", "%s of program %q with %d bytes of shared memory", s.Kernel, e.program.Name, s.Shared))
			}
		}
		if err := errors.Join(e.allowShared(d, l, s.Before), e.allowShared(d, l, s.Head), e.allowShared(d, l, s.Body)); err != nil {
			return err
		}
	}
	return nil
}

// constants copies the program's constants to the device.
func (e *executable) constants(d *device, l *loaded) error {
	n := len(e.plan.Constants)
	var err error
	if l.constants, err = d.alloc(int64(n), fmt.Sprintf("the memory for constants of program %q", e.program.Name)); err != nil {
		return err
	}
	t := ir.Type{DType: ir.Uint8, Shape: ir.Shape{n}}
	return (&buffer{device: d, typ: t, address: l.constants}).Write(e.plan.Constants)
}
