package keras

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Steps assign moving statistics, and some layers assign trained weights: SpectralNormalization divides its kernel in
// each step. Such a weight is sent to the servers before its gradient, which then applies to the new value. The servers
// receive the value, not its change: several workers start from the same value, so their changes would add up to more
// than each of them made, and adding a change from an infinite or large value does not give the assigned value.
// Counters are different, that is, weights that steps add to (AssignAdd) and that are not trained: all contributions
// are added, whoever made them.

// assignment says how servers apply what steps have assigned to a weight. With rounds, the values of the replicas are
// combined by the weight's aggregation. Otherwise the last assignment counts, as for the single variable that
// TensorFlow's workers share.
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

// noteAssignments records the weights that the traced step assigns, other than by adding to them.
func (w *serverWorker) noteAssignments(r *distribute.Replica) {
	for _, one := range w.dense {
		one.replaced = one.replaced || !r.OnlyAdds(one.local)
	}
}

// read returns the values of the weights at this point of the step.
func (w *serverWorker) read(r *distribute.Replica) (values []*ops.Tensor) {
	for _, one := range w.trained {
		values = append(values, r.Read(one.local))
	}
	return values
}

// moved computes what is sent to the servers for the trained weights that the step assigned, and records which these
// are.
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

// roomToMove returns memory for the results of moved.
func (w *serverWorker) roomToMove(m *stepMemory) [][]float32 {
	for _, i := range w.moving[len(m.moved):] {
		m.moved = append(m.moved, make([]float32, w.trained[i].local.Type().Shape.Size()))
	}
	return m.moved
}
