package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// ClusterCoordinator schedules calls of functions on the workers.
type ClusterCoordinator struct {
	strategy *distribute.ParameterServerStrategy
	job      parameters.Job

	mu       sync.Mutex
	names    map[string]bool
	datasets map[string]*PerWorkerDataset
}

// New returns the coordinator of a strategy, always the same one. On workers it registers functions.
func New(s distribute.Strategy) (*ClusterCoordinator, error) {
	p, ok := s.(*distribute.ParameterServerStrategy)
	if !ok {
		return nil, fmt.Errorf("coordinator: a ClusterCoordinator needs a ParameterServerStrategy, received %T; make one with parameterserver.NewStrategy", s)
	}
	return p.Companion(func() any {
		return &ClusterCoordinator{strategy: p, job: p.Job(), names: map[string]bool{}, datasets: map[string]*PerWorkerDataset{}}
	}).(*ClusterCoordinator), nil
}

// Strategy is the strategy that the coordinator belongs to.
func (c *ClusterCoordinator) Strategy() *distribute.ParameterServerStrategy { return c.strategy }

// Coordinates reports whether this process is the coordinator; others are workers, and call Serve.
func (c *ClusterCoordinator) Coordinates() bool { return c.job.Coordinates() }

// Serve runs what the coordinator schedules on this worker, until ctx ends or the job is over; in the latter case it
// returns nil.
func (c *ClusterCoordinator) Serve(ctx context.Context) error { return c.job.Over(ctx) }

// FunctionBody is the function that workers run. Its result must be a value that gob can encode; see Schedule. A panic
// becomes an error.
type FunctionBody func(cl *Closure) (any, error)

// Function is a function that can be scheduled.
type Function struct {
	name string
	c    *ClusterCoordinator
}

// Function registers a function under a unique name. All processes must register the same functions.
func (c *ClusterCoordinator) Function(name string, body FunctionBody) *Function {
	c.mu.Lock()
	c.names[name] = true
	c.mu.Unlock()
	if body != nil {
		c.job.Register("function/"+name, func(ctx context.Context, remote *parameters.Closure) (parameters.Outcome, error) {
			return c.run(ctx, body, remote)
		})
	}
	return &Function{name: name, c: c}
}

// Schedule schedules a call of a function on some worker and returns at once. Arguments are copied. They can be
// numbers, strings, slices, maps and structs that encoding/gob can encode, and per-worker datasets, each of which
// stands for the worker's own dataset.
//
// When a function has failed, the next call of Schedule, Join or Done returns its error, once. Waiting closures are
// then cancelled: their Fetch returns parameters.ErrCancelled, and they must be scheduled again if they are still
// wanted.
func (c *ClusterCoordinator) Schedule(ctx context.Context, f *Function, arguments ...any) (*RemoteValue, error) {
	return c.ScheduleOn(ctx, -1, f, arguments...)
}

// ScheduleOn is Schedule for the worker with the given number; -1 means any. If that worker is lost, the closure waits
// for it.
func (c *ClusterCoordinator) ScheduleOn(ctx context.Context, worker int, f *Function, arguments ...any) (*RemoteValue, error) {
	if f == nil || f.c != c {
		return nil, errors.New("coordinator: Schedule takes what ClusterCoordinator.Function of the same coordinator has returned; register the function on all processes first")
	}
	values := make([]any, len(arguments))
	for i, a := range arguments {
		switch a := a.(type) {
		case *RemoteValue:
			return nil, fmt.Errorf("coordinator: Schedule of %q: argument %d is a RemoteValue; Fetch it and pass the value", f.name, i)
		case *PerWorkerDataset:
			values[i] = datasetArgument{a.name}
		case *Variable:
			return nil, fmt.Errorf("coordinator: Schedule of %q: argument %d is a variable; functions use the one of their own process", f.name, i)
		default:
			values[i] = a
		}
	}
	b, err := encode(fmt.Sprintf("an argument of %q", f.name), values...)
	if err != nil {
		return nil, err
	}
	p, err := c.job.Schedule(ctx, "function/"+f.name, b, worker)
	if err != nil {
		return nil, err
	}
	return &RemoteValue{p}, nil
}

// Join waits until all closures have ended.
func (c *ClusterCoordinator) Join(ctx context.Context) error { return c.job.Join(ctx) }

// Done reports whether all closures have ended.
func (c *ClusterCoordinator) Done() (bool, error) { return c.job.Done() }

// RemoteValue is the result of a closure.
type RemoteValue struct{ pending parameters.Pending }

// Fetch waits for the closure and returns its result, or its error. The result arrives as soon as the closure has
// ended, so a later loss of the worker does not matter.
func (v *RemoteValue) Fetch(ctx context.Context) (any, error) {
	b, err := v.pending.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	values, err := decode(b)
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// Get is Fetch.
func (v *RemoteValue) Get(ctx context.Context) (any, error) { return v.Fetch(ctx) }

// Fetch replaces the remote values in a structure of []any, map[string]any and []*RemoteValue by their results;
// it leaves anything else unchanged.
func (c *ClusterCoordinator) Fetch(ctx context.Context, structure any) (any, error) {
	switch s := structure.(type) {
	case *RemoteValue:
		return s.Fetch(ctx)
	case []*RemoteValue:
		out := make([]any, len(s))
		for i, v := range s {
			var err error
			if out[i], err = v.Fetch(ctx); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(s))
		for i, v := range s {
			var err error
			if out[i], err = c.Fetch(ctx, v); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(s))
		for k, v := range s {
			var err error
			if out[k], err = c.Fetch(ctx, v); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return structure, nil
}

// run is a call of a function on a worker.
func (c *ClusterCoordinator) run(ctx context.Context, body FunctionBody, remote *parameters.Closure) (parameters.Outcome, error) {
	arguments, err := decode(remote.Argument)
	if err != nil {
		return parameters.Outcome{}, err
	}
	cl := &Closure{c: c, ctx: ctx, remote: remote}
	for _, a := range arguments {
		if d, ok := a.(datasetArgument); ok {
			it, err := c.iterator(ctx, d.Name)
			if err != nil {
				return parameters.Outcome{}, err
			}
			a = it
		}
		cl.Arguments = append(cl.Arguments, a)
	}
	sent := false
	defer func() {
		if !sent {
			cl.scratch.release()
		}
	}()
	result, err := body(cl)
	if err != nil {
		return parameters.Outcome{}, err
	}
	b, err := encode("the result", result)
	if err != nil {
		return parameters.Outcome{}, err
	}
	sent = true
	return parameters.Outcome{Value: b, Changes: cl.changes, Release: cl.scratch.release}, nil
}
