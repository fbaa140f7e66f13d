package exec

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// compiled is the program for one combination of input types, with the instances that are not running.
type compiled struct {
	types    [][]ir.Type // of the inputs, by replica
	all      []int       // numbers of examples of all replicas
	first    int         // of the replicas of this process
	filled   bool
	programs []*tracedProgram // by replica; replicas with equal shapes share one
	idle     []*Instance      // the last one was given back last
	used     int              // instances in use
	peak     int              // largest value of used since the idle ones were last checked
	returns  int              // since then
	evicted  bool
	call     WorkerCall // names the program to other processes

	making      sync.Mutex
	executables []replicaProgram // by replica, made when the first instance is; replicas with equal programs share one
}

// replicaProgram is what one replica runs.
type replicaProgram struct {
	program    *ir.Program
	executable kernels.Executable
}

func (f *Function) lookup(types [][]ir.Type, all []int, filled bool) (*compiled, *Instance, error) {
	first := f.first()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range f.shapes {
		if !c.takes(types, all, first, filled) {
			continue
		}
		copy(f.shapes[i:], f.shapes[i+1:])
		f.shapes[len(f.shapes)-1] = c
		f.out++
		c.use(1)
		if n := len(c.idle); n > 0 {
			inst := c.idle[n-1]
			c.idle = c.idle[:n-1]
			inst.CompileTime = 0
			return c, inst, nil
		}
		return c, nil, nil
	}
	var programs []*tracedProgram
	var err error
	if filled {
		programs, err = f.traceFilled(types[0], all[0])
	} else {
		programs, err = f.traceAll(f.typesOfAll(types, all), all)
	}
	if err != nil {
		return nil, nil, err
	}
	c := &compiled{all: slices.Clone(all), first: first, filled: filled, programs: programs[first : first+len(types)]}
	for _, list := range types {
		own := make([]ir.Type, len(list))
		for i, t := range list {
			own[i] = ir.Type{DType: t.DType, Shape: t.Shape.Clone()}
		}
		c.types = append(c.types, own)
	}
	if f.group() != nil {
		if c.call, err = agree(f.strategy.Placement(), f.name, programs); err != nil {
			return nil, nil, err
		}
	}
	f.shapes = append(f.shapes, c)
	if len(f.shapes) > cacheLimit {
		f.shapes[0].close()
		f.shapes = f.shapes[1:]
	}
	f.out++
	c.use(1)
	return c, nil, nil
}

// takes reports whether the programs are those that the requested instance needs.
func (c *compiled) takes(types [][]ir.Type, all []int, first int, filled bool) bool {
	if c.first != first || c.filled != filled || len(c.types) != len(types) || !slices.Equal(c.all, all) {
		return false
	}
	for i, list := range types {
		if !slices.EqualFunc(c.types[i], list, ir.Type.Equal) {
			return false
		}
	}
	return true
}

// use counts the instances in use.
func (c *compiled) use(n int) {
	c.used += n
	c.peak = max(c.peak, c.used)
}

// lookThrough is the number of returns after which the idle instances are checked.
const lookThrough = 64

// trim closes idle instances that the last runs did not need, so that their memory is freed after a burst of
// goroutines.
func (c *compiled) trim() {
	if c.returns++; c.returns < lookThrough {
		return
	}
	for len(c.idle) > 0 && len(c.idle)+c.used > c.peak {
		c.closeOldest()
	}
	c.returns, c.peak = 0, c.used
}

// burst is the largest recent number of instances in use at the same time.
type burst struct {
	now, before int // during the current lookThrough returns, and during those before
	returns     int
}

func (b *burst) returned(out int) {
	b.now = max(b.now, out)
	if b.returns++; b.returns == lookThrough {
		*b = burst{before: b.now}
	}
}

// trim closes idle instances of all shapes together. It keeps as many as recently ran at the same time, and one more
// for each shape. Each shape by itself may have had that many, at different times. Among shapes with several idle
// instances, the one that was unused the longest gives up one.
func (f *Function) trim() {
	idle := 0
	for _, c := range f.shapes {
		idle += len(c.idle)
	}
	spare := idle + f.out - max(f.burst.now, f.burst.before, len(f.shapes))
	for _, c := range f.shapes {
		for ; spare > 0 && len(c.idle) > 0; spare-- {
			c.closeOldest()
		}
	}
}

func (c *compiled) closeOldest() {
	c.idle[0].close()
	c.idle = append(c.idle[:0], c.idle[1:]...)
}

// executablesOf compiles the programs once for all instances. Other callers wait meanwhile.
func (f *Function) executablesOf(c *compiled) ([]replicaProgram, error) {
	c.making.Lock()
	defer c.making.Unlock()
	if c.executables != nil {
		return c.executables, nil
	}
	devices := f.strategy.Devices()
	o := kernels.CompileOptions{Replicas: f.replicas(), TF32: kernels.AllowsTF32()}
	if c.meets() && o.Replicas > 1 {
		pool, connect := f.connection()
		set, err := pool.take(connect)
		if err != nil {
			return nil, err
		}
		_, o.Overlap = set.ends[0].(kernels.Overlapper)
		pool.give(set)
	}
	made := map[programOf]replicaProgram{}
	list := make([]replicaProgram, len(devices))
	for i, d := range devices {
		key := programOf{c.programs[i], i > 0 && f.strategy.Placement().Central}
		p, known := made[key]
		if !known {
			backend, err := kernels.Lookup(d.Kind)
			if err != nil {
				return nil, err
			}
			if p.program = c.programs[i].program; key.reads {
				p.program = withoutCentralWrites(c.programs[i], f.strategy.Placement())
			}
			o.Device, o.Variables = d, c.programs[i].inputs
			if p.executable, err = backend.Compile(p.program, o); err != nil {
				for _, p := range made {
					p.executable.Close()
				}
				return nil, config.Prefixed("distribute: ", fmt.Errorf("compiling %s for %v: %w", f.name, d, err))
			}
			made[key] = p
		}
		list[i] = p
	}
	c.executables = list
	return list, nil
}

// programOf is a trace, and whether it is compiled for replicas that leave the updates of central storage to the first
// one.
type programOf struct {
	traced *tracedProgram
	reads  bool
}

// meets reports whether the replicas exchange values.
func (c *compiled) meets() bool {
	return slices.ContainsFunc(c.programs, func(p *tracedProgram) bool { return len(p.calls) > 0 })
}

func (c *compiled) close() {
	c.evicted = true
	for _, inst := range c.idle {
		inst.close()
	}
	c.idle = nil
	c.making.Lock()
	defer c.making.Unlock()
	for i, p := range c.executables {
		if !slices.ContainsFunc(c.executables[:i], func(q replicaProgram) bool { return q.executable == p.executable }) {
			p.executable.Close() // running sessions stay usable
		}
	}
	c.executables = nil
}
