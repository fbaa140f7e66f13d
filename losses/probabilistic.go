package losses

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
)

// KLDivergence is Σ t·ln(t/p) over the last axis, with both clipped to [1e-7, 1]: the cost of describing t by p. Names:
// "kl_divergence", "kld", "KLD". Behaviour of keras.losses.KLDivergence. Source: Kullback, Leibler, "On Information and
// Sufficiency", 1951.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type KLDivergence struct {
	common
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

// Poisson is the mean over the last axis of p - t·ln(p + 1e-7): the negative log-likelihood of counts t for rates p,
// without the part that does not depend on p. Name: "poisson". Behaviour of keras.losses.Poisson.
//
// Shapes: labels and predictions (batch, ..., d); result (batch, ...).
type Poisson struct {
	common
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
