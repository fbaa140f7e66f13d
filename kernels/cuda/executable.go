//go:build linux

package cuda

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
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
	capability, err := b.capability(o)
	if err != nil {
		return nil, err
	}
	plan, err := lower.Program(p, lower.Options{Replicas: o.Replicas, Capability: capability, TF32: o.TF32})
	if err != nil {
		return nil, err
	}
	e := &executable{backend: b, program: p, plan: plan, loaded: map[*device]*loaded{}, users: 1}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.number = b.numberOf(plan.Checks)
	return e, nil
}

// capability is that of the device, or where replicas run a program on others too, the least of all.
func (b *backend) capability(o kernels.CompileOptions) (int, error) {
	least, err := driver.Capability(b.api, o.Device.Index)
	for i := 0; i < len(b.devices) && o.Replicas > 1 && err == nil; i++ {
		var c int
		c, err = driver.Capability(b.api, i)
		least = min(least, c)
	}
	return least, err
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
func (e *executable) Close() { e.release() }

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
	if len(e.plan.Constants) > 0 {
		if err := e.constants(d, l); err != nil {
			l.unload(d, int64(len(e.plan.Constants)))
			return nil, err
		}
	}
	e.loaded[d] = l
	e.users++
	return l, nil
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
