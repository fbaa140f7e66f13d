package exec

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// A step over several processes can fail in any of its collectives. So that the variables keep the values of the step
// before, a step can be run in two halves: Compute writes the new values of all variables to separate memory, and
// Commit puts them in place. The second half communicates with nobody and cannot fail half way.

// update is a variable that a replica's program replaces.
type update struct {
	variable      *Variable
	current, next kernels.Buffer
}

// Compute is the first half of Run: all variables keep their values, and [Instance.Next] has the new ones. Another
// Compute instead of Commit discards them.
func (inst *Instance) Compute(ctx context.Context, seed uint64, step uint32) error {
	if err := inst.apart(); err != nil {
		return err
	}
	return inst.compute(ctx, seed, step)
}

// Commit is the second half: the variables take the values of the last Compute. It allocates nothing, and copies
// nothing if the memory can be exchanged.
func (inst *Instance) Commit() error {
	for i := range inst.replicas {
		r := &inst.replicas[i]
		for _, u := range r.updates {
			if err := exchange(u.current, u.next); err != nil {
				return fmt.Errorf("distribute: variable %s: %w", u.variable.Path(), err)
			}
		}
	}
	return nil
}

// Next returns the memory of the value that a variable gets from Commit on a replica of this process. A variable that
// the program does not change keeps its own.
func (inst *Instance) Next(replica int, v *Variable) (kernels.Buffer, error) {
	if err := inst.apart(); err != nil {
		return nil, err
	}
	for _, u := range inst.replicas[replica].updates {
		if u.variable == v {
			return u.next, nil
		}
	}
	return v.Buffer(replica)
}

// OnReadVariables lists the variables that each replica keeps for itself and that the program reads or writes, in the
// program's order.
func (inst *Instance) OnReadVariables() Variables {
	var list Variables
	for _, v := range inst.owner.programs[0].variables {
		if v.spec.Synchronization == OnRead {
			list = append(list, v)
		}
	}
	return list
}

// apart gives the program separate memory for the variables that it replaces.
func (inst *Instance) apart() error {
	if inst.halves {
		return nil
	}
	for i := range inst.replicas {
		r := &inst.replicas[i]
		p := inst.owner.programs[i]
		for j, out := range p.program.Outputs {
			if out.Alias < 0 || out.Alias == p.random {
				continue
			}
			current := r.inputs[out.Alias]
			backend, err := kernels.Lookup(current.Device().Kind)
			if err != nil {
				return err
			}
			next, err := backend.NewBuffer(current.Device(), current.Type())
			if err != nil {
				return err
			}
			r.outputs[j] = next
			inst.bytes += next.Type().Bytes()
			for k, v := range p.variables {
				if p.inputs[k] == out.Alias {
					r.updates = append(r.updates, update{v, current, next})
				}
			}
		}
	}
	inst.halves = true
	return nil
}

// exchange puts the contents of next into current.
func exchange(current, next kernels.Buffer) error {
	if e, ok := current.(kernels.Exchanger); ok {
		return e.Exchange(next)
	}
	return current.CopyFrom(next).Wait(context.Background())
}
