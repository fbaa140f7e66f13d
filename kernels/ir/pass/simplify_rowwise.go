package pass

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// rowwise turns products without a matrix into elementwise operations: products without a sum, and sums of products
// with a single row or column of results, if no matrix kernel is faster.
func (s *simplifier) rowwise(n *ir.Node, a ir.DotAttrs, in []ir.Value) (ir.Value, bool, error) {
	x, y := s.To.Type(in[0]), s.To.Type(in[1])
	if a.Sums != ir.Invalid || x.DType != y.DType {
		return 0, false, nil
	}
	left := ir.FreeAxes(x.Shape.Rank(), a.LhsBatch, a.LhsContract)
	right := ir.FreeAxes(y.Shape.Rank(), a.RhsBatch, a.RhsContract)
	if !s.options.FewProducts && !plainRows(x.DType, a, left, right) {
		return 0, false, nil
	}
	entries, rows, cols := lengths(x.Shape, a.LhsBatch), lengths(x.Shape, left), lengths(y.Shape, right)
	switch {
	case lengths(x.Shape, a.LhsContract) == 1:
		if rows == 1 || cols == 1 || !x.DType.IsFloat() || entries == 1 && cols < fewColumns(x.DType) {
			return s.withoutSum(n, a, in, left, right)
		}
	case x.DType == ir.Float32 || x.DType == ir.Float64:
		if len(left) == 0 && len(right) == 0 {
			return s.sumOfProducts(n, a, in, right)
		}
	case x.DType.IsFloat(): // half precision would round each product
	case cols == 1:
		return s.sumOfProducts(n, a, in, right)
	case rows == 1:
		a = ir.DotAttrs{LhsBatch: a.RhsBatch, RhsBatch: a.LhsBatch, LhsContract: a.RhsContract, RhsContract: a.LhsContract}
		return s.sumOfProducts(n, a, []ir.Value{in[1], in[0]}, left)
	}
	return 0, false, nil
}

// plainRows reports whether rows are multiplied with rows, for each example or without examples, or with a number for
// each, and all axes are in order. Every backend computes that faster elementwise.
func plainRows(d ir.DType, a ir.DotAttrs, left, right []int) bool {
	examples := numbers(0, len(a.LhsBatch))
	if d != ir.Float32 && d != ir.Float64 || !slices.Equal(a.LhsBatch, examples) || !slices.Equal(a.RhsBatch, examples) {
		return false
	}
	if len(a.LhsContract) == 0 {
		return len(left) == 0 || len(right) == 0
	}
	return len(left) == 0 && len(right) == 0 && slices.Equal(a.LhsContract, a.RhsContract) && slices.IsSorted(a.LhsContract)
}

// fewColumns is the number of columns from which on an outer product of floats is faster as a product of matrices.
func fewColumns(d ir.DType) int {
	if d.Size() == 2 {
		return 32
	}
	return 8
}

// lengths multiplies the lengths of axes.
//
//go:noinline
func lengths(shape ir.Shape, axes []int) int {
	size := 1
	for _, axis := range axes {
		size *= shape[axis]
	}
	return size
}

// sumOfProducts multiplies the elements of the left operand, in its order, with the matching elements of the right one,
// and adds them up. The right operand has no axes of its own except those of length 1.
func (s *simplifier) sumOfProducts(n *ir.Node, a ir.DotAttrs, in []ir.Value, single []int) (ir.Value, bool, error) {
	shape := s.To.Type(in[0]).Shape
	y := factor{in[1], ints.Concat(a.RhsBatch, a.RhsContract), ints.Concat(a.LhsBatch, a.LhsContract), single}
	wide, _, err := s.spread(n, y, numbers(0, len(shape)), shape)
	if err != nil {
		return 0, false, err
	}
	v, _, err := s.one(n, ir.Mul, nil, in[0], wide)
	if err != nil {
		return 0, false, err
	}
	v, _, err = s.one(n, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: ascending(a.LhsContract)}, v)
	if err != nil {
		return 0, false, err
	}
	kept := ints.Concat(a.LhsBatch, ir.FreeAxes(len(shape), a.LhsBatch, a.LhsContract))
	if v, _, err = s.one(n, ir.Transpose, ir.TransposeAttrs{Perm: ranks(kept)}, v); err != nil {
		return 0, false, err
	}
	return s.one(n, ir.Reshape, ir.ReshapeAttrs{Shape: s.From.Type(n.Outputs[0]).Shape}, v)
}

// withoutSum multiplies each element of one operand with the elements of the other that the result pairs it with. If
// one operand has no rows or columns of its own, the product first has the order of the other's axes, so that the other
// need not be copied first.
func (s *simplifier) withoutSum(n *ir.Node, a ir.DotAttrs, in []ir.Value, left, right []int) (ir.Value, bool, error) {
	batch, rank := len(a.LhsBatch), len(a.LhsBatch)+len(left)+len(right)
	x := factor{in[0], ints.Concat(a.LhsBatch, left), numbers(0, batch+len(left)), a.LhsContract}
	y := factor{in[1], ints.Concat(a.RhsBatch, right), ints.Concat(numbers(0, batch), numbers(batch+len(left), rank)), a.RhsContract}
	order := numbers(0, rank) // the result's axes in the order of the product
	switch {
	case lengths(s.To.Type(y.v).Shape, right) == 1:
		order = x.inItsOrder(order)
	case lengths(s.To.Type(x.v).Shape, left) == 1:
		order = y.inItsOrder(order)
	}
	places, shape, wide := make([]int, rank), make(ir.Shape, rank), make([]ir.Value, 2)
	for i, axis := range order {
		places[axis] = i
	}
	for _, f := range []factor{x, y} {
		for i, axis := range f.axes {
			shape[places[f.results[i]]] = s.To.Type(f.v).Shape[axis]
		}
	}
	for i, f := range []factor{x, y} {
		var err error
		if wide[i], _, err = s.spread(n, f, places, shape); err != nil {
			return 0, false, err
		}
	}
	product, _, err := s.one(n, ir.Mul, nil, wide...)
	if err != nil {
		return 0, false, err
	}
	return s.one(n, ir.Transpose, ir.TransposeAttrs{Perm: places}, product)
}

// factor is an operand of a product without a sum.
type factor struct {
	v       ir.Value
	axes    []int // axes that remain in the result
	results []int // the result's axis for each of axes
	single  []int // axes of length 1, which are dropped
}

// inItsOrder returns the result's axes that the factor has, in the factor's order, then the others.
func (f factor) inItsOrder(all []int) []int {
	places := ranks(f.axes)
	order := make([]int, len(places), len(all))
	for i, place := range places {
		order[place] = f.results[i]
	}
	for _, axis := range all {
		if !slices.Contains(f.results, axis) {
			order = append(order, axis)
		}
	}
	return order
}

// spread repeats the elements of a factor along the axes that only the other factor has.
func (s *simplifier) spread(n *ir.Node, f factor, places []int, shape ir.Shape) (ir.Value, bool, error) {
	all, at := through(places, f.results), make([]int, len(f.axes))
	perm, own := make([]int, len(at)), make(ir.Shape, len(at))
	for i, k := range ranks(all) {
		perm[k], at[k] = f.axes[i], all[i]
		own[k] = shape[at[k]]
	}
	v, _, err := s.one(n, ir.Transpose, ir.TransposeAttrs{Perm: ints.Concat(perm, f.single)}, f.v)
	if err != nil {
		return 0, false, err
	}
	if v, _, err = s.one(n, ir.Reshape, ir.ReshapeAttrs{Shape: own}, v); err != nil {
		return 0, false, err
	}
	return s.one(n, ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: at}, v)
}

// ascending returns a list of different numbers in ascending order.
func ascending(list []int) []int {
	out := make([]int, len(list))
	for i, rank := range ranks(list) {
		out[rank] = list[i]
	}
	return out
}

// numbers returns the numbers from lo up to hi.
//
//go:noinline
func numbers(lo, hi int) []int {
	out := make([]int, hi-lo)
	for i := range out {
		out[i] = lo + i
	}
	return out
}

// ranks returns, for each element of a list of different numbers, how many are below it.
//
//go:noinline
func ranks(list []int) []int {
	out := make([]int, len(list))
	for i, x := range list {
		for _, y := range list {
			if y < x {
				out[i]++
			}
		}
	}
	return out
}
