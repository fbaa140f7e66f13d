//go:build linux

package pjrt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// meshExecutable is a program that XLA has spread over a mesh.
type meshExecutable struct {
	mesh    *mesh
	program *ir.Program
	module  *stablehlo.Module
	layouts [][]int // of the inputs
	code    *capi.Executable

	mu       sync.Mutex
	sessions int
	closed   bool
}

func (e *meshExecutable) Stats() kernels.Stats {
	s := kernels.Stats{Nodes: len(e.program.Nodes), Steps: 1}
	if memory, err := e.code.Memory(); err == nil {
		s.ArenaBytes = memory.Temporary
	}
	return s
}

// Close forgets the program; the code goes with the last session.
func (e *meshExecutable) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	e.free()
}

func (e *meshExecutable) free() {
	if e.closed && e.sessions == 0 {
		_ = e.code.Close() // nobody waits for the outcome
	}
}

func (e *meshExecutable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, fmt.Errorf("pjrt: program %q was closed", e.program.Name)
	case o.Device != e.mesh.name || o.Replica != 0:
		return nil, fmt.Errorf("pjrt: program %q: a session of replica %d on %v; the program is for %v", e.program.Name, o.Replica, o.Device, e.mesh.name)
	}
	e.sessions++
	return &meshSession{meshExecutable: e, launch: e.code.NewLaunch(len(e.mesh.places), len(e.program.Inputs)+1)}, nil
}

// meshSession runs the program.
type meshSession struct {
	*meshExecutable
	launch *capi.Launch
	once   sync.Once
}

func (s *meshSession) Close() {
	s.once.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sessions--
		s.free()
	})
}

// Launch runs the program and waits for it.
func (s *meshSession) Launch(ctx context.Context, l kernels.Launch) kernels.Event {
	if err := ctx.Err(); err != nil {
		return kernels.Completed(err)
	}
	return kernels.Completed(s.run(l))
}

func (s *meshSession) run(l kernels.Launch) error {
	inputs, outputs, err := s.buffers(l)
	if err != nil {
		return err
	}
	s.mesh.mu.Lock() // a run may take the memory of what others want to read
	defer s.mesh.mu.Unlock()
	flag, err := s.mesh.zeros()
	if err != nil {
		return err
	}
	spreads := make([]*spread, 0, len(inputs)+1)
	for i, b := range inputs {
		placed, err := b.placed(s.layouts[i])
		if err != nil {
			return err
		}
		spreads = append(spreads, placed)
	}
	spreads = append(spreads, flag)
	for device := range s.mesh.places {
		for i, p := range spreads {
			s.launch.Arguments(device)[i] = uint64(p.handles[device])
		}
	}
	if err := s.launch.Run(s.keep(inputs, outputs)); err != nil {
		return fmt.Errorf("pjrt: program %q on %v: %w", s.program.Name, s.mesh.name, err)
	}
	return s.take(outputs)
}

// buffers checks what a launch was given. The output that replaces an input is that input.
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

// keep lists the inputs whose memory the run must not take: an output replaces them elsewhere, or they are read as
// another input too.
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
func (s *meshSession) take(outputs []*meshBuffer) error {
	devices, n := len(s.mesh.places), len(outputs)
	result := func(i int, layout []int) *spread {
		r := &spread{layout: layout}
		for device := range devices {
			r.handles = append(r.handles, uintptr(s.launch.Results(device)[i]))
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
	err = errors.Join(err, s.mesh.client.Download(flag.handles[0], data), flag.free(s.mesh.client))
	if err != nil {
		return err
	}
	var words [3]int32
	for i := range words {
		words[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return s.module.Failure(words)
}
