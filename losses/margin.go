package losses

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Hinge is the mean over the last axis of max(1 - t·p, 0) with labels -1 and 1. Labels that are all 0 or 1, throughout the global
// batch, are taken for -1 and 1. Name: "hinge". Behaviour of keras.losses.Hinge.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type Hinge struct {
	keras
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

// SquaredHinge is the mean over the last axis of max(1 - t·p, 0)², with labels as for [Hinge]. Name: "squared_hinge". Behaviour of
// keras.losses.SquaredHinge.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type SquaredHinge struct {
	keras
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

// CategoricalHinge is max(max((1-t)·p) - Σ t·p + 1, 0) over the last axis with one-hot labels t: how far the best wrong class is from
// being beaten by 1. Name: "categorical_hinge". Behaviour of keras.losses.CategoricalHinge.
//
// Shapes: labels and predictions (batch, ..., classes); result (batch, ...).
type CategoricalHinge struct {
	keras
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

// Dice is 1 - 2·Σ t·p / (Σ t + Σ p + 1e-7), summed over Axis; nil means over everything, the whole global batch included. Name: "dice".
// Behaviour of keras.losses.Dice. Source: Milletari et al., "V-Net", 3DV 2016 (with plain instead of squared sums below).
//
// Shapes: labels and predictions (batch, ...); the result lacks the axes.
type Dice struct {
	keras
	Axis      []int     `keras:"axis,scalar"`
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=dice"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *Dice) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.Dice(batchOf(yPred), yTrue, yPred, l.Axis)
}

// ReductionKind implements [Loss].
func (l *Dice) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *Dice) LossName() string { return named(l.Name, "dice") }

func (l *Dice) dtype() string { return l.DType }

func (l *Dice) reducesBatch(yPred ir.Shape) bool { return containsBatch(l.Axis, yPred) }

// containsBatch reports whether axes, none for all, contain that of the batch.
func containsBatch(axes []int, yPred ir.Shape) bool {
	return len(axes) == 0 || slices.ContainsFunc(axes, func(a int) bool { return isBatch(a, yPred) })
}

// Tversky is 1 - I/(I + alpha·F + beta·N + 1e-7) with I = Σ t·p, F = Σ t·(1-p) and N = Σ (1-t)·p, summed over Axis; nil means over
// everything, the whole global batch included. With both at 0.5 it is [Dice]. (As in Keras, alpha counts what the prediction misses.)
// Name: "tversky". Behaviour of keras.losses.Tversky. Source: Salehi et al., "Tversky loss function for image segmentation using 3D fully
// convolutional deep networks", 2017, equation 4.
//
// Shapes: labels and predictions (batch, ...); the result lacks the axes.
type Tversky struct {
	keras
	Alpha     *float64  `keras:"alpha,default=0.5"` // nil is 0.5
	Beta      *float64  `keras:"beta,default=0.5"`  // nil is 0.5
	Axis      []int     `keras:"axis,scalar"`
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=tversky"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *Tversky) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.Tversky(batchOf(yPred), yTrue, yPred, or(l.Alpha, 0.5), or(l.Beta, 0.5), l.Axis)
}

// ReductionKind implements [Loss].
func (l *Tversky) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *Tversky) LossName() string { return named(l.Name, "tversky") }

func (l *Tversky) dtype() string { return l.DType }

func (l *Tversky) reducesBatch(yPred ir.Shape) bool { return containsBatch(l.Axis, yPred) }

// Circle compares the embeddings of all examples of the global batch with each other and pulls those of one label together:
//
//	softplus(logsumexp_pos(-gamma·max(margin + d, 0)·(margin - d)) + logsumexp_neg(gamma·max(1 + margin - d, 0)·(1 - margin - d)))
//
// where d = max(1 - p·p', 0) is the cosine distance of an example to one of the same (pos) or of another (neg) label. Embeddings should
// have length 1. Examples whose loss is 0 do not count in a mean. Name: "circle". Behaviour of keras.losses.Circle. Source: Sun et al.,
// "Circle Loss: A Unified Perspective of Pair Similarity Optimization", CVPR 2020, equation 6.
//
// Shapes: predictions (batch, features); labels, integers, (batch) or (batch, 1); result (batch).
type Circle struct {
	keras
	Gamma        float64   `keras:"gamma,default=80"`    // 0 is 80
	Margin       *float64  `keras:"margin,default=0.4"`  // nil is 0.4
	KeepDiagonal bool      `keras:"remove_diagonal,not"` // an example counts as its own partner
	Reduction    Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name         string    `keras:"name,default=circle"`
	DType        string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *Circle) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	gamma := l.Gamma
	if gamma == 0 {
		gamma = 80
	}
	return objectives.Circle(batchOf(yPred), yTrue, yPred, gamma, or(l.Margin, 0.4), l.KeepDiagonal)
}

// ReductionKind implements [Loss].
func (l *Circle) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *Circle) LossName() string { return named(l.Name, "circle") }

func (l *Circle) dtype() string { return l.DType }

// CTC is the connectionist temporal classification loss: minus the log-probability that a sequence of logits spells the labels, over all
// alignments. Class 0 is the blank; labels end at the first 0; all time steps count. Name: "ctc". Behaviour of keras.losses.CTC. Source:
// Graves et al., "Connectionist Temporal Classification", ICML 2006; the recursion is in package objectives.
//
// Shapes: predictions (batch, time, classes), always logits; labels, integers, (batch, length); result (batch).
type CTC struct {
	keras
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=ctc"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *CTC) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor { return objectives.CTC(yTrue, yPred) }

// ReductionKind implements [Loss].
func (l *CTC) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *CTC) LossName() string { return named(l.Name, "ctc") }

func (l *CTC) dtype() string { return l.DType }
