package exec

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// tracedProgram is what one replica, or several with equal inputs, will run.
type tracedProgram struct {
	program   *ir.Program
	variables []*Variable
	inputs    []int // program input of each variable
	random    int   // program input of the random state, or -1
	results   int
	writes    bool // changes variables
	merges    int  // calls of MergeCall
	calls     []collectiveCall
	result    any // structure of the results of a NestFunction
}

// traceAll traces the programs of all replicas, including those of other processes; those with equal inputs share one.
// If replicas join tensors of different lengths they are traced again with the lengths that the last trace found, until
// these do not change any more.
func (f *Function) traceAll(types [][]ir.Type, local []int) ([]*tracedProgram, error) {
	global := 0
	for _, n := range local {
		global += n
	}
	var lengths [][]int
	var parts []int
	if rows := f.Rows(local); !even(local) && even(rows) {
		local, parts = rows, local
	}
	for range maxTraces {
		programs, gathers := make([]*tracedProgram, len(types)), make([][]gatherCall, len(types))
		var failed error
		seen := map[string]int{}
		for i := range types {
			k := fmt.Sprint(types[i], local[i])
			if j, ok := seen[k]; ok {
				programs[i], gathers[i] = programs[j], gathers[j]
				continue
			}
			seen[k] = i
			var err error
			if programs[i], gathers[i], err = f.traceProgram(types[i], local[i], global, parts, lengths); err != nil && failed == nil {
				failed = err
			}
		}
		next, err := gatherLengths(gathers)
		if err != nil {
			return nil, fmt.Errorf("distribute: %s: %w", f.name, err)
		}
		if fmt.Sprint(next) == fmt.Sprint(lengths) {
			if failed != nil {
				return nil, failed
			}
			if err := checkSamePrograms(programs, 0); err != nil {
				return nil, err
			}
			if f.replicas() > 1 {
				advanceAllReduces(programs)
			}
			return programs, nil
		}
		lengths = next
	}
	return nil, fmt.Errorf("distribute: %s: the lengths of what the replicas join by AllGather depend on each other without end", f.name)
}

// maxTraces bounds how often a function is traced because of AllGathers of different lengths: once for each that
// depends on another.
const maxTraces = 64

func (f *Function) traceProgram(types []ir.Type, local, global int, parts []int, lengths [][]int) (p *tracedProgram, gathers []gatherCall, err error) {
	r := NewReplica(f.name, f.replicas(), local, global)
	r.strategy, r.lengths, r.parts = f.strategy, lengths, parts
	defer func() { gathers = r.gathers }()
	defer ops.Catch(&err)
	return f.traceOn(r, types), nil, nil
}

// traceOn traces the function for inputs of the given types. It panics with the mistake.
func (f *Function) traceOn(r *Replica, types []ir.Type) *tracedProgram {
	in := make([]*ops.Tensor, len(types))
	for i, t := range types {
		in[i] = r.graph.Input(fmt.Sprint("in", i), t.DType, t.Shape...)
	}
	tracesUnderWay.Add(1)
	defer tracesUnderWay.Add(-1)
	results := f.trace(r, in)
	p := &tracedProgram{program: r.graph.Program(), random: -1, results: len(results)}
	for i, t := range results {
		p.program.AddOutput(fmt.Sprint("out", i), ops.In(r.graph, t))
	}
	for _, v := range r.variables {
		e := r.entries[v]
		p.variables, p.inputs = append(p.variables, v), append(p.inputs, e.input)
		if e.assigned {
			v.assigned.Store(true)
			p.program.AddAlias(v.Path(), e.current.Value(), e.input)
			p.writes = true
		}
	}
	if r.random != nil {
		for i, in := range p.program.Inputs {
			if in.Value == r.random.Value() {
				p.random = i
			}
		}
		next := ops.Add(r.random, ops.Constant(r.graph, ir.Uint32, ir.Shape{4}, []float64{0, 0, 1, 0})) // the step
		p.program.AddAlias("random_state", next.Value(), p.random)
	}
	p.merges, p.calls, p.result = r.merges, collectiveCalls(p.program, nil), r.result
	return p
}

// tracesUnderWay is the number of traces in progress.
var tracesUnderWay atomic.Int32

// errInStep is why data cannot be read in a step function.
var errInStep = errors.New("distribute: the next batch was requested inside a step function, which is traced once and would see one batch forever; " +
	"ask outside of it and pass the batch to Run, as in strategy.Run(ctx, step, batch)")

// OutsideTrace returns an error if the caller is a function that is being traced.
func OutsideTrace() error {
	if tracesUnderWay.Load() == 0 {
		return nil
	}
	var callers [64]uintptr
	for skip := 2; ; skip += len(callers) {
		n := runtime.Callers(skip, callers[:])
		frames := runtime.CallersFrames(callers[:n])
		for more := n > 0; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			if strings.HasSuffix(frame.Function, "exec.(*Function).traceOn") {
				return errInStep
			}
		}
		if n < len(callers) {
			return nil
		}
	}
}
