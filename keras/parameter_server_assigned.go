package keras

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Steps assign moving statistics, and some layers weights that are trained, as SpectralNormalization divides its kernel
// in each step. Such a weight goes to the servers before its gradient, which takes its place here. They get the value
// and not how far it has moved: several workers have gone from the same value, so that distances would add up beyond
// where each of them went, and a distance from an infinite or a large value does not lead back to where it was
// measured. In a round servers take the mean over its steps, otherwise the last counts.

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
			moving, moved = append(moving, i), append(moved, ops.Cast(now[i], ir.Float32))
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
