package losses

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// BinaryCrossentropy is the mean along an axis of -[t·ln p + (1-t)·ln(1-p)], with labels t and probabilities p in [0, 1]; p is limited
// to [1e-7, 1-1e-7] first, which also cuts the gradient outside. With FromLogits, p is sigmoid(x) of the predictions x, and the loss is
// computed without overflow as t·softplus(-x) + (1-t)·softplus(x). Names: "binary_crossentropy", "bce", "BCE". Behaviour of
// keras.losses.BinaryCrossentropy.
//
// Shapes: labels and predictions (batch, ...); the result lacks the axis.
type BinaryCrossentropy struct {
	keras
	FromLogits     bool      `keras:"from_logits"`     // predictions are logits, not probabilities
	LabelSmoothing float64   `keras:"label_smoothing"` // s in [0, 1]: labels become t·(1-s) + s/2
	Axis           *int      `keras:"axis,default=-1"` // nil is -1
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

// checkSmoothing fails where smoothed labels would not be a distribution.
func checkSmoothing(yPred *ops.Tensor, s float64) {
	if !(s >= 0 && s <= 1) {
		ops.Failf(yPred.Graph(), "LabelSmoothing must be in [0, 1], received %v", s)
	}
}

// BinaryFocalCrossentropy is the binary cross-entropy with each value multiplied by (1-q)^gamma, where q = t·p + (1-t)·(1-p) is the
// probability given to the label, so that examples that are right already count less. With ApplyClassBalancing it is also multiplied by
// t·alpha + (1-t)·(1-alpha). Logits go through a sigmoid first. Name: "binary_focal_crossentropy". Behaviour of
// keras.losses.BinaryFocalCrossentropy. Source: Lin et al., "Focal Loss for Dense Object Detection", ICCV 2017, equations 4 and 5.
//
// Shapes: labels and predictions (batch, ...); the result lacks the axis.
type BinaryFocalCrossentropy struct {
	keras
	ApplyClassBalancing bool      `keras:"apply_class_balancing"`
	Alpha               *float64  `keras:"alpha,default=0.25"` // weight of label 1; nil is 0.25
	Gamma               *float64  `keras:"gamma,default=2"`    // nil is 2
	FromLogits          bool      `keras:"from_logits"`
	LabelSmoothing      float64   `keras:"label_smoothing"` // s in [0, 1]: labels become t·(1-s) + s/2
	Axis                *int      `keras:"axis,default=-1"` // nil is -1
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

// CategoricalCrossentropy is -Σ t·ln p along the axis of the C classes, with labels t that are distributions (one-hot, for example) and
// probabilities p, which are divided by their sum and limited to [1e-7, 1-1e-7] first. With FromLogits, p is the softmax of the
// predictions. Name: "categorical_crossentropy". Behaviour of keras.losses.CategoricalCrossentropy (with the JAX backend; the TensorFlow
// backend looks behind a softmax layer for its logits).
//
// Shapes: labels and predictions (batch, ..., classes); result (batch, ...).
type CategoricalCrossentropy struct {
	keras
	FromLogits     bool      `keras:"from_logits"`     // predictions are logits, not probabilities
	LabelSmoothing float64   `keras:"label_smoothing"` // s in [0, 1]: labels become t·(1-s) + s/C
	Axis           *int      `keras:"axis,default=-1"` // of the classes; nil is -1
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

// CategoricalFocalCrossentropy is Σ alpha·(1-p)^gamma·(-t·ln p) along the axis of the C classes, with p divided by its sum and limited to
// [1e-7, 1-1e-7]. Logits go through a softmax first. Name: "categorical_focal_crossentropy". Behaviour of
// keras.losses.CategoricalFocalCrossentropy. Source: Lin et al., "Focal Loss for Dense Object Detection", ICCV 2017.
//
// Shapes: labels and predictions (batch, ..., classes); result (batch, ...).
type CategoricalFocalCrossentropy struct {
	keras
	Alpha          *float64  `keras:"alpha,default=0.25"` // factor of all classes; nil is 0.25
	Gamma          *float64  `keras:"gamma,default=2"`    // nil is 2
	FromLogits     bool      `keras:"from_logits"`
	LabelSmoothing float64   `keras:"label_smoothing"` // s in [0, 1]: labels become t·(1-s) + s/C
	Axis           *int      `keras:"axis,default=-1"` // of the classes; nil is -1
	Reduction      Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name           string    `keras:"name,default=categorical_focal_crossentropy"`
	DType          string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *CategoricalFocalCrossentropy) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	checkSmoothing(yPred, l.LabelSmoothing)
	return objectives.CategoricalFocalCrossentropy(yTrue, yPred, or(l.Alpha, 0.25), or(l.Gamma, 2), l.FromLogits, l.LabelSmoothing, or(l.Axis, -1))
}

// ReductionKind implements [Loss].
func (l *CategoricalFocalCrossentropy) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *CategoricalFocalCrossentropy) LossName() string {
	return named(l.Name, "categorical_focal_crossentropy")
}

func (l *CategoricalFocalCrossentropy) dtype() string { return l.DType }

// SparseCategoricalCrossentropy is -ln p[t] with integer class numbers t in place of one-hot labels; p is treated as in
// [CategoricalCrossentropy]. A class number outside [0, classes) is an error when the program runs (Keras takes it for a label of no
// class at all). Where t is IgnoreClass, the loss is 0 and the place does not count in a mean. Name:
// "sparse_categorical_crossentropy". Behaviour of keras.losses.SparseCategoricalCrossentropy.
//
// Shapes: predictions (batch, ..., classes); labels (batch, ...) or (batch, ..., 1); result (batch, ...).
type SparseCategoricalCrossentropy struct {
	keras
	FromLogits  bool      `keras:"from_logits"`    // predictions are logits, not probabilities
	IgnoreClass *int      `keras:"ignore_class"`   // nil: none
	Axis        *int      `keras:"axis,omitempty"` // of the classes in the predictions; nil is -1
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

// CategoricalGeneralizedCrossEntropy is (1 - p[t]^q)/q with integer class numbers t and probabilities p: the cross-entropy for q near 0,
// the absolute error for q near 1, between which q trades speed for robustness against wrong labels. Name:
// "categorical_generalized_cross_entropy". Behaviour of keras.losses.CategoricalGeneralizedCrossEntropy. Source: Zhang, Sabuncu,
// "Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy Labels", NeurIPS 2018, equation 6.
//
// Shapes: predictions (batch, ..., classes); labels (batch, ...) or (batch, ..., 1); result (batch, ...).
type CategoricalGeneralizedCrossEntropy struct {
	keras
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

// KLDivergence is Σ t·ln(t/p) over the last axis, with both limited to [1e-7, 1]: what it costs to describe t by p. Names:
// "kl_divergence", "kld", "KLD". Behaviour of keras.losses.KLDivergence. Source: Kullback, Leibler, "On Information and Sufficiency", 1951.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type KLDivergence struct {
	keras
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=kl_divergence"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *KLDivergence) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.KLDivergence(yTrue, yPred)
}

// ReductionKind implements [Loss].
func (l *KLDivergence) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *KLDivergence) LossName() string { return named(l.Name, "kl_divergence") }

func (l *KLDivergence) dtype() string { return l.DType }

// Poisson is the mean over the last axis of p - t·ln(p + 1e-7): the negative log-likelihood of counts t for rates p, without the part
// that does not depend on p. Name: "poisson". Behaviour of keras.losses.Poisson.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type Poisson struct {
	keras
	Reduction Reduction `keras:"reduction,default=sum_over_batch_size"`
	Name      string    `keras:"name,default=poisson"`
	DType     string    `keras:"dtype,omitempty"`
}

// PerExample implements [Loss].
func (l *Poisson) PerExample(yTrue, yPred *ops.Tensor) *ops.Tensor {
	return objectives.Poisson(yTrue, yPred)
}

// ReductionKind implements [Loss].
func (l *Poisson) ReductionKind() Reduction { return l.Reduction }

// LossName implements [Loss].
func (l *Poisson) LossName() string { return named(l.Name, "poisson") }

func (l *Poisson) dtype() string { return l.DType }
