package ops

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Dot multiplies and sums over pairs of axes. The result has the batch axes, then the free axes of a, then those of b.
func Dot(a, b *Tensor, attrs ir.DotAttrs) *Tensor {
	a, b = numeric(a), numeric(b)
	if d := Promote(a.DType(), b.DType()); a.DType() != d || b.DType() != d {
		a, b = Cast(a, d), Cast(b, d)
	}
	return apply1(ir.Dot, attrs, a, b)
}

// Tensordot sums over the given pairs of axes of a and b.
func Tensordot(a, b *Tensor, aAxes, bAxes []int) *Tensor {
	if len(aAxes) != len(bAxes) {
		Failf(graphOf(a, b), "tensordot: axes %v and %v must pair up", aAxes, bAxes)
	}
	attrs := ir.DotAttrs{}
	for i := range aAxes {
		attrs.LhsContract = append(attrs.LhsContract, a.Axis(aAxes[i]))
		attrs.RhsContract = append(attrs.RhsContract, b.Axis(bAxes[i]))
	}
	return Dot(a, b, attrs)
}

// Matmul is the matrix product over the last axis of a and the second to last of b; leading axes broadcast. Vectors are
// treated as in NumPy: a vector on the left is a row, on the right a column, and its axis disappears.
func Matmul(a, b *Tensor) *Tensor {
	g := graphOf(a, b)
	if a.Rank() == 0 || b.Rank() == 0 {
		Failf(g, "matmul: needs operands of rank 1 or more, received shapes %v and %v", a.Shape(), b.Shape())
	}
	inner := b.Axis(-1)
	if b.Rank() > 1 {
		inner = b.Axis(-2)
	}
	if !dim.MayEqual(a.Dim(-1), b.Shape()[inner]) {
		Failf(g, "matmul: shapes %v and %v do not fit: the last axis of the first (%d) must equal axis %d of the second (%d)",
			a.Shape(), b.Shape(), a.Dim(-1), inner, b.Shape()[inner])
	}
	if b.Rank() <= 2 {
		return Dot(a, b, ir.DotAttrs{LhsContract: []int{a.Rank() - 1}, RhsContract: []int{inner}})
	}
	if a.Rank() == 1 {
		return Squeeze(Matmul(ExpandDims(a, 0), b), -2)
	}
	lead, err := ir.BroadcastShapes(a.Shape()[:a.Rank()-2], b.Shape()[:b.Rank()-2])
	if err != nil {
		Fail(g, err)
	}
	if a.Dim(-1) == 1 && b.Dim(-2) == 1 {
		return Multiply(a, b) // there is nothing to sum over
	}
	a = BroadcastTo(a, ints.Concat(lead, a.Shape()[a.Rank()-2:])...)
	b = BroadcastTo(b, ints.Concat(lead, b.Shape()[b.Rank()-2:])...)
	n := len(lead)
	batch := make([]int, n)
	for i := range batch {
		batch[i] = i
	}
	return Dot(a, b, ir.DotAttrs{LhsBatch: batch, RhsBatch: batch, LhsContract: []int{n + 1}, RhsContract: []int{n}})
}

func init() { rules[ir.Dot] = dotRule }

// dotRule contracts dy with the other operand over that operand's free axes. The result has its axes in the order
// batch, free, contracted and is transposed back.
func dotRule(c *vjp) []*Tensor {
	d := c.node.Attrs.(ir.DotAttrs)
	a, b, dy := c.in(0), c.in(1), c.dy(0)
	nb := len(d.LhsBatch)
	aFree, bFree := free(a, d.LhsBatch, d.LhsContract), free(b, d.RhsBatch, d.RhsContract)
	dyBatch, dyA, dyB := span(0, nb), span(nb, len(aFree)), span(nb+len(aFree), len(bFree))
	return c.each(
		func() *Tensor {
			da := Dot(dy, b, ir.DotAttrs{LhsBatch: dyBatch, RhsBatch: d.RhsBatch, LhsContract: dyB, RhsContract: bFree})
			return restore(da, d.LhsBatch, aFree, pairOrder(d.LhsContract, d.RhsContract))
		},
		func() *Tensor {
			// The operand order (other side first) makes the result's axes batch, contracted, free.
			db := Dot(a, dy, ir.DotAttrs{LhsBatch: d.LhsBatch, RhsBatch: dyBatch, LhsContract: aFree, RhsContract: dyA})
			return restore(db, d.RhsBatch, pairOrder(d.RhsContract, d.LhsContract), bFree)
		})
}

// pairOrder returns axes in the order of their partners in the other operand.
func pairOrder(axes, partners []int) []int {
	order := span(0, len(axes))
	slices.SortFunc(order, func(i, j int) int { return partners[i] - partners[j] })
	out := make([]int, len(axes))
	for i, j := range order {
		out[i] = axes[j]
	}
	return out
}

func free(t *Tensor, batch, contract []int) []int {
	var axes []int
	for i := range t.Rank() {
		if !slices.Contains(batch, i) && !slices.Contains(contract, i) {
			axes = append(axes, i)
		}
	}
	return axes
}

func span(from, n int) []int {
	axes := make([]int, n)
	for i := range axes {
		axes[i] = from + i
	}
	return axes
}

// restore transposes t, whose axes are the original axes listed in groups, back to the original order.
func restore(t *Tensor, groups ...[]int) *Tensor {
	from := ints.Concat(groups...)
	perm := make([]int, len(from))
	for at, original := range from {
		perm[original] = at
	}
	return Transpose(t, perm...)
}
