// Package regularizers adds penalties on weights or results to the loss, under the names and with the defaults of
// keras.regularizers.
package regularizers

import (
	"github.com/gokeras/gokeras/keras/ops"
)

// Regularizer computes a penalty that is added to the loss once per step. Any type with this method can be given to a
// layer.
type Regularizer interface {
	// Penalty returns a scalar of the element type of w.
	Penalty(w *ops.Tensor) *ops.Tensor
}

// L1 is the penalty L1 · Σ|w|.
type L1 struct {
	L1 *float64 `keras:"l1,null,default=0.01"` // at least 0; nil is 0.01
}

// Penalty returns L1 · Σ|w|.
func (r L1) Penalty(w *ops.Tensor) *ops.Tensor {
	return absolute(w, factor(w, "L1", r.L1))
}

// L2 is the penalty L2 · Σw² (without a factor ½).
type L2 struct {
	L2 *float64 `keras:"l2,null,default=0.01"` // at least 0; nil is 0.01
}

// Penalty returns L2 · Σw².
func (r L2) Penalty(w *ops.Tensor) *ops.Tensor {
	return squares(w, factor(w, "L2", r.L2))
}

// L1L2 is the penalty L1 · Σ|w| + L2 · Σw².
type L1L2 struct {
	L1 float64 `keras:"l1,null"` // at least 0
	L2 float64 `keras:"l2,null"` // at least 0
}

// Penalty returns L1 · Σ|w| + L2 · Σw².
func (r L1L2) Penalty(w *ops.Tensor) *ops.Tensor {
	l1, l2 := factor(w, "L1", &r.L1), factor(w, "L2", &r.L2)
	switch {
	case l1 == 0 && l2 == 0:
		return ops.Scalar(w, 0)
	case l2 == 0:
		return absolute(w, l1)
	case l1 == 0:
		return squares(w, l2)
	}
	return ops.Add(absolute(w, l1), squares(w, l2))
}

func absolute(w *ops.Tensor, factor float64) *ops.Tensor {
	return ops.MultiplyScalar(ops.Sum(ops.Abs(w)), factor)
}

func squares(w *ops.Tensor, factor float64) *ops.Tensor {
	return ops.MultiplyScalar(ops.Sum(ops.Square(w)), factor)
}

// factor returns a penalty's factor, or 0.01 if it is nil.
func factor(w *ops.Tensor, name string, value *float64) float64 {
	if value == nil {
		return 0.01
	}
	if !(*value >= 0) || *value-*value != 0 {
		ops.Failf(w.Graph(), "regularizer: the factor %s must be a finite number of at least 0, received %v", name, *value)
	}
	return *value
}

// The modes of [OrthogonalRegularizer]. The zero value is Rows.
const (
	Rows    = "rows"
	Columns = "columns"
)

// OrthogonalRegularizer pushes the rows (or columns) of a matrix to be orthogonal to each other. With n rows v_i,
// divided by their lengths, the penalty is
//
//	Factor · ½ · Σ_{i≠j} |v_i · v_j| / (n(n-1)/2)
type OrthogonalRegularizer struct {
	Factor *float64 `keras:"factor,default=0.01"` // at least 0; nil is 0.01
	Mode   string   `keras:"mode,default=rows"`   // Rows or Columns
}

// Penalty returns the value of the formula; the weight must have two axes.
func (r OrthogonalRegularizer) Penalty(w *ops.Tensor) *ops.Tensor {
	f := factor(w, "Factor", r.Factor)
	if w.Rank() != 2 {
		ops.Failf(w.Graph(), "regularizers.OrthogonalRegularizer needs a matrix, received shape %v; use it on weights with two axes", w.Shape())
	}
	switch r.Mode {
	case "", Rows:
	case Columns:
		w = ops.Transpose(w)
	default:
		ops.Failf(w.Graph(), "regularizers.OrthogonalRegularizer: unknown Mode %q; use %q or %q", r.Mode, Rows, Columns)
	}
	// keras.ops.normalize does not divide by less than 1e-7.
	v := ops.L2Normalize(w, 1, 1e-7)
	n := v.Dim(0)
	products := ops.Matmul(v, ops.Transpose(v))
	others := ops.Subtract(ops.OnesLike(products), ops.Eye(w, w.DType(), n, n))
	pairs := float64(n) * float64(n-1) / 2 //dim:known weights have fixed axes
	return ops.DivideScalar(ops.MultiplyScalar(ops.Sum(ops.Abs(ops.Multiply(products, others))), f*0.5), pairs)
}
