package pass

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

// rowwise makes elementwise operations of products without a matrix in them: a row with a row for each example, or
// without examples, which is a sum of products, and its gradients, a number with a row for each example.
func (s *simplifier) rowwise(n *ir.Node, a ir.DotAttrs, in []ir.Value) (ir.Value, bool, error) {
	x, y := s.To.Type(in[0]), s.To.Type(in[1])
	batch := len(a.LhsBatch)
	if a.Sums != ir.Invalid || x.DType != y.DType || x.DType != ir.Float32 && x.DType != ir.Float64 ||
		!leading(a.LhsBatch) || !leading(a.RhsBatch) {
		return 0, false, nil
	}
	left := x.Shape.Rank() - batch - len(a.LhsContract)
	right := y.Shape.Rank() - batch - len(a.RhsContract)
	switch {
	case len(a.LhsContract) > 0 && left == 0 && right == 0 && equalAxes(a.LhsContract, a.RhsContract):
		product, _, err := s.one(n, ir.Mul, nil, in[0], in[1])
		if err != nil {
			return 0, false, err
		}
		return s.one(n, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: a.LhsContract}, product)
	case len(a.LhsContract) == 0 && left == 0:
		return s.scaled(n, a.LhsBatch, in[0], in[1])
	case len(a.LhsContract) == 0 && right == 0:
		return s.scaled(n, a.RhsBatch, in[1], in[0])
	}
	return 0, false, nil
}

// scaled multiplies the rows of x by the numbers of scale.
func (s *simplifier) scaled(n *ir.Node, batch []int, scale, x ir.Value) (ir.Value, bool, error) {
	wide, _, err := s.one(n, ir.Broadcast, ir.BroadcastAttrs{Shape: s.To.Type(x).Shape, Axes: batch}, scale)
	if err != nil {
		return 0, false, err
	}
	return s.one(n, ir.Mul, nil, x, wide)
}

// leading reports whether axes are the first ones, in order.
func leading(axes []int) bool {
	for i, axis := range axes {
		if axis != i {
			return false
		}
	}
	return true
}

// equalAxes reports whether both lists are the same in ascending order.
func equalAxes(a, b []int) bool {
	for i, axis := range a {
		if b[i] != axis || i > 0 && a[i-1] >= axis {
			return false
		}
	}
	return true
}
