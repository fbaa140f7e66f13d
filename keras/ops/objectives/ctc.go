package objectives

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// CTC returns the connectionist temporal classification loss of each example, for integer labels (batch, N) and logits
// (batch, time, classes): [ops.CTCLoss] where class 0 is the blank, the labels are as many as are not 0, and all time
// steps count.
func CTC(yTrue, yPred *ops.Tensor) *ops.Tensor {
	labels := ops.Cast(yTrue, ir.Int32)
	if labels.Rank() != 2 {
		ops.Failf(yPred.Graph(), "labels have shape %v and predictions %v; expected integer labels (batch, length) and logits (batch, time, classes)", yTrue.Shape(), yPred.Shape())
	}
	return ops.CTCLoss(labels, floats(yPred), ops.CountNonzero(labels, 1), nil, 0)
}
