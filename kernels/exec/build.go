package exec

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels"
)

// Instance is a session of a compiled function on every replica, with memory for inputs and results. Fill the inputs,
// run, read the results; then give it back with Release.
type Instance struct {
	owner   *compiled
	lot     *lot
	bytes   int // of memory that it holds, without that of the lot
	counted int // of bytes, by the function
	// CompileTime is how long tracing and compiling took; 0 for an instance that was ready.
	CompileTime time.Duration

	replicas []replicaInstance
	run      []func() // of all replicas but the first
	wait     sync.WaitGroup
	sessions []kernels.Session // of the current run, if the replicas take turns
	launches []kernels.Launch
	remote   bool // replicas of other processes take part
	first    int  // global number of the first replica
	// sameDraws makes all replicas draw the same random numbers.
	sameDraws bool
	ctx       context.Context // of the current run
	detached  detached        // that context, if the run continues when it ends
	errs      []error
	halves    bool // new values of variables are computed beside the old ones; see Compute
	writes    bool // of variables
	sharded   []*Variable

	lane    *lane
	at      *Placement
	pool    *communicatorPool
	connect func() ([]kernels.Communicator, error)
	meets   bool             // the program has collectives, or all replicas run it together
	set     *communicatorSet // of the current run

	total    int   // replicas of all processes
	loop     *loop // of steps that are launched together; nil: none yet
	unlooped bool  // the backend cannot compile it
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

func (f *Function) instantiate(c *compiled, memory *lot) (*Instance, error) {
	devices := f.strategy.Devices()
	programs, err := f.executablesOf(c)
	if err != nil {
		return nil, err
	}
	inst := &Instance{
		owner: c, lot: memory, replicas: make([]replicaInstance, len(devices)), errs: make([]error, len(devices)),
		first: f.first(), total: f.replicas(), remote: f.replicas() > len(devices), meets: (c.meets() || f.strategy.Placement().Lockstep) && f.replicas() > 1, lane: &lane{},
		writes: slices.ContainsFunc(c.programs, func(p *tracedProgram) bool { return p.writes }),
	}
	for _, v := range c.programs[0].variables {
		if f.strategy.Placement().shards(v) {
			inst.sharded = append(inst.sharded, v)
		}
	}
	inst.at = f.strategy.Placement()
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
	if err := f.checkMemory(c); err != nil {
		return nil, err
	}
	for i, d := range devices {
		r := &inst.replicas[i]
		r.local, r.id = i, inst.first+i
		var scratch *kernels.Scratch
		if inst.lane.inline() { // or else runs may not have ended when the next session is made
			scratch = &memory.scratch[i]
		}
		if err := r.build(c.programs[i], programs[i], d, f.strategy, scratch); err != nil {
			inst.close()
			return nil, config.Prefixed("distribute: ", fmt.Errorf("compiling %s for %v: %w", f.name, d, err))
		}
		inst.bytes += r.bytes() + nodeBytes*r.stats.Nodes
		if memory.scratch[i].Memory == nil {
			inst.bytes += int(r.stats.ArenaBytes)
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

func (r *replicaInstance) build(p *tracedProgram, compiled replicaProgram, d kernels.Device, s Strategy, scratch *kernels.Scratch) error {
	backend, err := kernels.Lookup(d.Kind)
	if err != nil {
		return err
	}
	program := compiled.program
	r.session, err = compiled.executable.NewSession(kernels.SessionOptions{Device: d, Replica: r.id, Scratch: scratch})
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
		if r.inputs[i], err = newInput(backend, d, p.program.Type(in.Value)); err != nil {
			return fmt.Errorf("input %s: %w", in.Name, err)
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
			return fmt.Errorf("result %d%s: %w", i, madeBy(p.program, out.Value), err)
		}
	}
	r.results = r.outputs[:p.results]
	return nil
}

// bytes is the size of the buffers that the replica has for itself.
func (r *replicaInstance) bytes() int {
	n := 0
	for _, list := range [][]kernels.Buffer{r.data, r.results} {
		for _, b := range list {
			n += b.Type().Bytes()
		}
	}
	for _, f := range r.fetched {
		n += f.own.Type().Bytes()
	}
	return n
}

// Input returns the memory of input i on a replica, to be filled before Run.
func (inst *Instance) Input(replica, i int) kernels.Buffer { return inst.replicas[replica].data[i] }

// Output returns the memory of result i on a replica, valid until the next Run.
func (inst *Instance) Output(replica, i int) kernels.Buffer { return inst.replicas[replica].results[i] }

// Stats describes the program of the first replica.
func (inst *Instance) Stats() kernels.Stats { return inst.replicas[0].stats }

// WritesVariables reports whether a run changes variables. Then no other run that uses them may be in progress at the
// same time.
func (inst *Instance) WritesVariables() bool { return inst.writes }

func (inst *Instance) close() {
	inst.closeLoop()
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
