package losses

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Dice is 1 - 2·Σ t·p / (Σ t + Σ p + 1e-7), summed over Axis. If Axis is nil, it is summed over all axes, including the
// whole global batch. Name: "dice". Behaviour of keras.losses.Dice. Source: Milletari et al., "V-Net", 3DV 2016 (with
// plain instead of squared sums below).
//
// Shapes: labels and predictions (batch, ...); the result lacks the axes.
type Dice struct {
	common
	Axis      []int     `keras:"axis,null,scalar"`
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=dice"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *Dice) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	checkAxes(yPred, l.Axis)
	return objectives.Dice(batchOf(yPred), yTrue, yPred, l.Axis)
}

// ReductionKind implements [Loss].
func (l *Dice) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *Dice) LossName() string { return named(l.Name, "dice") }

func (l *Dice) dtype() string { return l.DType }

func (l *Dice) reducesBatch(yPred ir.Shape) bool { return containsBatch(l.Axis, yPred) }

// checkAxes refuses an empty list of axes: nil means all axes, and a sum over no axis is not a segmentation loss.
func checkAxes(yPred *ops.Tensor, axes []int) {
	if axes != nil && len(axes) == 0 {
		ops.Failf(yPred.Graph(), "Axis is empty; expected axes, or nil for all of them")
	}
}

// containsBatch reports whether axes, none for all, contain that of the batch.
func containsBatch(axes []int, yPred ir.Shape) bool {
	return len(axes) == 0 || slices.ContainsFunc(axes, func(a int) bool { return isBatch(a, yPred) })
}

// Tversky is 1 - I/(I + alpha·F + beta·N + 1e-7) with I = Σ t·p, F = Σ t·(1-p) and N = Σ (1-t)·p, summed over Axis. If
// Axis is nil, it is summed over all axes, including the whole global batch. With alpha and beta 0.5 it is [Dice]. (As
// in Keras, alpha counts what the prediction misses.) Name: "tversky". Behaviour of keras.losses.Tversky. Source:
// Salehi et al., "Tversky loss function for image segmentation using 3D fully convolutional deep networks", 2017,
// equation 4.
//
// Shapes: labels and predictions (batch, ...); the result lacks the axes.
type Tversky struct {
	common
	Alpha     *float64  `keras:"alpha,default=0.5"` // nil is 0.5
	Beta      *float64  `keras:"beta,default=0.5"`  // nil is 0.5
	Axis      []int     `keras:"axis,null,scalar"`
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=tversky"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *Tversky) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	checkAxes(yPred, l.Axis)
	return objectives.Tversky(batchOf(yPred), yTrue, yPred, or(l.Alpha, 0.5), or(l.Beta, 0.5), l.Axis)
}

// ReductionKind implements [Loss].
func (l *Tversky) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *Tversky) LossName() string { return named(l.Name, "tversky") }

func (l *Tversky) dtype() string { return l.DType }

func (l *Tversky) reducesBatch(yPred ir.Shape) bool { return containsBatch(l.Axis, yPred) }
