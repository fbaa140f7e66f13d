package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// CTCGreedyDecode returns the labels of the best alignment of logits (batch, time, classes): the largest class of each
// step, without blanks, and without repetitions if mergeRepeated is set. Only the first lengths (batch) steps count.
// paths (1, batch, time) is int32 and padded with -1; scores (batch, 1) are minus the sums of the largest logits.
func CTCGreedyDecode(logits, lengths *Tensor, mergeRepeated bool, blank int) (paths, scores *Tensor) {
	logits = single(logits)
	batch, steps := ctcLogits(logits, blank)
	live := Transpose(Squeeze(stepsUpTo(lengths, batch, steps), 2))
	best := Where(live, Argmax(logits, -1), Full(logits, ir.Int32, float64(blank), batch, steps))
	largest := Max(logits, -1)
	scores = Negative(Sum(Where(live, largest, ZerosLike(largest)), 1))
	none := CompareScalar(ir.Eq, best, float64(blank))
	if mergeRepeated && steps != 1 {
		same := Equal(SliceAxis(best, 1, 1, steps), SliceAxis(best, 1, 0, dim.Sub(steps, 1)))
		none = LogicalOr(none, Concatenate(1, Zeros(logits, ir.Bool, batch, 1), same))
	}
	order := Argsort(Cast(none, ir.Int32), 1) // equal elements keep their order
	paths = TakeAlongAxis(Where(none, FullLike(best, -1), best), order, 1)
	return ExpandDims(paths, 0), ExpandDims(scores, 1)
}

func ctcLogits(logits *Tensor, blank int) (batch, steps int) {
	if logits.Rank() != 3 || logits.Dim(1) == 0 {
		Failf(logits.g, "ctc decode: expected logits (batch, time, classes) with at least one step, received %v", logits.Shape())
	}
	checkBlank(logits.g, blank, logits.Dim(2))
	return logits.Dim(0), logits.Dim(1)
}

// beams are the best label sequences of each example so far.
type beams struct {
	paths  *Tensor // (batch, beams, time) int32, padded with -1
	length *Tensor // (batch, beams) int32
	last   *Tensor // (batch, beams) int32, the last label; -1 if there is none
	emit   *Tensor // (batch, beams) log-probability of the alignments that end in the last label
	rest   *Tensor // (batch, beams) log-probability of the alignments that end in a blank
}

// beamNever stands for the logarithm of 0 in the search: no sum of log-probabilities comes near it.
const beamNever = -1e30

// CTCBeamSearchDecode returns the topPaths most probable label sequences of logits (batch, time, classes), of which the
// first lengths (batch) steps count. The search keeps the width best sequences in each step. It returns paths
// (topPaths, batch, time), int32, padded with -1, and their log-probabilities (batch, topPaths). Source: Graves,
// "Supervised Sequence Labelling with Recurrent Neural Networks", 2012, section 7.5.
func CTCBeamSearchDecode(logits, lengths *Tensor, width, topPaths, blank int) (paths, scores *Tensor) {
	logits = single(logits)
	batch, steps := ctcLogits(logits, blank)
	if width < 1 || topPaths < 1 || topPaths > width {
		Failf(logits.g, "ctc decode: needs a beam of at least 1 and from 1 to that many paths, received a beam of %d and %d paths", width, topPaths)
	}
	logs := MoveAxis(LogSoftmax(logits, -1), 1, 0)
	live := stepsUpTo(lengths, batch, steps)
	none := Full(logits, ir.Int32, -1, batch, width)
	// The search begins with the empty sequence. The other beams are empty too, and have probability zero.
	start := Concatenate(1, Zeros(logits, logits.DType(), batch, 1), Full(logits, logits.DType(), beamNever, batch, width-1))
	b := beams{Full(logits, ir.Int32, -1, batch, width, steps), ZerosLike(none), none, FullLike(start, beamNever), start}
	first := Concatenate(0, Ones(logits, ir.Bool, 1, batch, 1), SliceAxis(live, 0, 1, steps)) // the first step always counts, as in Keras
	state, _ := Scan(func(carry, xs []*Tensor) (next, ys []*Tensor) {
		old := beams{carry[0], carry[1], carry[2], carry[3], carry[4]}
		n := old.step(xs[0], blank)
		keep := func(now, before *Tensor) *Tensor {
			if now.Rank() == 3 {
				return Where(ExpandDims(xs[1], -1), now, before)
			}
			return Where(xs[1], now, before)
		}
		return []*Tensor{keep(n.paths, old.paths), keep(n.length, old.length), keep(n.last, old.last), keep(n.emit, old.emit), keep(n.rest, old.rest)}, nil
	}, []*Tensor{b.paths, b.length, b.last, b.emit, b.rest}, []*Tensor{logs, first}, ScanOptions{Length: steps})
	best, order := TopK(Logaddexp(state[3], state[4]), topPaths)
	paths = TakeAlongAxis(state[0], BroadcastTo(ExpandDims(order, 2), batch, topPaths, steps), 1)
	scores = Where(CompareScalar(ir.Gt, best, beamNever/2), best, FullLike(best, math.Inf(-1)))
	return Transpose(paths, 1, 0, 2), scores
}

// step extends all beams by a step with log-probabilities x (batch, classes) and keeps the best.
func (b beams) step(x *Tensor, blank int) beams {
	batch, width, classes := b.last.Dim(0), b.last.Dim(1), x.Dim(1)
	d := x.DType()
	never := func(shape ...int) *Tensor { return Full(x, d, beamNever, shape...) }
	total := Logaddexp(b.emit, b.rest)
	tail := Reshape(b.last, batch, width, 1)
	class := Iota(x, ir.Int32, 2, 1, 1, classes)
	isTail := BroadcastTo(Equal(tail, class), batch, width, classes)

	// A blank keeps the sequence, and so does the last label repeated without a blank in between.
	rest := Add(total, SliceAxis(x, 1, blank, blank+1))
	wide := BroadcastTo(ExpandDims(x, 1), batch, width, classes)
	emit := Add(b.emit, Where(CompareScalar(ir.Ge, b.last, 0), Sum(Where(isTail, wide, ZerosLike(wide)), 2), FullLike(b.emit, beamNever)))

	// Another label extends it, and so does the last label after a blank.
	from := Where(isTail, BroadcastTo(ExpandDims(b.rest, 2), batch, width, classes), BroadcastTo(ExpandDims(total, 2), batch, width, classes))
	longer := Where(CompareScalar(ir.Eq, class, float64(blank)), never(batch, width, classes), Add(from, wide))

	// Beam j may be beam i extended by the last label of j: both count as beam j.
	steps := b.paths.Dim(2)
	at := Iota(x, ir.Int32, 2, 1, 1, steps)
	before := Where(Less(at, Reshape(SubtractScalar(b.length, 1), batch, width, 1)), b.paths, FullLike(b.paths, -1))
	same := All(Equal(ExpandDims(b.paths, 2), ExpandDims(before, 1)), 3) // (batch, i, j)
	same = LogicalAnd(same, ExpandDims(CompareScalar(ir.Gt, b.length, 0), 1))
	gained := TakeAlongAxis(longer, BroadcastTo(ExpandDims(Maximum(b.last, ZerosLike(b.last)), 1), batch, width, width), 2)
	emit = Logaddexp(emit, Max(Where(same, gained, never(batch, width, width)), 1))
	taken := Einsum("bij,bjc->bic", Cast(same, d), Cast(isTail, d))
	longer = Where(CompareScalar(ir.Gt, taken, 0), never(batch, width, classes), longer)

	emit = Concatenate(1, emit, Reshape(longer, batch, dim.Mul(width, classes)))
	rest = Concatenate(1, rest, never(batch, dim.Mul(width, classes)))
	_, order := TopK(Logaddexp(emit, rest), width)
	stays := CompareLength(ir.Lt, order, width)
	moved := SubtractScalar(order, float64(width)) //dim:known the beams are counted
	number := Length(moved, moved.DType(), classes)
	parent := Where(stays, order, FloorDivide(moved, number))
	added := Where(stays, FullLike(order, -1), Mod(moved, number))
	length := TakeAlongAxis(b.length, parent, 1)
	paths := TakeAlongAxis(b.paths, BroadcastTo(ExpandDims(parent, 2), batch, width, steps), 1)
	here := LogicalAnd(Equal(at, ExpandDims(length, 2)), ExpandDims(LogicalNot(stays), 2))
	return beams{
		paths:  Where(here, ExpandDims(added, 2), paths),
		length: Add(length, Cast(LogicalNot(stays), ir.Int32)),
		last:   Where(stays, TakeAlongAxis(b.last, parent, 1), added),
		emit:   TakeAlongAxis(emit, order, 1),
		rest:   TakeAlongAxis(rest, order, 1),
	}
}
