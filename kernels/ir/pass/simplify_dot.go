package pass

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// dot makes a product read the operand of a transpose directly, if that keeps the order of the free axes, and so the
// result.
func (s *simplifier) dot(n *ir.Node, in []ir.Value) (ir.Value, bool, error) {
	a := n.Attrs.(ir.DotAttrs)
	narrow, bytes := s.narrowed(in)
	bytes = bytes && s.options.Int8Sums && a.Sums == ir.Invalid
	if !bytes { // for bytes, product kernels are faster than elementwise operations even for a single row
		if v, ok, err := s.rowwise(n, a, in); ok || err != nil {
			return v, ok, err
		}
	}
	for side, v := range in {
		inner := s.producer(v, ir.Transpose)
		if inner == nil {
			continue
		}
		perm := inner.Attrs.(ir.TransposeAttrs).Perm
		batch, contract := a.LhsBatch, a.LhsContract
		if side == 1 {
			batch, contract = a.RhsBatch, a.RhsContract
		}
		free := ir.FreeAxes(s.To.Type(v).Shape.Rank(), batch, contract)
		if !slices.IsSorted(through(perm, free)) {
			continue
		}
		operands := slices.Clone(in)
		operands[side] = inner.Inputs[0]
		if side == 0 {
			a.LhsBatch, a.LhsContract = through(perm, batch), through(perm, contract)
		} else {
			a.RhsBatch, a.RhsContract = through(perm, batch), through(perm, contract)
		}
		return s.one(n, ir.Dot, a, operands...)
	}
	if bytes {
		a.Sums = ir.Int32
		return s.one(n, ir.Dot, a, narrow...)
	}
	return 0, false, nil
}

// narrowed returns the int8 values that all operands of an int32 product are converted from.
func (s *simplifier) narrowed(in []ir.Value) (narrow []ir.Value, ok bool) {
	for _, v := range in {
		c := s.producer(v, ir.Convert)
		if c == nil || s.To.Type(v).DType != ir.Int32 || s.To.Type(c.Inputs[0]).DType != ir.Int8 {
			return nil, false
		}
		narrow = append(narrow, c.Inputs[0])
	}
	return narrow, true
}

// through maps axes of the result of a transpose to axes of its operand.
func through(perm, axes []int) []int {
	out := make([]int, len(axes))
	for i, axis := range axes {
		out[i] = perm[axis]
	}
	return out
}
