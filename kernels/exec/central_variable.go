package exec

import (
	"context"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// fetched is a replica's working copy of a variable that lives on the parameter device.
type fetched struct {
	own, master kernels.Buffer
	written     bool // by this replica
	unread      bool // the value does not matter, only that there is memory
	scratch     []byte
}

// withoutCentralWrites returns the program of a replica that does not update the variables of central storage, because
// the first replica does. Everything needed only for the updates is then dead code. Collectives stay, so that the
// replicas still meet.
func withoutCentralWrites(p *tracedProgram, at *Placement) *ir.Program {
	if !at.Central {
		return p.program
	}
	central := map[int]bool{}
	for i, v := range p.variables {
		central[p.inputs[i]] = at.isCentral(v)
	}
	q := *p.program
	q.Outputs = slices.DeleteFunc(slices.Clone(q.Outputs), func(o ir.Output) bool { return o.Alias >= 0 && central[o.Alias] })
	return &q
}

// variable returns the memory in which the program reads and writes the variable. That is the replica's copy. For
// central storage, it is the single copy if no other replica can interfere, and otherwise a working copy.
func (r *replicaInstance) variable(v *Variable, p *tracedProgram, program *ir.Program, input int, d kernels.Device, backend kernels.Backend) (kernels.Buffer, error) {
	master, err := v.Buffer(r.local)
	if err != nil || !v.Strategy().Placement().isCentral(v) {
		return master, err
	}
	writes := slices.ContainsFunc(program.Outputs, func(o ir.Output) bool { return o.Alias == input })
	alone := r.local == 0 && master.Device() == d
	unread := !writes && !reads(program, p.program.Inputs[input].Value)
	_, onHost := master.(kernels.Borrower)
	if alone || unread && (master.Device() == d || onHost && master.Device().Kind == d.Kind) {
		return master, nil
	}
	own, err := backend.NewBuffer(d, v.Type())
	if err != nil {
		return nil, err
	}
	r.fetched = append(r.fetched, fetched{own, master, writes, unread, make([]byte, v.Type().Bytes())})
	return own, nil
}

// reads reports whether any live part of the program needs the value.
func reads(p *ir.Program, v ir.Value) bool {
	live := p.Live()
	for i, n := range p.Nodes {
		if live[i] && slices.Contains(n.Inputs, v) {
			return true
		}
	}
	return slices.ContainsFunc(p.Outputs, func(o ir.Output) bool { return o.Value == v })
}

// fetch brings the working copies up to date.
func (r *replicaInstance) fetch() error {
	for i := range r.fetched {
		f := &r.fetched[i]
		if f.unread {
			continue
		}
		if err := copyBuffer(f.own, f.master, f.scratch); err != nil {
			return err
		}
	}
	return nil
}

// store copies back what the replica has written.
func (r *replicaInstance) store() error {
	for i := range r.fetched {
		f := &r.fetched[i]
		if f.written {
			if err := copyBuffer(f.master, f.own, f.scratch); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyBuffer copies on the devices if they are of one kind, and otherwise through host memory.
func copyBuffer(dst, src kernels.Buffer, scratch []byte) error {
	if dst.Device().Kind == src.Device().Kind {
		e := dst.CopyFrom(src)
		if !e.Done() {
			return nil // ordered before later operations
		}
		return e.Wait(context.Background())
	}
	if b := src.Bytes(); b != nil {
		return dst.Write(b)
	}
	if err := src.Read(scratch); err != nil {
		return err
	}
	return dst.Write(scratch)
}
