package cpu

import (
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/internal/processors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/ir"
)

// executable is a program and what its sessions share: the results of the passes on the program and on the bodies of
// its loops and branches. Each session builds its own schedule from them, because steps know their memory addresses.
type executable struct {
	program *ir.Program
	options kernels.CompileOptions
	plain   bool // see fuse.Options
	passes  *passes
	derived []derivation // inputs that the passes added to the program
	stats   kernels.Stats

	mu    sync.Mutex
	first *session // made while compiling, to see whether the program can run; goes to the first caller of NewSession
}

// passes caches the result of the passes for each program.
type passes struct {
	mu   sync.Mutex
	done map[*ir.Program]*ir.Program
}

// of returns make's result for p and calls make only once. Without a cache (s is nil, the program lives no longer than
// its session) it always calls make.
func (s *passes) of(p *ir.Program, make func() (*ir.Program, error)) (*ir.Program, error) {
	if s == nil {
		return make()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.done[p]; q != nil {
		return q, nil
	}
	q, err := make()
	if err == nil {
		s.done[p] = q
	}
	return q, err
}

// Compile runs the passes and plans a first session.
func (b Backend) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	e, err := b.compile(p, o, false)
	if err != nil {
		return nil, err // not e: a nil *executable is not a nil interface
	}
	return e, nil
}

func (b Backend) compile(p *ir.Program, o kernels.CompileOptions, plain bool) (*executable, error) {
	if err := b.Open(o.Device); err != nil {
		return nil, err
	}
	if err := p.Verify(); err != nil {
		return nil, err
	}
	if o.Replicas < 0 {
		return nil, fmt.Errorf("cpu: the program %s is to be compiled for %d replicas; expected at least 1", p.Name, o.Replicas)
	}
	o.Replicas = max(o.Replicas, 1)
	if err := checkReplicas(p, o); err != nil {
		return nil, err
	}
	if err := plan.CheckSizes(p); err != nil {
		return nil, err
	}
	e := &executable{program: p, options: o, plain: plain, passes: &passes{done: map[*ir.Program]*ir.Program{}}}
	if !plain {
		var err error
		if e.program, e.derived, err = derive(p, o); err != nil {
			return nil, err
		}
	}
	first, err := e.session(kernels.SessionOptions{Device: o.Device})
	if err != nil {
		return nil, err
	}
	e.first = first
	e.stats = kernels.Stats{Nodes: len(p.Nodes), Steps: len(first.schedule.steps), ArenaBytes: int64(first.schedule.bytes)}
	return e, nil
}

// Stats describes the compiled program.
func (e *executable) Stats() kernels.Stats { return e.stats }

// Close frees the first session if nobody has taken it.
func (e *executable) Close() {
	if s := e.take(); s != nil {
		s.Close()
	}
}

// take returns the session that was made with the executable, or nil if somebody has already taken it.
func (e *executable) take() *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.first
	e.first = nil
	return s
}

// NewSession plans memory for one replica and builds the schedule that works in it.
func (e *executable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	if err := (Backend{}).Open(o.Device); err != nil {
		return nil, err
	}
	if o.Replica < 0 || o.Replica >= e.options.Replicas {
		return nil, fmt.Errorf("cpu: replica %d of %d does not exist", o.Replica, e.options.Replicas)
	}
	if o.Replica == 0 && o.Device == e.options.Device {
		if s := e.take(); s != nil {
			s.settle(o.Scratch)
			return s, nil
		}
	}
	s, err := e.session(o)
	if err != nil {
		return nil, err // not s: a nil *session is not a nil interface
	}
	s.settle(o.Scratch)
	return s, nil
}

// session plans a session that has no memory yet.
func (e *executable) session(o kernels.SessionOptions) (*session, error) {
	workers := poolFor(e.options.Replicas)
	rt := &runtime{pool: workers, workers: make([]worker, workers.Size())}
	c := &compiler{
		rt: rt, passes: e.passes, device: o.Device, replica: o.Replica, replicas: e.options.Replicas,
		overlap: e.options.Overlap && e.options.Replicas > 1, plain: e.plain,
	}
	s, err := c.compile(e.program, true)
	if err != nil {
		return nil, err
	}
	if err := rt.check(e.program.Name+s.largest, s.bytes); err != nil {
		return nil, err
	}
	made := planned(e.program, s, rt, e.options, o.Replica)
	made.derived = newDerivationRuns(e.derived)
	return made, nil
}

// poolFor returns the workers of a replica. If there are at least as many replicas as processors, each uses only the
// goroutine that runs it: helping each other would only move their data from cache to cache.
func poolFor(replicas int) *pool.Pool {
	if replicas > 1 && replicas >= processors.Count() {
		return nil
	}
	return pool.Shared()
}
