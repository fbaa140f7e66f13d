package pass

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Pass turns a program into an equivalent one. Inputs and outputs stay in order, with their names, types and aliases.
type Pass interface {
	Name() string
	// Run returns the new program, or p itself if there is nothing to do. It does not change p.
	Run(p *ir.Program) (*ir.Program, error)
}

// New returns a pass that runs a function.
func New(name string, run func(p *ir.Program) (*ir.Program, error)) Pass { return function{name, run} }

type function struct {
	name string
	run  func(p *ir.Program) (*ir.Program, error)
}

func (f function) Name() string                           { return f.name }
func (f function) Run(p *ir.Program) (*ir.Program, error) { return f.run(p) }

// Sequence returns the pass that runs passes in order.
func Sequence(name string, passes ...Pass) Pass { return sequence{name: name, passes: passes} }

// CleanUp returns the pass that runs passes in order and, if one of them changed the program, the pass with after them.
func CleanUp(name string, with Pass, passes ...Pass) Pass {
	return sequence{name: name, passes: passes, after: with}
}

type sequence struct {
	name   string
	passes []Pass
	after  Pass // runs if a pass changed something; may be nil
}

func (s sequence) Name() string                           { return s.name }
func (s sequence) Run(p *ir.Program) (*ir.Program, error) { return s.shown(p, nil) }

func (s sequence) shown(p *ir.Program, show func(name string, p *ir.Program)) (*ir.Program, error) {
	q, err := Run(p, show, s.passes...)
	if err != nil || s.after == nil || q == p {
		return q, err
	}
	return Run(q, show, s.after)
}

// Run runs passes in order. show, unless nil, is called with the name of each pass, including those in sequences, and
// its resulting program. An error names the pass.
func Run(p *ir.Program, show func(name string, p *ir.Program), passes ...Pass) (*ir.Program, error) {
	for _, s := range passes {
		if inner, ok := s.(sequence); ok {
			q, err := inner.shown(p, show)
			if err != nil {
				return nil, err
			}
			p = q
			continue
		}
		q, err := s.Run(p)
		if err != nil {
			return nil, fmt.Errorf("pass %q: %w", s.Name(), err)
		}
		p = q
		if show != nil {
			show(s.Name(), p)
		}
	}
	return p, nil
}
