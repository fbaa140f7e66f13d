package objectives

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Epsilon is Keras's fuzz factor, backend.epsilon().
const Epsilon = 1e-7

// Match brings labels and predictions whose ranks differ by one to the same rank, as Keras does: where the one with
// more axes ends in an axis of length 1, that axis is taken off, or, if the other one is a vector, added to it.
func Match(a, b *ops.Tensor) (*ops.Tensor, *ops.Tensor) {
	switch {
	case a.Rank() == b.Rank()+1 && a.Dim(-1) == 1:
		if b.Rank() == 1 {
			return a, ops.ExpandDims(b, -1).WithMask(b.Mask())
		}
		return ops.Squeeze(a, -1), b
	case b.Rank() == a.Rank()+1 && b.Dim(-1) == 1:
		if a.Rank() == 1 {
			return ops.ExpandDims(a, -1).WithMask(a.Mask()), b
		}
		return a, ops.Squeeze(b, -1)
	}
	return a, b
}

// floats returns x as a float tensor.
func floats(x *ops.Tensor) *ops.Tensor {
	if x.DType().IsFloat() {
		return x
	}
	return ops.Cast(x, ir.Float32)
}

// pair returns labels and predictions of one float type and shape, of rank 2 at least: (batch) becomes (batch, 1), so
// that the batch is never the axis that the formulas reduce by default.
func pair(yTrue, yPred *ops.Tensor) (t, p *ops.Tensor) { return pairOf(false, yTrue, yPred) }

// pairOf is pair for functions of one-hot labels that have a sparse variant, or for others.
func pairOf(ofClasses bool, yTrue, yPred *ops.Tensor) (t, p *ops.Tensor) {
	yTrue, yPred = Match(yTrue, yPred)
	p = floats(yPred)
	t = ops.Cast(yTrue, p.DType())
	if !t.Shape().Equal(p.Shape()) {
		hint := "they must be equal; check the last layer's units and the labels' encoding"
		numbers := t.Rank() == p.Rank()-1 || t.Rank() == p.Rank() && t.Rank() > 0 && t.Dim(-1) == 1
		switch {
		case numbers && ofClasses:
			hint += " (for integer class numbers use the sparse variant)"
		case numbers && !yTrue.DType().IsFloat():
			hint += " (for integer class numbers use SparseCategoricalCrossentropy or SparseCategoricalAccuracy, or make the labels one-hot)"
		}
		ops.Failf(p.Graph(), "labels have shape %v and predictions %v; %s", yTrue.Shape(), yPred.Shape(), hint)
	}
	switch p.Rank() {
	case 0:
		ops.Failf(p.Graph(), "labels and predictions are scalars; expected (batch, ...)")
	case 1:
		t, p = ops.ExpandDims(t, 1), ops.ExpandDims(p, 1)
	}
	return t, p
}

// meanLast is the mean over the last axis.
func meanLast(x *ops.Tensor) *ops.Tensor { return ops.Mean(x, -1) }

// keep applies a reduction over one axis and keeps it with length 1.
func keep(reduce func(*ops.Tensor, ...int) *ops.Tensor, x *ops.Tensor, axis int) *ops.Tensor {
	return ops.KeepDims(reduce(x, axis), x, axis)
}

// smooth moves labels towards the uniform distribution over n classes: t·(1-s) + s/n.
func smooth(t *ops.Tensor, smoothing float64, n int) *ops.Tensor {
	if smoothing == 0 {
		return t
	}
	ops.Fixed(t, "label smoothing", n)
	return ops.AddScalar(ops.MultiplyScalar(t, 1-smoothing), smoothing/float64(n)) //dim:known
}

// probabilities limits p to [ε, 1-ε], where logarithms are finite.
func probabilities(p *ops.Tensor) *ops.Tensor { return ops.Clip(p, Epsilon, 1-Epsilon) }

// Batch is one replica's view of the global batch; *distribute.Replica is one.
type Batch interface {
	// NumReplicasInSync is the number of replicas that share the batch.
	NumReplicasInSync() int
	// LocalBatchSize and GlobalBatchSize are the numbers of examples here and on all replicas.
	LocalBatchSize() int
	GlobalBatchSize() int
	// ID is the number of the replica, an int32 scalar.
	ID() *ops.Tensor
	// AllReduce combines tensors with those of the other replicas.
	AllReduce(kind ir.Kind, xs ...*ops.Tensor) []*ops.Tensor
}

// Rows says which rows of the local batch are examples, a bool (batch); nil where all are. The others fill a batch up
// and must not count.
func Rows(b Batch) *ops.Tensor {
	if f, ok := b.(interface{ Rows() *ops.Tensor }); ok {
		return f.Rows()
	}
	return nil
}

// OnlyRows sets what belongs to other rows than examples to 0; x is (batch, ...). A number is left alone.
func OnlyRows(b Batch, x *ops.Tensor) *ops.Tensor {
	rows := Rows(b)
	if rows == nil || x.Rank() == 0 || x.Dim(0) != rows.Dim(0) {
		return x
	}
	for rows.Rank() < x.Rank() {
		rows = ops.ExpandDims(rows, -1)
	}
	return ops.Where(ops.BroadcastTo(rows, x.Shape()...), x, ops.ZerosLike(x))
}

// NoFilling fails where the local batch has rows that are no examples, for what cannot leave them out.
func NoFilling(b Batch, t ops.Traced, what string) {
	if Rows(b) != nil {
		ops.Failf(t.Graph(), "%s needs batches that divide evenly: the replicas run one program, and the %d examples of this batch were filled up to %d on each; use data's DropRemainder", what, b.GlobalBatchSize(), b.LocalBatchSize())
	}
}

// AlignedRows is OnlyRows for what must have the examples on its first axis: another length there cannot be padded.
func AlignedRows(b Batch, x *ops.Tensor, what string) *ops.Tensor {
	if x.Rank() == 0 || x.Dim(0) != b.LocalBatchSize() {
		NoFilling(b, x, what)
	}
	return OnlyRows(b, x)
}

// Single is the batch of a program that runs on one replica.
type Single struct {
	ops.Traced
	Examples int
}

// NumReplicasInSync is 1.
func (s Single) NumReplicasInSync() int { return 1 }

// LocalBatchSize is the number of examples.
func (s Single) LocalBatchSize() int { return s.Examples }

// GlobalBatchSize is the number of examples.
func (s Single) GlobalBatchSize() int { return s.Examples }

// ID is 0.
func (s Single) ID() *ops.Tensor { return ops.Zeros(s, ir.Int32) }

// AllReduce returns xs.
func (s Single) AllReduce(_ ir.Kind, xs ...*ops.Tensor) []*ops.Tensor { return xs }

// Join returns the parts of x (batch, ...) of all replicas joined along axis 0, in replica order, whatever their
// lengths. Every replica gets the whole. Gradients flow back to the parts.
//
// Each replica writes its part at its place among zeros, and the sum of all is the whole.
func Join(b Batch, x *ops.Tensor) *ops.Tensor {
	n := b.NumReplicasInSync()
	if n == 1 {
		return x
	}
	if x.Rank() == 0 || x.Dim(0) != b.LocalBatchSize() {
		ops.Failf(x.Graph(), "cannot join a tensor of shape %v over the replicas; expected (batch, ...) with the %d examples of this replica", x.Shape(), b.LocalBatchSize())
	}
	NoFilling(b, x, "joining the parts of a batch")
	kind := x.DType()
	if kind == ir.Bool {
		x = ops.Cast(x, ir.Int32)
	}
	start := firstOf(b, x)
	shape := x.Shape().Clone()
	shape[0] = b.GlobalBatchSize()
	whole := ops.Zeros(x, x.DType(), shape...)
	starts := []*ops.Tensor{start}
	for range shape[1:] {
		starts = append(starts, ops.Zeros(x, ir.Int32))
	}
	whole = ops.SliceUpdate(whole, starts, x)
	return ops.Cast(b.AllReduce(ir.Sum, whole)[0], kind)
}

// axesOf returns axes counted from the front for a tensor of the given rank.
func axesOf(g *ops.Graph, axes []int, rank int, shape fmt.Stringer) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = a
		if a < 0 {
			out[i] += rank
		}
		if out[i] < 0 || out[i] >= rank {
			ops.Failf(g, "axis %d is outside shape %v; expected %d to %d", a, shape, -rank, rank-1)
		}
	}
	return out
}
