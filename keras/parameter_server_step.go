package keras

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// serverUpdates are the gradients that a user-defined TrainStep passes to an optimizer when the weights are on
// parameter servers. The servers apply them after the step.
type serverUpdates struct {
	gradients map[*distribute.Variable]*ops.Tensor
	updated   distribute.Variables
	current   map[*distribute.Variable]*ops.Tensor // the weights' values, as updated so far
	values    map[ir.Value]*distribute.Variable    // reads of updated weights, and the weights
	tables    map[*distribute.Variable]*ops.Tensor // the rows of tables that are in this process
}

func newServerUpdates() *serverUpdates {
	return &serverUpdates{gradients: map[*distribute.Variable]*ops.Tensor{}, current: map[*distribute.Variable]*ops.Tensor{}, values: map[ir.Value]*distribute.Variable{}, tables: map[*distribute.Variable]*ops.Tensor{}}
}

// take records the update of some weights.
func (u *serverUpdates) take(s *Step, optimizer optimizers.Optimizer, variables distribute.Variables, grads []*ops.Tensor) {
	var known distribute.Variables
	var have []*ops.Tensor
	for i, v := range variables {
		if grads[i] == nil {
			continue
		}
		if u.gradients[v] != nil {
			ops.Failf(s.Graph(), "TrainStep updates the weight %s twice; parameter servers make one update of a weight in a step: add the losses up, or write a loop with coordinator.ClusterCoordinator", v.Path())
		}
		known, have = append(known, v), append(have, grads[i])
	}
	if len(known) == 0 {
		ops.Failf(s.Graph(), "no weight has a gradient; the loss does not depend on any of the %d weights", len(variables))
	}
	for i, g := range optimizers.ServerGradients(optimizer, have) {
		v := known[i]
		u.gradients[v] = g
		u.updated = append(u.updated, v)
		if u.tables[v] != nil {
			continue
		}
		u.current[v] = s.Read(v)
		s.AssignMirrored(v, u.current[v]) // the same value under another name
		u.values[s.Read(v).Value()] = v
	}
}

// check fails if the step computes with a weight that it had updated before: the new value is not in this process.
func (u *serverUpdates) check(s *Step) {
	for _, n := range s.Graph().Program().Nodes {
		for _, in := range n.Inputs {
			if v := u.values[in]; v != nil {
				u.refuse(s.Graph(), v)
			}
		}
	}
}

func (u *serverUpdates) refuse(g *ops.Graph, v *distribute.Variable) {
	ops.Failf(g, "TrainStep computes with the weight %s after it has updated it; under ParameterServerStrategy updates are made on the servers, after the step: take all gradients first, "+
		"or write a loop with coordinator.ClusterCoordinator", v.Path())
}

// customGradients traces a user-defined TrainStep, and returns the gradients of the weights, of the rows of tables, and
// of those of dynamic embeddings.
func (w *serverWorker) customGradients(r *distribute.Replica, x, y, weights, tables, before []*ops.Tensor) []*ops.Tensor {
	m, u := w.t.m, newServerUpdates()
	for i, t := range w.lookup.order {
		u.tables[t.weight.local] = tables[i]
	}
	w.lookup.updates = u
	s := m.trace(&Step{Replica: r, X: x, Y: y, SampleWeight: weights, m: m, step: m.compiled.trainStep, servers: u})
	u.check(s)
	var grads []*ops.Tensor
	all := w.variables()
	for _, t := range w.lookup.order {
		all = append(all, t.weight.local)
	}
	for _, v := range all {
		g := u.gradients[v]
		if g == nil {
			ops.Failf(r.Graph(), "TrainStep does not update the weight %s for batches of this shape, as it did for the first one; update the same weights in all steps", v.Path())
		}
		grads = append(grads, g)
	}
	if rows := m.rowsOf(x); len(rows) > 0 {
		grads = append(grads, rowGradients(rows, slices.Clone(s.rowGrads))...)
	}
	w.noteAssignments(r)
	var now []*ops.Tensor
	for _, one := range w.trained {
		now = append(now, u.current[one.local])
	}
	return append(w.moved(before, now), grads...)
}
