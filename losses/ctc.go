package losses

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
)

// CTC is the connectionist temporal classification loss: minus the log-probability that a sequence of logits spells the
// labels, over all alignments. Class 0 is the blank; labels end at the first 0; all time steps count. Name: "ctc".
// Behaviour of keras.losses.CTC. Source: Graves et al., "Connectionist Temporal Classification", ICML 2006; the
// recursion is in package objectives.
//
// Shapes: predictions (batch, time, classes), always logits; labels, integers, (batch, length); result (batch).
type CTC struct {
	common
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
