package estimator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/internal/servers"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// Tracing the ModelFn: instead of applying its optimizers, the trace outputs gradients for the servers.

// take replaces an optimizer's step: the gradients go to the servers.
func (t *serverTraining) take(c *Context, o optimizers.Optimizer, loss *ops.Tensor, variables distribute.Variables) {
	if t.gradients == nil {
		t.gradients = map[*distribute.Variable]*ops.Tensor{}
	}
	at := slices.Index(t.optimizers, o)
	if at < 0 {
		at = len(t.optimizers)
		t.optimizers = append(t.optimizers, o)
	}
	var known distribute.Variables
	var have []*ops.Tensor
	for i, g := range ops.NewTape(c).Gradients(loss, variables).Values {
		if g != nil {
			known, have = append(known, variables[i]), append(have, g)
		}
	}
	if len(known) == 0 {
		ops.Failf(c.Graph(), "no weight has a gradient; the loss does not depend on any of the %d weights", len(variables))
	}
	for i, g := range optimizers.ServerGradients(o, have) {
		v := known[i]
		if t.gradients[v] != nil {
			ops.Failf(c.Graph(), "Minimize is called twice for the variable %s; parameter servers make one update of a variable in a step: add the losses up", v.Path())
		}
		t.gradients[v] = g
		if slices.ContainsFunc(t.trained, func(w *serverVariable) bool { return w.local == v }) {
			continue
		}
		rule, err := optimizers.ServerRule(o, v)
		var constraint parameters.Constraint
		if err == nil {
			if constraint, err = servers.Constraint(v); err != nil {
				err = fmt.Errorf("estimator: Train: %w", err)
			}
		}
		if err == nil && v.Type().DType != ir.Float32 {
			err = fmt.Errorf("estimator: Train: variable %s is of type %v; parameter servers train float32", v.Path(), v.Type().DType)
		}
		if err != nil {
			ops.Fail(c.Graph(), err)
		}
		if t.s.traced {
			ops.Failf(c.Graph(), "the variable %s is trained for batches of one shape and not for others; train the same ones in all steps", v.Path())
		}
		t.trained = append(t.trained, &serverVariable{local: v, optimizer: at, rule: rule, constraint: constraint})
	}
}

// results returns the gradients, in the order of the variables, at the end of the trace.
func (t *serverTraining) results(r *distribute.Replica) []*ops.Tensor {
	var out []*ops.Tensor
	t.noteAssignments(r)
	for _, v := range t.trained {
		g := t.gradients[v.local]
		if g == nil {
			ops.Failf(r.Graph(), "the variable %s is trained for batches of one shape and not for others; train the same ones in all steps", v.local.Path())
		}
		out = append(out, ops.Cast(g, ir.Float32))
	}
	t.gradients = nil
	if t.listed == nil {
		t.listed = operations(r.Graph().Program())
	}
	return out
}

// noteAssignments records the variables that the step assigns, except untrained ones that it only adds to.
func (t *serverTraining) noteAssignments(r *distribute.Replica) {
	if t.replaced == nil {
		t.replaced = map[*distribute.Variable]bool{}
	}
	came := map[ir.Value]bool{}
	for _, in := range r.Graph().Program().Inputs {
		came[in.Value] = true
	}
	for _, v := range r.Variables() {
		if !r.OnlyAdds(v) {
			t.replaced[v] = true
		}
	}
	for _, v := range t.trained {
		if !came[r.Read(v.local).Value()] {
			t.replaced[v.local] = true
		}
	}
}

// look traces the model for a batch, to find its variables.
func (t *serverTraining) look(batch distribute.PerReplicaBatch) error {
	inst, _, err := t.s.acquire(batch)
	if err != nil {
		return err
	}
	t.s.function.Release(inst)
	for _, b := range batch {
		for _, a := range slices.Concat(b.X, b.Y) {
			t.batch += fmt.Sprint(a.Type, " ")
		}
	}
	own := map[*distribute.Variable]bool{t.s.globalStep: true}
	for _, v := range t.trained {
		own[v.local] = true
	}
	for _, o := range t.optimizers {
		for _, v := range o.Variables() {
			own[v] = true
			if slices.Contains(t.s.variables, v) {
				continue
			}
			if err := v.Place(t.strategy, 0); err != nil {
				return err
			}
			t.s.variables = append(t.s.variables, v) // checkpoints store it
		}
	}
	for _, v := range t.s.variables {
		if !own[v] && v.Type().DType == ir.Float32 {
			t.moved = append(t.moved, &serverVariable{local: v})
		}
	}
	if len(t.trained) == 0 {
		return errors.New("estimator: Train: the ModelFn trains no variable; take EstimatorSpec.TrainOp from Context.Minimize")
	}
	return nil
}
