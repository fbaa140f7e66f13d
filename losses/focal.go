package losses

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// BinaryFocalCrossentropy is the binary cross-entropy with each value multiplied by (1-q)^gamma, where q = t·p +
// (1-t)·(1-p) is the probability that the prediction gives to the label. Examples that are already predicted well
// therefore count less. With ApplyClassBalancing it is also multiplied by t·alpha + (1-t)·(1-alpha). Logits go through
// a sigmoid first. Name: "binary_focal_crossentropy". Behaviour of keras.losses.BinaryFocalCrossentropy. Source: Lin et
// al., "Focal Loss for Dense Object Detection", ICCV 2017, equations 4 and 5.
//
// Shapes: labels and predictions (batch, ...); the result lacks the axis.
type BinaryFocalCrossentropy struct {
	common
	ApplyClassBalancing bool      `keras:"apply_class_balancing"`
	Alpha               *float64  `keras:"alpha,null,default=0.25"` // weight of label 1; nil is 0.25
	Gamma               *float64  `keras:"gamma,default=2"`         // nil is 2
	FromLogits          bool      `keras:"from_logits"`
	LabelSmoothing      float64   `keras:"label_smoothing,null"` // s in [0, 1]: labels become t·(1-s) + s/2
	Axis                *int      `keras:"axis,default=-1"`      // nil is -1
	Reduction           Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name                string    `keras:"name,default=binary_focal_crossentropy"`
	DType               string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *BinaryFocalCrossentropy) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	checkSmoothing(yPred, l.LabelSmoothing)
	return objectives.BinaryFocalCrossentropy(batchOf(yPred), yTrue, yPred, l.ApplyClassBalancing, or(l.Alpha, 0.25), or(l.Gamma, 2),
		l.FromLogits, l.LabelSmoothing, or(l.Axis, -1))
}

// ReductionKind implements [Loss].
func (l *BinaryFocalCrossentropy) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *BinaryFocalCrossentropy) LossName() string {
	return named(l.Name, "binary_focal_crossentropy")
}

func (l *BinaryFocalCrossentropy) dtype() string { return l.DType }

func (l *BinaryFocalCrossentropy) reducesBatch(yPred ir.Shape) bool {
	return isBatch(or(l.Axis, -1), yPred)
}

// CategoricalFocalCrossentropy is Σ alpha·(1-p)^gamma·(-t·ln p) along the axis of the C classes, with p divided by its
// sum and clipped to [1e-7, 1-1e-7]. Logits go through a softmax first. Name: "categorical_focal_crossentropy".
// Behaviour of keras.losses.CategoricalFocalCrossentropy. Source: Lin et al., "Focal Loss for Dense Object Detection",
// ICCV 2017.
//
// Shapes: labels and predictions (batch, ..., classes); result (batch, ...).
type CategoricalFocalCrossentropy struct {
	common
	Alpha          []float64 `keras:"alpha,scalar,default=0.25"` // one factor for all classes, or one for each; nil is 0.25
	Gamma          *float64  `keras:"gamma,default=2"`           // nil is 2
	FromLogits     bool      `keras:"from_logits"`
	LabelSmoothing float64   `keras:"label_smoothing,null"` // s in [0, 1]: labels become t·(1-s) + s/C
	Axis           *int      `keras:"axis,default=-1"`      // of the classes; nil is -1
	Reduction      Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name           string    `keras:"name,default=categorical_focal_crossentropy"`
	DType          string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *CategoricalFocalCrossentropy) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	checkSmoothing(yPred, l.LabelSmoothing)
	alpha := l.Alpha
	if alpha == nil {
		alpha = []float64{0.25}
	}
	return objectives.CategoricalFocalCrossentropy(yTrue, yPred, alpha, or(l.Gamma, 2), l.FromLogits, l.LabelSmoothing, or(l.Axis, -1))
}

// ReductionKind implements [Loss].
func (l *CategoricalFocalCrossentropy) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *CategoricalFocalCrossentropy) LossName() string {
	return named(l.Name, "categorical_focal_crossentropy")
}

func (l *CategoricalFocalCrossentropy) dtype() string { return l.DType }
