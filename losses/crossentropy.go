package losses

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// BinaryCrossentropy is the mean along an axis of -[t·ln p + (1-t)·ln(1-p)], with labels t and probabilities p in [0,
// 1]; p is first clipped to [1e-7, 1-1e-7], so the gradient is 0 outside that range. With FromLogits, p is sigmoid(x)
// of the predictions x, and the loss is computed without overflow as t·softplus(-x) + (1-t)·softplus(x). Names:
// "binary_crossentropy", "bce", "BCE". Behaviour of keras.losses.BinaryCrossentropy.
//
// Shapes: labels and predictions (batch, ...); the result lacks the axis.
type BinaryCrossentropy struct {
	common
	FromLogits     bool      `keras:"from_logits"`          // predictions are logits, not probabilities
	LabelSmoothing float64   `keras:"label_smoothing,null"` // s in [0, 1]: labels become t·(1-s) + s/2
	Axis           *int      `keras:"axis,default=-1"`      // nil is -1
	Reduction      Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name           string    `keras:"name,default=binary_crossentropy"`
	DType          string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *BinaryCrossentropy) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	checkSmoothing(yPred, l.LabelSmoothing)
	return objectives.BinaryCrossentropy(batchOf(yPred), yTrue, yPred, l.FromLogits, l.LabelSmoothing, or(l.Axis, -1))
}

// ReductionKind implements [Loss].
func (l *BinaryCrossentropy) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *BinaryCrossentropy) LossName() string { return named(l.Name, "binary_crossentropy") }

func (l *BinaryCrossentropy) dtype() string { return l.DType }

func (l *BinaryCrossentropy) reducesBatch(yPred ir.Shape) bool { return isBatch(or(l.Axis, -1), yPred) }

// checkSmoothing fails if smoothed labels would not be a distribution.
func checkSmoothing(yPred *ops.Tensor, s float64) {
	if !(s >= 0 && s <= 1) {
		ops.Failf(yPred.Graph(), "LabelSmoothing must be in [0, 1], received %v", s)
	}
}

// CategoricalCrossentropy is -Σ t·ln p along the axis of the C classes, with labels t that are distributions (one-hot,
// for example) and probabilities p, which are divided by their sum and clipped to [1e-7, 1-1e-7] first. With
// FromLogits, p is the softmax of the predictions. Name: "categorical_crossentropy". Behaviour of
// keras.losses.CategoricalCrossentropy with the JAX backend (the TensorFlow backend takes the logits from in front of a
// softmax layer).
//
// Shapes: labels and predictions (batch, ..., classes); result (batch, ...).
type CategoricalCrossentropy struct {
	common
	FromLogits     bool      `keras:"from_logits"`          // predictions are logits, not probabilities
	LabelSmoothing float64   `keras:"label_smoothing,null"` // s in [0, 1]: labels become t·(1-s) + s/C
	Axis           *int      `keras:"axis,default=-1"`      // of the classes; nil is -1
	Reduction      Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name           string    `keras:"name,default=categorical_crossentropy"`
	DType          string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *CategoricalCrossentropy) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	checkSmoothing(yPred, l.LabelSmoothing)
	return objectives.CategoricalCrossentropy(yTrue, yPred, l.FromLogits, l.LabelSmoothing, or(l.Axis, -1))
}

// ReductionKind implements [Loss].
func (l *CategoricalCrossentropy) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *CategoricalCrossentropy) LossName() string {
	return named(l.Name, "categorical_crossentropy")
}

func (l *CategoricalCrossentropy) dtype() string { return l.DType }

// SparseCategoricalCrossentropy is -ln p[t] with integer class numbers t in place of one-hot labels; p is treated as in
// [CategoricalCrossentropy]. A class number outside [0, classes) is an error when the program runs (Keras treats it as
// a label of no class). If t is IgnoreClass, the loss is 0 and the position does not count in a mean. Name:
// "sparse_categorical_crossentropy". Behaviour of keras.losses.SparseCategoricalCrossentropy.
//
// Shapes: predictions (batch, ..., classes); labels (batch, ...) or (batch, ..., 1); result (batch, ...).
type SparseCategoricalCrossentropy struct {
	common
	FromLogits  bool      `keras:"from_logits"`               // predictions are logits, not probabilities
	IgnoreClass *int      `keras:"ignore_class"`              // nil: none
	Axis        *int      `keras:"axis,omitempty,default=-1"` // of the classes in the predictions; nil is -1
	Reduction   Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name        string    `keras:"name,default=sparse_categorical_crossentropy"`
	DType       string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *SparseCategoricalCrossentropy) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.SparseCategoricalCrossentropy(yTrue, yPred, l.FromLogits, l.IgnoreClass, or(l.Axis, -1))
}

// ReductionKind implements [Loss].
func (l *SparseCategoricalCrossentropy) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *SparseCategoricalCrossentropy) LossName() string {
	return named(l.Name, "sparse_categorical_crossentropy")
}

func (l *SparseCategoricalCrossentropy) dtype() string { return l.DType }

// CategoricalGeneralizedCrossEntropy is (1 - p[t]^q)/q with integer class numbers t and probabilities p: it is close to
// the cross-entropy for q near 0, which learns faster, and to the absolute error for q near 1, which is more robust
// against wrong labels. Name: "categorical_generalized_cross_entropy". Behaviour of
// keras.losses.CategoricalGeneralizedCrossEntropy. Source: Zhang, Sabuncu, "Generalized Cross Entropy Loss for Training
// Deep Neural Networks with Noisy Labels", NeurIPS 2018, equation 6.
//
// Shapes: predictions (batch, ..., classes); labels (batch, ...) or (batch, ..., 1); result (batch, ...).
type CategoricalGeneralizedCrossEntropy struct {
	common
	Q         float64   `keras:"q,default=0.5"` // in (0, 1); 0 is 0.5
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=categorical_generalized_cross_entropy"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *CategoricalGeneralizedCrossEntropy) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	q := l.Q
	if q == 0 {
		q = 0.5
	}
	if !(q > 0 && q < 1) {
		ops.Failf(yPred.Graph(), "CategoricalGeneralizedCrossEntropy.Q must be between 0 and 1, received %v", q)
	}
	return objectives.CategoricalGeneralizedCrossEntropy(yTrue, yPred, q)
}

// ReductionKind implements [Loss].
func (l *CategoricalGeneralizedCrossEntropy) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *CategoricalGeneralizedCrossEntropy) LossName() string {
	return named(l.Name, "categorical_generalized_cross_entropy")
}

func (l *CategoricalGeneralizedCrossEntropy) dtype() string { return l.DType }
