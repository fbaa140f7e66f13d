package exec

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TraceFunc describes one replica's computation: it builds the graph from the replica's inputs and returns the results.
// Variables that it assigns keep their new values after the run.
type TraceFunc func(r *Replica, in []*ops.Tensor) []*ops.Tensor

// cacheLimit bounds the compiled shapes kept by one function. A training run needs two (full and last batch) for each of train
// and test; serving with many batch sizes recompiles the least recently used.
const cacheLimit = 16

// Function is traced code. It is compiled once for each combination of input types and then replayed on every replica of its
// strategy. It may be used by many goroutines; each run has an instance to itself.
type Function struct {
	strategy Strategy
	name     string
	trace    TraceFunc
	step     func(c counts) TraceFunc // makes trace of a StepFunction once the kinds of inputs are known
	inputs   counts                   // that it was made for
	alone    bool                     // replicas of other processes take no part

	// Seed sets the random numbers of Strategy.Run.
	Seed  uint64
	steps atomic.Uint32

	mu     sync.Mutex
	shapes []*compiled // most recently used last
	lane   lane        // of the programs that write variables, which run one at a time
	out    int         // instances that are not idle
}

// compiled is the program for one combination of input types, with the instances that are not running.
type compiled struct {
	key      string
	programs []*tracedProgram // by replica; replicas with equal shapes share one
	idle     []*Instance
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

// NewFunction prepares f for a strategy. Nothing is traced before the first run.
func NewFunction(s Strategy, name string, f TraceFunc) *Function {
	return &Function{strategy: inside(s), name: name, trace: f}
}

// NewProcessFunction is NewFunction for code in which only the replicas of this process take part, also where the strategy spans several:
// its sums are those of this process, and other processes need not run it.
func NewProcessFunction(s Strategy, name string, f TraceFunc) *Function {
	return &Function{strategy: inside(s), name: name, trace: f, alone: true}
}

// Split cuts examples into one part for each replica that takes part in the function, and returns the number of the first replica of this
// process.
func (f *Function) Split(examples int) (parts []int, first int) {
	if f.alone {
		return splitEvenly(examples, len(f.strategy.Devices())), 0
	}
	at := f.strategy.Placement()
	return at.Split(examples), at.First
}

// replicas is the number of replicas that take part.
func (f *Function) replicas() int {
	if f.alone {
		return len(f.strategy.Devices())
	}
	return f.strategy.NumReplicasInSync()
}

// first is the number of the first replica of this process among those that take part.
func (f *Function) first() int {
	if f.alone {
		return 0
	}
	return f.strategy.Placement().First
}

// group connects the processes that take part; nil where that is this one alone.
func (f *Function) group() WorkerGroup {
	if f.alone {
		return nil
	}
	return f.strategy.Placement().Group
}

// Wait returns when all launches of instances that write variables are over. The error is a [*LateError] where one failed that nobody has heard of.
func (f *Function) Wait() error { return f.lane.wait(context.Background()) }

// Strategy returns the strategy that the function runs under.
func (f *Function) Strategy() Strategy { return f.strategy }

// Instance is a session of a compiled function on every replica, with memory for inputs and results. Fill the inputs, run, read the
// results; give it back with Release.
type Instance struct {
	owner *compiled
	// CompileTime is how long tracing and compiling took; 0 for an instance that was ready.
	CompileTime time.Duration

	replicas []replicaInstance
	run      []func() // of the replicas but the first
	wait     sync.WaitGroup
	remote   bool // replicas of other processes take part
	first    int  // global number of the first replica
	// sameDraws makes all replicas draw the same random numbers.
	sameDraws bool
	ctx       context.Context // of the current run
	errs      []error
	halves    bool // new values of variables are computed beside the old ones; see Compute
	writes    bool // of variables

	lane    *lane
	pool    *communicatorPool
	connect func() ([]kernels.Communicator, error)
	meets   bool             // the program has collectives
	set     *communicatorSet // of the current run
}

type replicaInstance struct {
	local   int // number in this process
	id      int // number among all replicas
	fetched []fetched
	session kernels.Session
	stats   kernels.Stats
	inputs  []kernels.Buffer
	outputs []kernels.Buffer
	data    []kernels.Buffer
	results []kernels.Buffer
	random  randomState
	updates []update
}

// Acquire returns an instance for the given types of each replica's inputs, compiling where needed. local is the number of
// examples of each replica of this process. Under a strategy over several processes these tell each other their numbers, where the function
// has inputs; [Function.AcquireSplit] does without.
func (f *Function) Acquire(types [][]ir.Type, local []int) (*Instance, error) {
	all := local
	if g := f.group(); g != nil {
		if len(types) == 0 || len(types[0]) == 0 {
			all = make([]int, f.replicas())
		} else {
			var err error
			if all, err = gatherSizes(g, f.name, local); err != nil {
				return nil, err
			}
		}
	}
	return f.AcquireSplit(types, all)
}

// AcquireSplit is Acquire for a caller that knows the number of examples of every replica in all processes, as [Function.Split] gives them.
func (f *Function) AcquireSplit(types [][]ir.Type, all []int) (*Instance, error) {
	if n := f.replicas(); len(all) != n || len(types) != len(f.strategy.Devices()) {
		return nil, fmt.Errorf("distribute: %s: received the types of %d replicas and the sizes of %d; expected %d of this process and %d of all", f.name, len(types), len(all), len(f.strategy.Devices()), n)
	}
	start := time.Now()
	c, inst, err := f.lookup(types, all)
	if err != nil || inst != nil {
		return inst, err
	}
	inst, err = f.instantiate(c, len(types))
	if err != nil {
		f.mu.Lock()
		f.out--
		f.mu.Unlock()
		return nil, err
	}
	inst.CompileTime = time.Since(start)
	return inst, nil
}

func (f *Function) lookup(types [][]ir.Type, all []int) (*compiled, *Instance, error) {
	key := fmt.Sprint(types, all, f.first())
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range f.shapes {
		if c.key != key {
			continue
		}
		f.shapes = append(append(f.shapes[:i:i], f.shapes[i+1:]...), c)
		f.out++
		if n := len(c.idle); n > 0 {
			inst := c.idle[n-1]
			c.idle = c.idle[:n-1]
			inst.CompileTime = 0
			return c, inst, nil
		}
		return c, nil, nil
	}
	programs, err := f.traceAll(f.typesOfAll(types, all), all)
	if err != nil {
		return nil, nil, err
	}
	c := &compiled{key: key, programs: programs[f.first() : f.first()+len(types)]}
	if g := f.group(); g != nil {
		if c.call, err = agree(g, f.strategy.Placement().Elastic, f.name, programs); err != nil {
			return nil, nil, err
		}
	}
	f.shapes = append(f.shapes, c)
	if len(f.shapes) > cacheLimit {
		f.shapes[0].close()
		f.shapes = f.shapes[1:]
	}
	f.out++
	return c, nil, nil
}

// connection is how the replicas of this process meet: the communicators of the strategy, or those of this process alone.
func (f *Function) connection() (*communicatorPool, func() ([]kernels.Communicator, error)) {
	at := f.strategy.Placement()
	if f.alone {
		return &at.own, at.ConnectOwn
	}
	return &at.all, at.Connect
}

// executablesOf compiles the programs once for all instances. Who comes meanwhile waits.
func (f *Function) executablesOf(c *compiled) ([]replicaProgram, error) {
	c.making.Lock()
	defer c.making.Unlock()
	if c.executables != nil {
		return c.executables, nil
	}
	devices := f.strategy.Devices()
	o := kernels.CompileOptions{Replicas: f.replicas()}
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
			o.Device = d
			if p.executable, err = backend.Compile(p.program, o); err != nil {
				for _, p := range made {
					p.executable.Close()
				}
				return nil, fmt.Errorf("distribute: compiling %s for %v: %w", f.name, d, err)
			}
			made[key] = p
		}
		list[i] = p
	}
	c.executables = list
	return list, nil
}

// programOf is a trace, and whether it is compiled for replicas that leave the updates of central storage to the first one.
type programOf struct {
	traced *tracedProgram
	reads  bool
}

// meets reports whether the replicas exchange values.
func (c *compiled) meets() bool {
	return slices.ContainsFunc(c.programs, func(p *tracedProgram) bool { return len(p.calls) > 0 })
}

func (f *Function) instantiate(c *compiled, inputs int) (*Instance, error) {
	devices := f.strategy.Devices()
	programs, err := f.executablesOf(c)
	if err != nil {
		return nil, err
	}
	inst := &Instance{
		owner: c, replicas: make([]replicaInstance, len(devices)), errs: make([]error, len(devices)),
		first: f.first(), remote: f.replicas() > len(devices), meets: c.meets() && f.replicas() > 1, lane: &lane{},
		writes: slices.ContainsFunc(c.programs, func(p *tracedProgram) bool { return p.writes }),
	}
	inst.pool, inst.connect = f.connection()
	f.mu.Lock()
	if inst.writes {
		inst.lane = &f.lane
	}
	err = inst.lane.open(devices)
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	inst.sameDraws = f.strategy.Placement().SameDraws
	for i, d := range devices {
		r := &inst.replicas[i]
		r.local, r.id = i, inst.first+i
		if err := r.build(c.programs[i], programs[i], d, f.strategy); err != nil {
			inst.close()
			return nil, fmt.Errorf("distribute: compiling %s for %v: %w", f.name, d, err)
		}
		if i > 0 && inst.lane.inline() {
			inst.run = append(inst.run, func() {
				defer inst.wait.Done()
				inst.errs[i] = inst.runReplica(i)
			})
		}
	}
	return inst, nil
}

func (r *replicaInstance) build(p *tracedProgram, compiled replicaProgram, d kernels.Device, s Strategy) error {
	backend, err := kernels.Lookup(d.Kind)
	if err != nil {
		return err
	}
	program := compiled.program
	r.session, err = compiled.executable.NewSession(kernels.SessionOptions{Device: d, Replica: r.id})
	if err != nil {
		return err
	}
	r.stats = compiled.executable.Stats()
	r.inputs = make([]kernels.Buffer, len(p.program.Inputs))
	for i, v := range p.variables {
		if err := v.Place(s, 0); err != nil {
			return err
		}
		if r.inputs[p.inputs[i]], err = r.variable(v, p, program, p.inputs[i], d, backend); err != nil {
			return err
		}
	}
	for i, in := range p.program.Inputs {
		if r.inputs[i] != nil {
			continue
		}
		if r.inputs[i], err = backend.NewBuffer(d, p.program.Type(in.Value)); err != nil {
			return err
		}
		if i == p.random {
			r.random.buffer = r.inputs[i]
		} else {
			r.data = append(r.data, r.inputs[i])
		}
	}
	r.outputs = make([]kernels.Buffer, len(program.Outputs)) // nil where a variable is replaced
	for i, out := range p.program.Outputs[:p.results] {
		if r.outputs[i], err = backend.NewBuffer(d, p.program.Type(out.Value)); err != nil {
			return err
		}
	}
	r.results = r.outputs[:p.results]
	return nil
}

// Input returns the memory of input i on a replica, to be filled before Run.
func (inst *Instance) Input(replica, i int) kernels.Buffer { return inst.replicas[replica].data[i] }

// Output returns the memory of result i on a replica, valid until the next Run.
func (inst *Instance) Output(replica, i int) kernels.Buffer { return inst.replicas[replica].results[i] }

// Stats describes the program of the first replica.
func (inst *Instance) Stats() kernels.Stats { return inst.replicas[0].stats }

// WritesVariables reports whether a run changes variables: then no other run that uses them may go on at the same time.
func (inst *Instance) WritesVariables() bool { return inst.writes }

// Release gives an instance back for the next Acquire.
func (f *Function) Release(inst *Instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out--
	if inst.owner.evicted {
		inst.close()
		return
	}
	inst.owner.idle = append(inst.owner.idle, inst)
}

// Close frees the memory of all instances that are not running. The function can still be used; it compiles again.
func (f *Function) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.shapes {
		c.close()
	}
	f.shapes = nil
	if f.out == 0 {
		f.lane.close()
	}
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
			p.executable.Close() // sessions that run stay usable
		}
	}
	c.executables = nil
}

func (inst *Instance) close() {
	for i := range inst.replicas {
		r := &inst.replicas[i]
		if r.session != nil {
			r.session.Close()
		}
		for _, b := range append(append([]kernels.Buffer{r.random.buffer}, r.data...), r.results...) {
			if b != nil {
				b.Free()
			}
		}
		for _, f := range r.fetched {
			f.own.Free()
		}
		for _, u := range r.updates {
			u.next.Free()
		}
	}
	if !inst.writes {
		inst.lane.close()
	}
}

// Programs returns the printed programs compiled so far, for debugging.
func (f *Function) Programs() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	for _, c := range f.shapes {
		b.WriteString(c.programs[0].program.String())
	}
	return b.String()
}
