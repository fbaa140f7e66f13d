package exec

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// IndexedSlices are rows of a larger tensor: row i of Values belongs to row Indices[i] of a tensor of shape DenseShape
// whose other rows are zero. Rows with the same index add up. The gradient of an embedding has this form.
type IndexedSlices struct {
	Indices    *ops.Tensor // (rows), integers
	Values     *ops.Tensor // (rows, ...)
	DenseShape []int
}

// Dense returns the tensor that the slices stand for.
func (s IndexedSlices) Dense() *ops.Tensor {
	return ops.ScatterAdd(ops.Zeros(s.Values, s.Values.DType(), s.DenseShape...), s.Indices, s.Values, 0)
}

func (s IndexedSlices) check(r *Replica) {
	if s.Indices == nil || s.Values == nil || s.Indices.Rank() != 1 || s.Values.Rank() == 0 || s.Values.Dim(0) != s.Indices.Dim(0) ||
		len(s.DenseShape) != s.Values.Rank() || !s.Values.Shape()[1:].Equal(ir.Shape(s.DenseShape)[1:]) {
		ops.Failf(r.graph, "indexed slices need indices (rows), values (rows, ...) and the shape of the whole; received %s", s.text())
	}
}

func (s IndexedSlices) text() string {
	if s.Indices == nil || s.Values == nil {
		return "nil"
	}
	return fmt.Sprintf("indices %v, values %v, shape %v", s.Indices.Shape(), s.Values.Shape(), s.DenseShape)
}

// AllReduceSlices combines slices over the replicas: their rows are joined in replica order, and divided by the number
// of replicas for Mean. The result is sparse; indices may repeat.
func (r *Replica) AllReduceSlices(op ReduceOp, s IndexedSlices) IndexedSlices {
	r.inReplica("AllReduceSlices")
	s.check(r)
	if r.reduceKind(op) == ir.Mean {
		s.Values = ops.DivideScalar(s.Values, float64(r.replicas))
	}
	return r.joined(s)
}

// joined returns the rows of all replicas.
func (r *Replica) joined(s IndexedSlices) IndexedSlices {
	if r.replicas == 1 {
		return s
	}
	return IndexedSlices{r.allGather(s.Indices, 0), r.allGather(s.Values, 0), s.DenseShape}
}

// ScatterAdd adds slices to the variable. If writes are combined over the replicas (see [Replica.Assign]), the slices
// of all replicas are applied, one after the other; with Mean they are divided by the number of replicas. Variables
// that are synchronized on read refuse all scatter updates.
func (r *Replica) ScatterAdd(v *Variable, s IndexedSlices) {
	s = r.slicesFor("ScatterAdd", v, s, true)
	r.move(v, ops.ScatterAdd(r.Read(v), s.Indices, s.Values, 0))
}

// ScatterSub subtracts slices; see [Replica.ScatterAdd].
func (r *Replica) ScatterSub(v *Variable, s IndexedSlices) {
	s = r.slicesFor("ScatterSub", v, s, true)
	r.move(v, ops.ScatterAdd(r.Read(v), s.Indices, ops.Negative(s.Values), 0))
}

// ScatterMul multiplies rows by slices; see [Replica.ScatterAdd].
func (r *Replica) ScatterMul(v *Variable, s IndexedSlices) {
	s = r.slicesFor("ScatterMul", v, s, true)
	r.set(v, ops.Multiply(r.Read(v), ops.SegmentProd(s.Values, s.Indices, v.spec.Shape[0])))
}

// ScatterDiv divides rows by slices; see [Replica.ScatterAdd].
func (r *Replica) ScatterDiv(v *Variable, s IndexedSlices) {
	s = r.slicesFor("ScatterDiv", v, s, true)
	r.set(v, ops.Divide(r.Read(v), ops.SegmentProd(s.Values, s.Indices, v.spec.Shape[0])))
}

// ScatterMin takes the smaller of row and slice. It has no meaning for sums and means over the replicas: the variable's
// aggregation must be None or OnlyFirstReplica.
func (r *Replica) ScatterMin(v *Variable, s IndexedSlices) {
	s = r.slicesFor("ScatterMin", v, s, false)
	r.set(v, ops.ScatterMin(r.Read(v), s.Indices, s.Values, 0))
}

// ScatterMax takes the larger of row and slice; see [Replica.ScatterMin].
func (r *Replica) ScatterMax(v *Variable, s IndexedSlices) {
	s = r.slicesFor("ScatterMax", v, s, false)
	r.set(v, ops.ScatterMax(r.Read(v), s.Indices, s.Values, 0))
}

// ScatterUpdate replaces rows by slices; see [Replica.ScatterMin].
func (r *Replica) ScatterUpdate(v *Variable, s IndexedSlices) {
	s = r.slicesFor("ScatterUpdate", v, s, false)
	r.set(v, ops.ScatterUpdate(r.Read(v), s.Indices, s.Values, 0))
}

// slicesFor returns the slices to apply to a variable.
func (r *Replica) slicesFor(what string, v *Variable, s IndexedSlices, sums bool) IndexedSlices {
	s.check(r)
	if !v.spec.Shape.Equal(ir.Shape(s.DenseShape)) {
		ops.Failf(r.graph, "%s: variable %s has shape %v, the slices belong to shape %v", what, v.Path(), v.spec.Shape, s.DenseShape)
	}
	if v.spec.Synchronization == OnRead {
		ops.Failf(r.graph, "%s: variable %s is synchronized on read and takes no scatter updates; assign its whole value", what, v.Path())
	}
	agg := v.spec.Aggregation
	if !sums && agg != None && agg != OnlyFirstReplica {
		ops.Failf(r.graph, "%s: variable %s has the aggregation %q; only None and OnlyFirstReplica have a meaning here", what, v.Path(), agg)
	}
	if r.replicas == 1 {
		return s
	}
	r.needsAggregation(v)
	s.Values = ops.Cast(s.Values, v.spec.DType)
	switch agg {
	case Mean:
		s.Values = ops.DivideScalar(s.Values, float64(r.replicas))
		return r.joined(s)
	case Sum:
		return r.joined(s)
	case OnlyFirstReplica:
		return IndexedSlices{r.partOfFirst(s.Indices), r.partOfFirst(s.Values), s.DenseShape}
	}
	return s
}

// partOfFirst returns the rows of the first replica; the replicas may have different numbers of them.
func (r *Replica) partOfFirst(x *ops.Tensor) *ops.Tensor {
	rows := x.Dim(0)
	parts := r.gatherParts(x, 0)
	if len(parts) > 1 {
		return parts[0]
	}
	return ops.SliceAxis(parts[0], 0, 0, rows)
}
