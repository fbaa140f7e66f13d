package cpu

import (
	"context"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// What a program computes only from variables that it does not change becomes a program of its own (pass.Derive).
// Examples in predictions are a kernel that is standardized or rounded to eight bits. The result stays with the largest
// of these variables until one of them changes. All programs share it, for batches of any size, and products keep
// panels of it (weights.go) as they do of variables.

// derivation computes a value from inputs of an executable.
type derivation struct {
	*lateExecutable
	hash   string // equal programs compute equal values
	inputs []int
	keeper int // the input that keeps the value
}

// lateExecutable is a program that is compiled when it is needed for the first time. Programs for batches of further
// sizes never need it: they find the value.
type lateExecutable struct {
	program *ir.Program
	device  kernels.Device

	mu   sync.Mutex
	made *executable
}

// executable compiles the program, once. After a failure, such as a lack of memory, the next call tries again.
func (l *lateExecutable) executable() (e *executable, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made, err = Backend{}.compile(l.program, kernels.CompileOptions{Device: l.device}, false)
	}
	return l.made, err
}

// derive removes from a program what it computes from variables alone.
func derive(p *ir.Program, o kernels.CompileOptions) (*ir.Program, []derivation, error) {
	variables := slices.DeleteFunc(slices.Clone(o.Variables), func(i int) bool { return replaces(p, i) })
	if _, parts, err := pass.Derive(p, variables); err != nil || len(parts) == 0 {
		return p, nil, err // as most do; with sub-programs, some may be repeated
	}
	simple, err := pass.Simplify(pass.SimplifyOptions{Replicas: o.Replicas, Fold: foldScalar}).Run(p)
	if err != nil {
		return nil, nil, err
	}
	rest, parts, err := pass.Derive(simple, variables)
	if err != nil || len(parts) == 0 {
		return p, nil, err
	}
	list := make([]derivation, len(parts))
	for i, part := range parts {
		d := derivation{&lateExecutable{program: part.Program, device: o.Device}, part.Program.Hash(), part.Inputs, 0}
		for j, input := range part.Inputs {
			if size := p.Type(p.Inputs[input].Value).Bytes(); size > p.Type(p.Inputs[part.Inputs[d.keeper]].Value).Bytes() {
				d.keeper = j
			}
		}
		list[i] = d
	}
	return rest, list, nil
}

// derivedValues are the values that programs computed from a buffer, possibly together with smaller ones.
type derivedValues struct {
	mu   sync.Mutex
	list []*derivedValue
}

// derivedValue is the result of a derivation.
type derivedValue struct {
	hash string
	from []*buffer

	mu       sync.Mutex
	in       *buffer
	versions []uint64 // of the buffers that it was computed from; nil: not computed
}

// of returns the value that a program computes from these buffers. It drops values computed from buffers that are gone.
func (v *derivedValues) of(hash string, from []*buffer) *derivedValue {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, d := range v.list {
		if d.hash == hash && slices.Equal(d.from, from) {
			return d
		}
	}
	v.list = slices.DeleteFunc(v.list, func(d *derivedValue) bool {
		return slices.ContainsFunc(d.from, func(b *buffer) bool { return b.data == nil })
	})
	d := &derivedValue{hash: hash, from: slices.Clone(from)}
	v.list = append(v.list, d)
	return d
}

// forget drops the memory.
func (v *derivedValues) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.list = nil
}

// largeDerived is the size of a value from which on its session is not kept: making it again after a variable has
// changed costs little compared with computing the value.
const largeDerived = 1 << 20

// derivationRun is a session's state for a derivation.
type derivationRun struct {
	derivation
	session  *session // made when needed; most find the value
	inputs   []kernels.Buffer
	from     []*buffer
	versions []uint64
	value    *derivedValue // computed from from
	own      derivedValue  // for buffers that may change unnoticed
}

// newDerivationRuns returns a session's state for each derivation.
func newDerivationRuns(list []derivation) []*derivationRun {
	runs := make([]*derivationRun, len(list))
	for i, d := range list {
		n := len(d.inputs)
		runs[i] = &derivationRun{derivation: d, inputs: make([]kernels.Buffer, n), from: make([]*buffer, n), versions: make([]uint64, n)}
	}
	return runs
}

// withDerived appends the derived values to the inputs of a run.
func (e *session) withDerived(ctx context.Context, inputs []kernels.Buffer) ([]kernels.Buffer, error) {
	if len(e.derived) == 0 || len(inputs)+len(e.derived) != len(e.inputs) {
		return inputs, nil
	}
	e.bound = append(e.bound[:0], inputs...)
	for _, d := range e.derived {
		value, err := d.read(ctx, inputs)
		if err != nil {
			return nil, err
		}
		e.bound = append(e.bound, value)
	}
	return e.bound, nil
}

// read returns the value for these inputs of a run.
func (d *derivationRun) read(ctx context.Context, inputs []kernels.Buffer) (kernels.Buffer, error) {
	same, steady := d.value != nil, true
	for i, input := range d.derivation.inputs {
		b, _ := inputs[input].(*buffer)
		same = same && b == d.from[i]
		d.inputs[i], d.from[i] = inputs[input], b
		ok := false
		if b != nil {
			d.versions[i], ok = b.steady()
		}
		steady = steady && ok
	}
	value := &d.own
	if steady {
		if !same {
			d.value = d.from[d.keeper].derived.of(d.hash, d.from)
		}
		value = d.value
	} else {
		d.value = nil
	}
	value.mu.Lock()
	defer value.mu.Unlock()
	if steady && slices.Equal(value.versions, d.versions) {
		return value.in, nil
	}
	if err := d.compute(ctx, value); err != nil {
		return nil, err
	}
	if steady {
		value.versions = append(value.versions[:0], d.versions...)
		if value.in.typ.Bytes() >= largeDerived {
			d.session.Close()
			d.session = nil // frees the memory between its steps, which is a multiple of this
		}
	}
	return value.in, nil
}

// compute computes the value.
func (d *derivationRun) compute(ctx context.Context, value *derivedValue) error {
	if d.session == nil {
		e, err := d.executable()
		if err != nil {
			return err
		}
		s := e.take()
		if s == nil {
			if s, err = e.session(kernels.SessionOptions{Device: d.device}); err != nil {
				return err
			}
		}
		s.settle(nil)
		d.session = s
	}
	if value.in == nil {
		value.in = newBuffer(d.device, d.session.outputs[0].typ)
	}
	value.versions = value.versions[:0]
	return d.session.run(ctx, d.inputs, []kernels.Buffer{value.in}, nil)
}
