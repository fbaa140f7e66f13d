package losses

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
)

// Hinge is the mean over the last axis of max(1 - t·p, 0) with labels -1 and 1. Labels that are all 0 or 1, throughout
// the global batch, are treated as -1 and 1. Name: "hinge". Behaviour of keras.losses.Hinge.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type Hinge struct {
	common
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=hinge"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *Hinge) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.Hinge(batchOf(yPred), yTrue, yPred)
}

// ReductionKind implements [Loss].
func (l *Hinge) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *Hinge) LossName() string { return named(l.Name, "hinge") }

func (l *Hinge) dtype() string { return l.DType }

// SquaredHinge is the mean over the last axis of max(1 - t·p, 0)², with labels as for [Hinge]. Name: "squared_hinge".
// Behaviour of keras.losses.SquaredHinge.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type SquaredHinge struct {
	common
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=squared_hinge"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *SquaredHinge) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.SquaredHinge(batchOf(yPred), yTrue, yPred)
}

// ReductionKind implements [Loss].
func (l *SquaredHinge) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *SquaredHinge) LossName() string { return named(l.Name, "squared_hinge") }

func (l *SquaredHinge) dtype() string { return l.DType }

// CategoricalHinge is max(max((1-t)·p) - Σ t·p + 1, 0) over the last axis with one-hot labels t: how much the true
// class lacks to beat the best wrong class by 1. Name: "categorical_hinge". Behaviour of keras.losses.CategoricalHinge.
//
// Shapes: labels and predictions (batch, ..., classes); result (batch, ...).
type CategoricalHinge struct {
	common
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=categorical_hinge"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *CategoricalHinge) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.CategoricalHinge(yTrue, yPred)
}

// ReductionKind implements [Loss].
func (l *CategoricalHinge) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *CategoricalHinge) LossName() string { return named(l.Name, "categorical_hinge") }

func (l *CategoricalHinge) dtype() string { return l.DType }
