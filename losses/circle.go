package losses

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
)

// Circle compares the embeddings of all examples of the global batch with each other and pulls those of one label
// together:
//
//	softplus(logsumexp_pos(-gamma·max(margin + d, 0)·(margin - d)) + logsumexp_neg(gamma·max(1 + margin - d, 0)·(1 - margin - d)))
//
// where d = max(1 - p·p', 0) is the cosine distance of an example to an example with the same (pos) or with another
// (neg) label. Embeddings should have length 1. Examples whose loss is 0 do not count in a mean. Name: "circle".
// Behaviour of keras.losses.Circle. Source: Sun et al., "Circle Loss: A Unified Perspective of Pair Similarity
// Optimization", CVPR 2020, equation 6.
//
// Shapes: predictions (batch, features); labels, integers, (batch) or (batch, 1); result (batch).
type Circle struct {
	common
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
