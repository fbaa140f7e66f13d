package keras

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Layers may assign weights that are trained, as SpectralNormalization divides its kernel in each step. On parameter
// servers such a step sends, before the gradient, how far it has moved the weight. The place of the weight itself takes
// the gradient.

// read returns the values that the weights have at this place of the step.
func (w *serverWorker) read(r *distribute.Replica) (values []*ops.Tensor) {
	for _, one := range w.trained {
		values = append(values, r.Read(one.local))
	}
	return values
}

// moved computes how far the step has moved the weights that it has assigned, and notes which these are.
func (w *serverWorker) moved(before, now []*ops.Tensor) (moved []*ops.Tensor) {
	w.moving = nil
	for i := range before {
		if before[i].Value() != now[i].Value() {
			w.moving = append(w.moving, i)
			moved = append(moved, ops.Cast(ops.Subtract(now[i], before[i]), ir.Float32))
		}
	}
	return moved
}

// roomToMove is memory for what moved computes.
func (w *serverWorker) roomToMove() (room [][]float32) {
	for _, i := range w.moving {
		room = append(room, make([]float32, w.trained[i].local.Type().Shape.Size()))
	}
	return room
}
