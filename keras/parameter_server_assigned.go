package keras

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Steps assign moving statistics, and some layers weights that are trained, as SpectralNormalization divides its kernel
// in each step. Such a weight goes to the servers before its gradient, which takes its place here. They get the value
// and not how far it has moved: several workers have gone from the same value, so that distances would add up beyond
// where each of them went, and a distance from an infinite or a large value does not lead back to where it was
// measured. What steps count, in a weight that they add to (AssignAdd) and that is not trained, is another matter: all
// of it is added, whoever counts.

// assignment is how servers take what steps have assigned to a weight. In rounds replicas combine it by the weight's
// aggregation; otherwise the last assignment counts, as the one variable of TensorFlow's workers has it.
func (w *serverWorker) assignment(one *serverWeight) parameters.Op {
	replicas, _ := w.job.Rounds()
	switch aggregation := one.local.Spec().Aggregation; {
	case aggregation == distribute.Sum || replicas == 0 && !one.trained && !one.replaced:
		return parameters.Add
	case aggregation == distribute.OnlyFirstReplica:
		return parameters.AssignFirst
	}
	return parameters.Assign
}

// noteAssignments notes which weights the step that was traced has given other values than such as it adds to.
func (w *serverWorker) noteAssignments(r *distribute.Replica) {
	for _, one := range w.dense {
		one.replaced = one.replaced || !r.OnlyAdds(one.local)
	}
}

// read returns the values that the weights have at this place of the step.
func (w *serverWorker) read(r *distribute.Replica) (values []*ops.Tensor) {
	for _, one := range w.trained {
		values = append(values, r.Read(one.local))
	}
	return values
}

// moved computes what the servers get of the trained weights that the step has assigned, and notes which these are.
func (w *serverWorker) moved(before, now []*ops.Tensor) (moved []*ops.Tensor) {
	moving := []int{}
	for i := range before {
		if before[i].Value() != now[i].Value() {
			sent := now[i]
			if w.assignment(w.trained[i]) == parameters.Add {
				sent = ops.Subtract(sent, before[i])
			}
			moving, moved = append(moving, i), append(moved, ops.Cast(sent, ir.Float32))
		}
	}
	if w.moving == nil {
		w.moving = moving
	}
	for i, one := range w.trained {
		if slices.Contains(moving, i) != slices.Contains(w.moving, i) {
			ops.Failf(now[i].Graph(), "the step assigns the weight %s for batches of some shapes alone, which parameter servers do not follow; assign it in each step", one.local.Path())
		}
	}
	return moved
}

// roomToMove is memory for what moved computes.
func (w *serverWorker) roomToMove(m *stepMemory) [][]float32 {
	for _, i := range w.moving[len(m.moved):] {
		m.moved = append(m.moved, make([]float32, w.trained[i].local.Type().Shape.Size()))
	}
	return m.moved
}
