//go:build linux

package pjrt

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// part is what one replica contributes to a run.
type part struct {
	session         *session
	queue           *queue
	event           *launched
	inputs, outputs []*buffer // outputs has the input's buffer if that is replaced
	objects         []*object // of the inputs, and the flag
	keep            []int     // inputs whose memory the run must not take
	alone           [1]*part  // itself
}

// newPart returns a part whose lists are allocated.
func (s *session) newPart() *part {
	s.idle.Lock()
	defer s.idle.Unlock()
	if n := len(s.free); n > 0 {
		p := s.free[n-1]
		s.free, p.session = s.free[:n-1], s
		return p
	}
	p := &part{session: s}
	p.alone[0] = p
	return p
}

// over makes the part available for another launch.
func (p *part) over() {
	clear(p.inputs)
	clear(p.outputs)
	clear(p.objects)
	p.inputs, p.outputs, p.objects, p.keep = p.inputs[:0], p.outputs[:0], p.objects[:0], p.keep[:0]
	s := p.session
	p.session, p.queue, p.event = nil, nil, nil // what idles must not hold the session, which the collector looks for
	s.idle.Lock()
	defer s.idle.Unlock()
	s.free = append(s.free, p)
}

func (p *part) bind(inputs, outputs []kernels.Buffer) error {
	program := p.session.program
	if len(inputs) != len(program.Inputs) || len(outputs) != len(program.Outputs) {
		return fmt.Errorf("pjrt: program %q: received %d inputs and %d outputs, expected %d and %d", program.Name, len(inputs), len(outputs), len(program.Inputs), len(program.Outputs))
	}
	for i, in := range inputs {
		b, err := p.own(in, program.Type(program.Inputs[i].Value), "input", i)
		if err != nil {
			return err
		}
		p.inputs = append(p.inputs, b)
	}
	for i, out := range program.Outputs {
		if outputs[i] == nil && out.Alias >= 0 {
			p.outputs = append(p.outputs, p.inputs[out.Alias])
			continue
		}
		b, err := p.own(outputs[i], program.Type(out.Value), "output", i)
		if err != nil {
			return err
		}
		p.outputs = append(p.outputs, b)
	}
	for _, b := range p.inputs {
		o, err := b.taken()
		if err != nil {
			return err
		}
		p.objects = append(p.objects, o)
	}
	flag, err := p.queue.take()
	if err != nil {
		return err
	}
	p.objects = append(p.objects, flag)
	p.keep = p.kept(p.keep[:0])
	return nil
}

// kept lists the inputs whose memory the run must not take although an output replaces them, because their contents are
// needed elsewhere.
func (p *part) kept(keep []int) []int {
	for i, out := range p.session.program.Outputs {
		if out.Alias < 0 {
			continue
		}
		// The buffer and this part use the object; there must be no other user.
		if o := p.objects[out.Alias]; o.lent || p.outputs[i] != p.inputs[out.Alias] || o.users.Load() > 2 {
			keep = append(keep, out.Alias)
		}
	}
	return keep
}

func (p *part) own(b kernels.Buffer, t ir.Type, what string, i int) (*buffer, error) {
	name, device := p.session.program.Name, p.session.device
	own, ok := b.(*buffer)
	switch {
	case b == nil:
		return nil, fmt.Errorf("pjrt: program %q: %s %d is nil", name, what, i)
	case !ok || own.client != p.session.client || own.device != device:
		return nil, fmt.Errorf("pjrt: program %q: %s %d lies on %v, the program runs on %v", name, what, i, b.Device(), device)
	case !own.typ.Equal(t):
		return nil, fmt.Errorf("pjrt: program %q: %s %d has type %v, expected %v", name, what, i, own.typ, t)
	}
	return own, nil
}

// drop releases what the part holds.
func (p *part) drop() {
	for _, o := range p.objects {
		o.release()
	}
	p.objects = nil
	if p.event.own != nil {
		p.queue.Close()
	}
}
