package ops

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// ctcNever stands for the logarithm of 0 in [CTCLoss]. It is far below that of any probability, and finite so that sums
// and gradients are finite too.
const ctcNever = -1e5

// CTCLoss returns -ln P(labels | logits), the connectionist temporal classification loss of each example (batch), for
// integer labels (batch, N) and logits (batch, time, classes). Only the first labelLengths (batch) and logitLengths
// (batch) of them count; nil is all. blank is the class that stands for no label.
//
// With y_t the log-softmax of step t, the forward variables are log-probabilities after the first n labels have been
// emitted: φ_n of standing at a blank, e_n of standing at label n. In each step
//
//	φ'_n = logaddexp(φ_n, e_n)                        standing at label n is as good as at the blank after it,
//	                                                  unless label n+1 equals label n
//	e_n  = logaddexp(φ'_(n-1), e_n) + y_t[label n]
//	φ_n  = φ'_n + y_t[blank], joined by e_n + y_t[blank] where label n+1 equals label n
//
// and the result is -logaddexp(φ_n, e_n) for n = the number of labels. Source: Graves et al., "Connectionist Temporal
// Classification", ICML 2006, equations 6 to 8, in the two-state form that Keras uses.
func CTCLoss(labels, logits, labelLengths, logitLengths *Tensor, blank int) *Tensor {
	g := graphOf(labels, logits)
	logits = single(logits)
	if labels.Rank() != 2 || logits.Rank() != 3 || labels.Dim(0) != logits.Dim(0) {
		Failf(g, "ctc: labels have shape %v and logits %v; expected integer labels (batch, length) and logits (batch, time, classes)", labels.Shape(), logits.Shape())
	}
	checkBlank(g, blank, logits.Dim(2))
	labels = Cast(labels, ir.Int32)
	batch, n, steps := labels.Dim(0), labels.Dim(1), logits.Dim(1)
	d := logits.DType()
	logs := MoveAxis(LogSoftmax(logits, -1), 1, 0) // (time, batch, classes)
	rest := SliceAxis(logs, 2, blank, blank+1)
	live := func() *Tensor { return stepsUpTo(logitLengths, batch, steps) } // (time, batch, 1)
	if n == 0 {                                                             // only blanks
		if logitLengths != nil {
			rest = Where(live(), rest, ZerosLike(rest))
		}
		return Negative(Reshape(Sum(rest, 0), batch))
	}
	repeat := Cast(Equal(SliceAxis(labels, 1, 0, dim.Sub(n, 1)), SliceAxis(labels, 1, 1, n)), d)
	repeat = Pad(repeat, []int{0, 0}, []int{0, 1}, 0) // 1 where the next label is the same
	never := MultiplyScalar(repeat, ctcNever)
	neverElse := MultiplyScalar(Subtract(OnesLike(repeat), repeat), ctcNever)

	xs := []*Tensor{Einsum("tbk,bnk->tbn", logs, OneHot(labels, logs.Dim(2), d)), rest}
	if logitLengths != nil {
		xs = append(xs, live())
	}
	start := Concatenate(1, Zeros(logs, d, batch, 1), Full(logs, d, ctcNever, batch, n))
	state, _ := Scan(func(carry, xs []*Tensor) (next, ys []*Tensor) {
		phi, e := carry[0], carry[1]
		phi = joinLabels(phi, Add(e, never))
		emitted := Add(Logaddexp(SliceAxis(phi, 1, 0, n), e), xs[0])
		rested := joinLabels(Add(phi, xs[1]), Add(Add(e, xs[1]), neverElse))
		if len(xs) == 3 {
			rested, emitted = Where(xs[2], rested, carry[0]), Where(xs[2], emitted, carry[1])
		}
		return []*Tensor{rested, emitted}, nil
	}, []*Tensor{start, Full(logs, d, ctcNever, batch, n)}, xs, ScanOptions{Length: steps})

	final := joinLabels(state[0], state[1])
	if labelLengths == nil {
		labelLengths = AddLength(Zeros(logs, ir.Int32, batch), n)
	}
	return Negative(Sum(Multiply(final, OneHot(labelLengths, dim.Add(n, 1), d)), 1))
}

func checkBlank(g *Graph, blank, classes int) {
	if blank < 0 || dim.Less(classes, dim.Add(blank, 1)) {
		Failf(g, "ctc: the blank is class %d; expected one of the %s classes of the logits, numbered from 0", blank, dim.String(classes))
	}
}

// stepsUpTo returns whether each step counts, (time, batch, 1).
func stepsUpTo(lengths *Tensor, batch, steps int) *Tensor {
	if !lengths.Shape().Equal(ir.Shape{batch}) {
		Failf(lengths.g, "ctc: the lengths must have shape [%s], one for each example, received %v", dim.String(batch), lengths.Shape())
	}
	return Less(Iota(lengths, ir.Int32, 0, steps, batch, 1), Reshape(Cast(lengths, ir.Int32), 1, batch, 1))
}

// joinLabels adds, in log space, the paths from label n to the blank after it.
func joinLabels(phi, added *Tensor) *Tensor {
	n := phi.Dim(1)
	return Concatenate(1, SliceAxis(phi, 1, 0, 1), Logaddexp(SliceAxis(phi, 1, 1, n), added))
}
