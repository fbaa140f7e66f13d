package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

func scatterRule(c *vjp) []*Tensor {
	switch c.node.Attrs.(ir.ScatterAttrs).Kind {
	case ir.Sum:
		return c.each(func() *Tensor { return c.dy(0) }, nil, func() *Tensor { return c.gatherBack(c.dy(0)) })
	case ir.Set:
		return scatterSetRule(c)
	case ir.Prod:
		return scatterProdRule(c)
	}
	return scatterExtremeRule(c)
}

// gatherBack reads t, which has the shape of a scatter's operand, at the positions of the updates.
func (c *vjp) gatherBack(t *Tensor) *Tensor {
	a := c.node.Attrs.(ir.ScatterAttrs)
	return apply1(ir.Gather, ir.GatherAttrs{Axis: a.Axis, Mode: a.Mode}, t, c.in(1))
}

// scatterLike scatters updates into operand at the positions of the node's updates.
func (c *vjp) scatterLike(kind ir.Kind, operand, updates *Tensor) *Tensor {
	a := c.node.Attrs.(ir.ScatterAttrs)
	a.Kind = kind
	return apply1(ir.Scatter, a, operand, c.in(1), updates)
}

// scatterSetRule: the operand has no gradient where it was overwritten. Of several updates at the same position only
// the last one has a gradient.
func scatterSetRule(c *vjp) []*Tensor {
	a := c.node.Attrs.(ir.ScatterAttrs)
	dy, indices := c.dy(0), c.in(1)
	return c.each(
		func() *Tensor { return c.scatterLike(ir.Set, dy, ZerosLike(c.in(2))) },
		nil,
		func() *Tensor {
			// Number the updates from 1, scatter the numbers and see which survive; a dropped one reads 0.
			n := indices.Shape().Size()
			numbers := Reshape(AddScalar(Iota(c.r.g, ir.Int32, 0, n), 1), indices.Shape()...)
			line := Zeros(c.r.g, ir.Int32, c.in(0).Shape()[a.Axis])
			line = apply1(ir.Scatter, ir.ScatterAttrs{Kind: ir.Set, Mode: a.Mode}, line, indices, numbers)
			survivor := apply1(ir.Gather, ir.GatherAttrs{Mode: a.Mode}, line, indices)
			wins := Equal(survivor, numbers)
			for range c.in(0).Shape()[a.Axis+1:] {
				wins = ExpandDims(wins, -1)
			}
			return Where(wins, c.gatherBack(dy), ZerosLike(c.in(2)))
		})
}

// scatterExtremeRule: the operand and the updates that equal the result share its gradient.
func scatterExtremeRule(c *vjp) []*Tensor {
	operand, updates, y, dy := c.in(0), c.in(2), c.out(0), c.dy(0)
	hit := Cast(Equal(operand, y), y.DType())
	hits := Cast(Equal(updates, c.gatherBack(y)), y.DType())
	share := Divide(dy, MaximumScalar(c.scatterLike(ir.Sum, hit, hits), 1))
	return c.each(
		func() *Tensor { return Multiply(hit, share) },
		nil,
		func() *Tensor { return Multiply(hits, c.gatherBack(share)) })
}

// scatterProdRule: as in the gradient of a product, a factor's slope is the product of the others.
func scatterProdRule(c *vjp) []*Tensor {
	operand, updates, y, dy := c.in(0), c.in(2), c.out(0), c.dy(0)
	isZero := func(t *Tensor) *Tensor { return CompareScalar(ir.Eq, t, 0) }
	safe := func(t *Tensor) *Tensor { return Where(isZero(t), OnesLike(t), t) }
	zeros := c.scatterLike(ir.Sum, Cast(isZero(operand), y.DType()), Cast(isZero(updates), y.DType()))
	others := c.scatterLike(ir.Prod, safe(operand), safe(updates))
	slope := func(t, y, zeros, others *Tensor) *Tensor {
		single := LogicalAnd(isZero(t), CompareScalar(ir.Eq, zeros, 1))
		return Where(CompareScalar(ir.Eq, zeros, 0), Divide(y, safe(t)), Where(single, others, ZerosLike(t)))
	}
	return c.each(
		func() *Tensor { return Multiply(dy, slope(operand, y, zeros, others)) },
		nil,
		func() *Tensor {
			return Multiply(c.gatherBack(dy), slope(updates, c.gatherBack(y), c.gatherBack(zeros), c.gatherBack(others)))
		})
}

// neutralElement is the number that changes no maximum (minimum).
func neutralElement(kind ir.Kind) float64 {
	if kind == ir.Max {
		return math.Inf(-1) // integers saturate to the smallest number
	}
	return math.Inf(1)
}
