package cpu

import (
	"fmt"
	goruntime "runtime"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Kind is the device kind of this backend.
const Kind = "cpu"

// Backend runs programs on the processor. "cpu:0", "cpu:1", ... are logical devices that share its cores.
type Backend struct{}

var _ kernels.Backend = Backend{}

func init() { kernels.Register(Backend{}) }

// Kind returns "cpu".
func (Backend) Kind() string { return Kind }

// Devices lists "cpu:0"; further logical devices need not be listed to be used.
func (Backend) Devices() []kernels.Device { return []kernels.Device{{Kind: Kind}} }

// Open accepts every "cpu:n". It reports a wrong value of the environment variable that picks the kernel family.
func (Backend) Open(d kernels.Device) error {
	if d.Kind != Kind || d.Index < 0 {
		return fmt.Errorf("cpu: device %v: expected \"cpu:0\", \"cpu:1\" and so on", d)
	}
	return isa.Err()
}

// NewBuffer allocates zeroed host memory.
func (b Backend) NewBuffer(d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	if err := b.Open(d); err != nil {
		return nil, err
	}
	if !t.DType.Valid() || slices.ContainsFunc(t.Shape, func(n int) bool { return n < 0 }) {
		return nil, fmt.Errorf("cpu: cannot make a buffer of %v", t)
	}
	if err := checkMemory("a buffer of "+t.String(), bytesOf(t)); err != nil {
		return nil, err
	}
	return newBuffer(d, t), nil
}

// Compile translates the program into a schedule and allocates its memory.
func (b Backend) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	e, err := b.compile(p, o, false)
	if err != nil {
		return nil, err // not e: a nil *executable is not a nil interface
	}
	return e, nil
}

// poolFor returns the workers of a replica. Replicas that are as many as the processors keep each to one, the goroutine that runs them: to help
// each other would only move their data from cache to cache.
func poolFor(replicas int) *pool.Pool {
	if replicas > 1 && replicas >= goruntime.GOMAXPROCS(0) {
		return nil
	}
	return pool.Shared()
}

func (b Backend) compile(p *ir.Program, o kernels.CompileOptions, plain bool) (*executable, error) {
	if err := b.Open(o.Device); err != nil {
		return nil, err
	}
	if err := p.Verify(); err != nil {
		return nil, err
	}
	o.Replicas = max(o.Replicas, 1)
	if o.Replica < 0 || o.Replica >= o.Replicas {
		return nil, fmt.Errorf("cpu: replica %d of %d does not exist", o.Replica, o.Replicas)
	}
	if err := checkReplicas(p, o); err != nil {
		return nil, err
	}
	if err := checkSizes(p); err != nil {
		return nil, err
	}
	workers := poolFor(o.Replicas)
	rt := &runtime{pool: workers, workers: make([]worker, workers.Size()), comm: o.Comm, profiling: profiles.on.Load()}
	if o.Replicas > 1 {
		rt.overlapper, _ = o.Comm.(kernels.Overlapper)
	}
	c := &compiler{rt: rt, device: o.Device, replica: o.Replica, replicas: o.Replicas, plain: plain}
	s, err := c.compile(p, true)
	if err != nil {
		return nil, err
	}
	if err := checkMemory("the program "+p.Name, float64(s.bytes)); err != nil {
		return nil, err
	}
	return newExecutable(p, s, rt, o), nil
}
