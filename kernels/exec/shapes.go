package exec

import (
	"container/list"
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
	idle     []*Instance
	evicted  bool
	next     *compiled     // of those with the same key
	key      uint64        // see keyOf
	place    *list.Element // among all, by the time of their last use
	call     WorkerCall    // names the program to other processes

	making      sync.Mutex
	executables []replicaProgram // by replica, made when the first instance is; replicas with equal programs share one
}

// replicaProgram is what one replica runs.
type replicaProgram struct {
	program    *ir.Program
	executable kernels.Executable
}

// lookup returns an idle instance for the given inputs, or nil and the memory in which to make one.
func (f *Function) lookup(types [][]ir.Type, all []int, filled bool) (*compiled, *Instance, *lot, error) {
	first := f.first()
	f.mu.Lock()
	defer f.mu.Unlock()
	key := keyOf(types, all, filled)
	c := f.shapes.find(key, types, all, first, filled)
	if c != nil {
		if inst := f.shapes.take(c); inst != nil {
			f.out++
			inst.CompileTime = 0
			return c, inst, nil, nil
		}
	} else {
		var err error
		if c, err = f.traceShape(types, all, first, filled); err != nil {
			return nil, nil, nil, err
		}
		f.shapes.add(key, c)
		f.shrink()
	}
	f.out++
	return c, nil, f.lots.take(len(types)), nil
}

// shrink closes the programs that were not used for the longest time, if there are too many. Processes that run a
// function together have to trace the same programs at the same time, so they keep equally many, whatever memory each
// of them has for them.
func (f *Function) shrink() {
	switch {
	case f.shapes.order.Len() <= leastShapes:
	case f.group() != nil:
		f.shapes.shrink(leastShapes)
	default:
		f.shapes.shrink(mostShapes)
	}
}

// traceShape traces the programs for the given inputs.
func (f *Function) traceShape(types [][]ir.Type, all []int, first int, filled bool) (*compiled, error) {
	var programs []*tracedProgram
	var err error
	if filled {
		programs, err = f.traceFilled(types[0], all[0])
	} else {
		programs, err = f.traceAll(f.typesOfAll(types, all), all)
	}
	if err != nil {
		return nil, err
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
			return nil, err
		}
	}
	return c, nil
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

// close frees the programs, once no instance is idle. Instances in use are closed when they are given back.
func (c *compiled) close() {
	c.evicted = true
	c.making.Lock()
	defer c.making.Unlock()
	for i, p := range c.executables {
		if !slices.ContainsFunc(c.executables[:i], func(q replicaProgram) bool { return q.executable == p.executable }) {
			p.executable.Close() // running sessions stay usable
		}
	}
	c.executables = nil
}
