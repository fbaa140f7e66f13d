package keras

import (
	"context"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TrainingProgram returns the program of the first replica for a training step on the examples of a, which are a global
// batch, before any backend processes it: for printing, counting, and compiling ahead of time. Only the types of the
// arrays matter. A node's Scope is the path of the layer that made it.
func (m *Model) TrainingProgram(ctx context.Context, a *data.ArraySource) (*ir.Program, error) {
	c, err := newFitConfig[FitOption]("TrainingProgram", nil, nil)
	if err != nil {
		return nil, err
	}
	if err := m.begin(ctx, c.what); err != nil {
		return nil, err
	}
	defer m.training.Unlock()
	p, err := m.partsOf(ctx, &batchRun{}, c, a, true)
	if err != nil {
		return nil, prefixed("TrainingProgram", err)
	}
	b := newBinder(m.compiled.train, m.policy.Float())
	l, err := b.layout(p, p.rows())
	if err != nil {
		return nil, prefixed("TrainingProgram", err)
	}
	program, err := m.compiled.train.Program(l.types, l.all)
	if err != nil {
		return nil, prefixed("TrainingProgram", err)
	}
	return program, nil
}
