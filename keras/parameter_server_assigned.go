package keras

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Steps assign moving statistics, and some layers weights that are trained, as SpectralNormalization divides its kernel
// in each step. Such a weight goes to the servers before its gradient, which takes its place here.

// assignment is how servers take what a step has assigned: in a round the mean of how far its steps have moved it,
// otherwise the value itself, of which the last counts. There distances would add up that several workers have gone
// from the same value, beyond where each of them went, and farther each time.
func (w *serverWorker) assignment() parameters.Op {
	if replicas, _ := w.job.Rounds(); replicas > 0 {
		return parameters.Add
	}
	return parameters.Assign
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
			if w.assignment() == parameters.Add {
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
