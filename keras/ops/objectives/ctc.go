package objectives

import (
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// ctcNever stands for the logarithm of 0 in [CTC]: far below any probability, and finite so that sums and gradients are too.
const ctcNever = -1e5

// CTC returns -ln P(labels | logits), the connectionist temporal classification loss of each example, for integer labels (batch, N)
// and logits (batch, time, classes). Class 0 is the blank; labels end at the first 0, and all time steps count.
//
// With y_t the log-softmax of step t, the forward variables are φ_n, the log-probability of having emitted the first n labels and
// standing at a blank, and e_n, of standing at label n. In each step
//
//	φ'_n = logaddexp(φ_n, e_n)                        standing at label n is as good as at the blank after it,
//	                                                  unless label n+1 equals label n
//	e_n  = logaddexp(φ'_(n-1), e_n) + y_t[label n]
//	φ_n  = φ'_n + y_t[0], joined by e_n + y_t[0] where label n+1 equals label n
//
// and the result is -logaddexp(φ_n, e_n) for n = the number of labels. Source: Graves et al., "Connectionist Temporal
// Classification", ICML 2006, equations 6 to 8, in the two-state form that Keras uses.
func CTC(yTrue, yPred *ops.Tensor) *ops.Tensor {
	logits := floats(yPred)
	if yTrue.Rank() != 2 || logits.Rank() != 3 || yTrue.Dim(0) != logits.Dim(0) {
		ops.Failf(logits.Graph(), "labels have shape %v and predictions %v; expected integer labels (batch, length) and logits (batch, time, classes)", yTrue.Shape(), yPred.Shape())
	}
	labels := ops.Cast(yTrue, ir.Int32)
	batch, n, steps := labels.Dim(0), labels.Dim(1), logits.Dim(1)
	logs := ops.MoveAxis(ops.LogSoftmax(logits, -1), 1, 0) // (time, batch, classes)
	d := logs.DType()
	blank := ops.SliceAxis(logs, 2, 0, 1)
	emit := emissions(logs, labels)
	if n == 0 { // only blanks
		return ops.Negative(ops.Reshape(ops.Sum(blank, 0), batch))
	}
	repeat := ops.Cast(ops.Equal(ops.SliceAxis(labels, 1, 0, dim.Sub(n, 1)), ops.SliceAxis(labels, 1, 1, n)), d)
	repeat = ops.Pad(repeat, []int{0, 0}, []int{0, 1}, 0) // 1 where the next label is the same
	never := ops.MultiplyScalar(repeat, ctcNever)
	neverElse := ops.MultiplyScalar(ops.Subtract(ops.OnesLike(repeat), repeat), ctcNever)

	start := ops.Concatenate(1, ops.Zeros(logs, d, batch, 1), ops.Full(logs, d, ctcNever, batch, n))
	state, _ := ops.Scan(func(carry, xs []*ops.Tensor) (next, ys []*ops.Tensor) {
		phi, e := carry[0], carry[1]
		phi = joinLabels(phi, ops.Add(e, never))
		emitted := ops.Add(ops.Logaddexp(ops.SliceAxis(phi, 1, 0, n), e), xs[0])
		rested := joinLabels(ops.Add(phi, xs[1]), ops.Add(ops.Add(e, xs[1]), neverElse))
		return []*ops.Tensor{rested, emitted}, nil
	}, []*ops.Tensor{start, ops.Full(logs, d, ctcNever, batch, n)}, []*ops.Tensor{emit, blank}, ops.ScanOptions{Length: steps})

	final := joinLabels(state[0], state[1])
	length := ops.CountNonzero(labels, 1)
	return ops.Negative(ops.Sum(ops.Multiply(final, ops.OneHot(length, dim.Add(n, 1), d)), 1))
}

// emissions picks from logs (time, batch, classes) the log-probabilities of the labels (batch, N): (time, batch, N). A label that
// is no class has none.
func emissions(logs, labels *ops.Tensor) *ops.Tensor {
	hot := ops.OneHot(labels, logs.Dim(2), logs.DType())
	return ops.Einsum("tbk,bnk->tbn", logs, hot)
}

// joinLabels adds, in log space, what comes from label n to the blank after it.
func joinLabels(phi, added *ops.Tensor) *ops.Tensor {
	n := phi.Dim(1)
	return ops.Concatenate(1, ops.SliceAxis(phi, 1, 0, 1), ops.Logaddexp(ops.SliceAxis(phi, 1, 1, n), added))
}
