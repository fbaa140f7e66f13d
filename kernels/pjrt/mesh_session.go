//go:build linux

package pjrt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// meshExecutable is a program that XLA has spread over a mesh, or over several meshes of one shape, each of which is a
// replica.
type meshExecutable struct {
	mesh     *mesh
	program  *ir.Program
	module   *stablehlo.Module
	layouts  [][]int // of the inputs
	replicas int

	mu       sync.Mutex
	codes    map[string]*capi.Executable // by the devices' numbers
	sessions int
	closed   bool
}

// on compiles the program for the devices of meshes, one a replica, once.
func (e *meshExecutable) on(ids []int) (*capi.Executable, error) {
	key := fmt.Sprint(ids)
	e.mu.Lock()
	defer e.mu.Unlock()
	if code := e.codes[key]; code != nil {
		return code, nil
	}
	m := e.mesh
	code, err := m.backend.compile(m.client, []byte(e.module.Text), capi.CompileOptions{
		Replicas: e.replicas, Partitions: len(m.ids), Devices: ids, Shardy: takesShardy(m.client.Plugin), Flags: m.backend.flags,
	})
	if err != nil {
		return nil, fmt.Errorf("pjrt: compiling program %q for %d replicas on meshes of shape %v: %w", e.program.Name, e.replicas, m.shape, err)
	}
	e.codes[key] = code
	return code, nil
}

func (e *meshExecutable) Stats() kernels.Stats {
	s := kernels.Stats{Nodes: len(e.program.Nodes), Steps: 1}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, code := range e.codes {
		if memory, err := code.Memory(); err == nil {
			s.ArenaBytes = memory.Temporary
		}
	}
	return s
}

// Close forgets the program; the code goes with the last session.
func (e *meshExecutable) Close() {
	unreachable.Forget(e)
	e.Discard()
}

// Discard is Close for a program that nobody can reach.
func (e *meshExecutable) Discard() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.free()
}

func (e *meshExecutable) free() {
	if !e.closed || e.sessions > 0 {
		return
	}
	for _, code := range e.codes {
		_ = code.Close() // nobody waits for the outcome
	}
	clear(e.codes)
}

func (e *meshExecutable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	m := e.mesh
	if o.Device != m.name {
		other, err := m.backend.meshes.at(o.Device)
		if err != nil || e.replicas == 1 || !slices.Equal(other.shape, m.shape) {
			return nil, fmt.Errorf("pjrt: program %q: a session of replica %d on %v; the program is for %v", e.program.Name, o.Replica, o.Device, m.name)
		}
		m = other
	}
	if o.Replica < 0 || o.Replica >= e.replicas {
		return nil, fmt.Errorf("pjrt: program %q: a session of replica %d on %v; the program is for %d", e.program.Name, o.Replica, o.Device, e.replicas)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("pjrt: program %q was closed", e.program.Name)
	}
	e.sessions++
	s := &meshSession{meshExecutable: e, mesh: m, replica: o.Replica}
	m.backend.dead.Watch(s)
	return s, nil
}

// meshSession runs the program, on one mesh of a replica.
type meshSession struct {
	*meshExecutable
	mesh    *mesh
	replica int
	once    sync.Once

	launch *capi.Launch // of the code that it was made for
	code   *capi.Executable
}

func (s *meshSession) Close() {
	unreachable.Forget(s)
	s.Discard()
}

// Discard is Close for a session that nobody can reach.
func (s *meshSession) Discard() {
	s.once.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sessions--
		s.free()
	})
}

// meshPart is what one replica brings to a run.
type meshPart struct {
	session         *meshSession
	inputs, outputs []*meshBuffer
}

// Launch runs the program and waits for it; several replicas meet first.
func (s *meshSession) Launch(ctx context.Context, l kernels.Launch) kernels.Event {
	c, _ := l.Communicator.(*meshCommunicator)
	if err := ctx.Err(); err != nil {
		return kernels.Completed(err)
	}
	inputs, outputs, err := s.buffers(l)
	switch {
	case err != nil:
		if c != nil && s.replicas > 1 {
			c.Abort(err)
		}
		return kernels.Completed(err)
	case s.replicas == 1:
		return kernels.Completed(s.run(s.mesh.ids, s.mesh.span.link(), []*meshPart{{s, inputs, outputs}})[0])
	case c == nil || c.Replicas() != s.replicas || c.Replica() != s.replica:
		return kernels.Completed(fmt.Errorf("pjrt: program %q: replica %d of %d has no communicator for that place", s.program.Name, s.replica, s.replicas))
	}
	return kernels.Completed(c.group.bring(ctx, &meshPart{s, inputs, outputs}))
}

// run runs the program for all replicas of this process, on the devices with the given numbers. remote is the
// connection to other processes that take part; nil: none does. It returns the error of each replica.
func (s *meshSession) run(ids []int, remote *link, all []*meshPart) []error {
	errs := make([]error, len(all))
	for _, p := range all {
		m := p.session.mesh
		m.mu.Lock() // a run may take memory that others want to read
		defer m.mu.Unlock()
	}
	fail := func(err error) []error {
		for r := range errs {
			errs[r] = err
		}
		return errs
	}
	code, err := s.on(ids)
	if err != nil {
		return fail(err)
	}
	n := len(s.mesh.places)
	if s.code != code {
		s.code, s.launch = code, code.NewLaunch(n*len(all), len(s.program.Inputs)+1)
	}
	var keep []int
	for r, p := range all {
		if err := p.place(s.launch, r*n); err != nil {
			return fail(err)
		}
		keep = append(keep, s.keep(p.inputs, p.outputs)...)
	}
	slices.Sort(keep)
	if err := remote.run(s.launch, slices.Compact(keep)); err != nil {
		if errors.As(err, new(givenUp)) {
			s.code, s.launch = nil, nil // the plugin may still use them, and what it was given
			for _, p := range all {
				p.hold()
			}
		}
		return fail(fmt.Errorf("pjrt: program %q on %v: %w", s.program.Name, s.mesh.name, err))
	}
	for r, p := range all {
		errs[r] = p.take(s.launch, r*n, remote)
	}
	return errs
}

// hold leaves the inputs to a run that has not returned.
func (p *meshPart) hold() {
	p.session.mesh.flag.held = true
	p.session.mesh.flag = nil
	for _, b := range p.inputs {
		b.spread.held = true
	}
}

// place puts the inputs on the devices and into the arguments of a launch, starting with device number first.
func (p *meshPart) place(l *capi.Launch, first int) error {
	s := p.session
	flag, err := s.mesh.zeros()
	if err != nil {
		return err
	}
	spreads := make([]*spread, 0, len(p.inputs)+1)
	for i, b := range p.inputs {
		b.name = s.program.Inputs[i].Name
		placed, err := b.placed(s.layouts[i])
		if err != nil {
			return err
		}
		spreads = append(spreads, placed)
	}
	spreads = append(spreads, flag)
	for device := range s.mesh.places {
		for i, placed := range spreads {
			l.Arguments(first + device)[i] = uint64(placed.handles[device])
		}
	}
	return nil
}

// buffers checks the buffers of a launch. The output that replaces an input is that input.
func (s *meshSession) buffers(l kernels.Launch) (inputs, outputs []*meshBuffer, err error) {
	p := s.program
	own := func(b kernels.Buffer, v ir.Value, what string, i int) (*meshBuffer, error) {
		m, ok := b.(*meshBuffer)
		if !ok || m.mesh != s.mesh || !m.typ.Equal(p.Type(v)) {
			return nil, fmt.Errorf("pjrt: program %q: %s %d is no buffer %v on %v", p.Name, what, i, p.Type(v), s.mesh.name)
		}
		return m, nil
	}
	if len(l.Inputs) != len(p.Inputs) || len(l.Outputs) != len(p.Outputs) {
		return nil, nil, fmt.Errorf("pjrt: program %q: received %d inputs and %d outputs, expected %d and %d", p.Name, len(l.Inputs), len(l.Outputs), len(p.Inputs), len(p.Outputs))
	}
	for i, b := range l.Inputs {
		m, err := own(b, p.Inputs[i].Value, "input", i)
		if err != nil {
			return nil, nil, err
		}
		inputs = append(inputs, m)
	}
	for i, b := range l.Outputs {
		if b == nil && p.Outputs[i].Alias >= 0 {
			outputs = append(outputs, inputs[p.Outputs[i].Alias])
			continue
		}
		m, err := own(b, p.Outputs[i].Value, "output", i)
		if err != nil {
			return nil, nil, err
		}
		outputs = append(outputs, m)
	}
	return inputs, outputs, nil
}

// keep lists the inputs whose memory the run must not take: an output replaces them in another buffer, or they are also
// read as another input.
func (s *meshSession) keep(inputs, outputs []*meshBuffer) []int {
	var keep []int
	for i, out := range s.program.Outputs {
		if out.Alias < 0 {
			continue
		}
		uses := 0
		for _, b := range inputs {
			if b == inputs[out.Alias] {
				uses++
			}
		}
		if outputs[i] != inputs[out.Alias] || uses > 1 {
			keep = append(keep, out.Alias)
		}
	}
	return keep
}

// take puts the results into their buffers and reads the failure flag.
func (p *meshPart) take(l *capi.Launch, first int, remote *link) error {
	s, outputs := p.session, p.outputs
	devices, n := len(s.mesh.places), len(outputs)
	result := func(i int, layout []int) *spread {
		r := &spread{layout: layout, remote: remote}
		for device := range devices {
			r.handles = append(r.handles, uintptr(l.Results(first + device)[i]))
		}
		return r
	}
	var err error
	for i, b := range outputs {
		var layout []int
		if in := s.program.Outputs[i].Alias; in >= 0 {
			layout = s.layouts[in]
		}
		err = errors.Join(err, b.replace(result(i, layout)))
	}
	flag, data := result(n, nil), make([]byte, stablehlo.FlagType.Bytes())
	failed := s.mesh.download(flag, 0, data)
	flag.held = errors.As(failed, new(givenUp))
	err = errors.Join(err, failed, flag.free(s.mesh.client))
	if err != nil {
		return err
	}
	var words [3]int32
	for i := range words {
		words[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return s.module.Failure(words)
}
