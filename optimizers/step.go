package optimizers

import (
	"math"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Step tells a [Rule] about the step being traced.
type Step struct {
	base    *Base
	replica *distribute.Replica
	updates *ops.Tensor // number of this update from 1, int64
	rate    *ops.Tensor
	shared  []*ops.Tensor
	cache   map[scalarKey]*ops.Tensor
}

type scalarKey struct {
	what  string
	dtype ir.DType
	value float64
}

// once computes a scalar only once for each element type.
func (s *Step) once(what string, d ir.DType, value float64, f func() *ops.Tensor) *ops.Tensor {
	key := scalarKey{what, d, value}
	if t := s.cache[key]; t != nil {
		return t
	}
	if s.cache == nil {
		s.cache = map[scalarKey]*ops.Tensor{}
	}
	t := f()
	s.cache[key] = t
	return t
}

// Graph returns the trace.
func (s *Step) Graph() *ops.Graph { return s.replica.Graph() }

// Rate returns the learning rate, a scalar of the element type of w.
func (s *Step) Rate(w *ops.Tensor) *ops.Tensor {
	return s.once("rate", w.DType(), 0, func() *ops.Tensor { return ops.Cast(s.rate, w.DType()) })
}

// Number returns the number t of this update, 1 for the first one, as a scalar of the element type of w. Under gradient
// accumulation it counts updates, not steps.
func (s *Step) Number(w *ops.Tensor) *ops.Tensor {
	return s.once("number", w.DType(), 0, func() *ops.Tensor { return ops.Cast(s.updates, w.DType()) })
}

// Decayed returns 1 - beta^t, the sum of the weights of a moving average after t updates, as a scalar of the element
// type of w. It is computed as -expm1(t·ln(beta)): the difference would lose digits while beta^t is near 1.
func (s *Step) Decayed(w *ops.Tensor, beta float64) *ops.Tensor {
	return s.once("decayed", w.DType(), beta, func() *ops.Tensor {
		if beta == 0 {
			return ops.Ones(w, w.DType())
		}
		return ops.Negative(ops.Expm1(ops.MultiplyScalar(s.Number(w), math.Log(beta))))
	})
}

// toward returns average + share·(x - average).
func toward(average, x *ops.Tensor, share float64) *ops.Tensor {
	return ops.Add(average, ops.MultiplyScalar(ops.Subtract(x, average), share))
}
