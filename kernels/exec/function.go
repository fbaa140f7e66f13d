package exec

import (
	"context"
	"fmt"
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

// Function is traced code. It is compiled once for each combination of input types and then replayed on every replica
// of its strategy. It may be used by many goroutines; each run has its own instance.
type Function struct {
	strategy Strategy
	name     string
	trace    TraceFunc
	step     func(c counts) TraceFunc // makes trace of a StepFunction once the kinds of inputs are known
	inputs   counts                   // that trace was made for
	alone    bool                     // replicas of other processes do not take part

	// Seed sets the random numbers of Strategy.Run.
	Seed  uint64
	steps atomic.Uint32

	mu     sync.Mutex
	shapes shapeCache
	lots   lots
	lane   lane // of the programs that write variables, which run one at a time
	out    int  // instances that are not idle
}

// NewFunction prepares f for a strategy. Nothing is traced before the first run.
func NewFunction(s Strategy, name string, f TraceFunc) *Function {
	return &Function{strategy: inside(s), name: name, trace: f}
}

// NewProcessFunction is NewFunction for code in which only the replicas of this process take part, even if the strategy
// spans several: its sums are those of this process, and other processes need not run it.
func NewProcessFunction(s Strategy, name string, f TraceFunc) *Function {
	return &Function{strategy: inside(s), name: name, trace: f, alone: true}
}

// Split cuts examples into one part for each replica that takes part in the function, and returns the number of the
// first replica of this process.
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

// group connects the processes that take part; nil if that is only this one.
func (f *Function) group() WorkerGroup {
	if f.alone {
		return nil
	}
	return f.strategy.Placement().Group
}

// Wait returns when all launches of instances that write variables are over. The error is a [*LateError] if one failed
// and no caller has been told yet.
func (f *Function) Wait() error { return f.lane.wait(context.Background()) }

// Strategy returns the strategy that the function runs under.
func (f *Function) Strategy() Strategy { return f.strategy }

// Acquire returns an instance for the given types of each replica's inputs, and compiles if necessary. local is the
// number of examples of each replica of this process. If the strategy spans several processes and the function has
// inputs, the processes exchange these numbers; [Function.AcquireSplit] avoids that.
func (f *Function) Acquire(types [][]ir.Type, local []int) (*Instance, error) {
	all, err := f.sizesOfAll(types, local)
	if err != nil {
		return nil, err
	}
	return f.AcquireSplit(types, all)
}

// acquireBatch is Acquire for the parts of a batch as they are. Replicas that run one program need parts of one length,
// including those of other processes.
func (f *Function) acquireBatch(types [][]ir.Type, local []int) (*Instance, error) {
	all, err := f.sizesOfAll(types, local)
	if err != nil {
		return nil, err
	}
	if f.strategy.Placement().Lockstep && len(all) > len(local) && !even(all) {
		return nil, fmt.Errorf("distribute: %s: the batch has %v examples on the replicas of all processes; the replicas of %v run one program, with the same shapes: make batches that divide evenly (data's DropRemainder)", f.name, all, f.strategy)
	}
	return f.AcquireSplit(types, all)
}

// sizesOfAll returns the numbers of examples of the replicas of all processes.
func (f *Function) sizesOfAll(types [][]ir.Type, local []int) ([]int, error) {
	g := f.group()
	switch {
	case g == nil:
		return local, nil
	case len(types) == 0 || len(types[0]) == 0:
		return make([]int, f.replicas()), nil
	}
	return gatherSizes(g, f.name, local)
}

// AcquireSplit is Acquire for a caller that knows the number of examples of every replica in all processes, as
// [Function.Split] returns them.
func (f *Function) AcquireSplit(types [][]ir.Type, all []int) (*Instance, error) {
	if n := f.replicas(); len(all) != n || len(types) != len(f.strategy.Devices()) {
		return nil, fmt.Errorf("distribute: %s: received the types of %d replicas and the sizes of %d; expected %d of this process and %d of all", f.name, len(types), len(all), len(f.strategy.Devices()), n)
	}
	if err := f.checkLockstep(types); err != nil {
		return nil, err
	}
	return f.acquire(types, all, false)
}

func (f *Function) acquire(types [][]ir.Type, all []int, filled bool) (*Instance, error) {
	start := time.Now()
	c, inst, free, err := f.lookup(types, all, filled)
	if err != nil || inst != nil {
		return inst, err
	}
	inst, err = f.instantiate(c, free)
	if err != nil {
		f.mu.Lock()
		f.out--
		free.busy = false
		f.mu.Unlock()
		return nil, err
	}
	inst.CompileTime = time.Since(start)
	return inst, nil
}

// connection says how the replicas of this process meet: with the communicators of the strategy, or with communicators
// of this process alone.
func (f *Function) connection() (*communicatorPool, func() ([]kernels.Communicator, error)) {
	at := f.strategy.Placement()
	if f.alone {
		return &at.own, at.ConnectOwn
	}
	return &at.all, at.Connect
}

// Release gives an instance back for the next Acquire. It is kept while as many are needed at the same time.
func (f *Function) Release(inst *Instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out--
	inst.lot.busy = false
	if inst.owner.evicted {
		f.shapes.bytes -= inst.counted
		inst.close()
		if f.out == 0 && f.shapes.order.Len() == 0 { // Close has left the lane to the last instance
			f.lane.close()
		}
		return
	}
	f.shapes.put(inst)
	f.lots.returned(f.out + 1)
	f.trim()
	if !inst.lot.shares() {
		f.trimOwn()
	}
}

// Close frees the memory of all instances that are not running. The function can still be used; it compiles again.
func (f *Function) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shapes.clear()
	f.lots.all = nil
	if f.out == 0 {
		f.lane.close()
	}
}

// Programs returns the printed programs compiled so far, for debugging.
func (f *Function) Programs() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	f.shapes.each(func(c *compiled) { b.WriteString(c.programs[0].program.String()) })
	return b.String()
}

// Program returns what the first replica of this process would run for inputs of the given types, as traced, without
// compiling. all is as for AcquireSplit.
func (f *Function) Program(types [][]ir.Type, all []int) (*ir.Program, error) {
	if n := f.replicas(); len(all) != n || len(types) != len(f.strategy.Devices()) {
		return nil, fmt.Errorf("distribute: %s: received the types of %d replicas and the sizes of %d; expected %d of this process and %d of all", f.name, len(types), len(all), len(f.strategy.Devices()), n)
	}
	if err := f.checkLockstep(types); err != nil {
		return nil, err
	}
	programs, err := f.traceAll(f.typesOfAll(types, all), all)
	if err != nil {
		return nil, err
	}
	return programs[f.first()].program, nil
}
