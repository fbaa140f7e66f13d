package pass

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// movement removes and combines ops that only move data.
func (s *simplifier) movement(n *ir.Node, in []ir.Value) (ir.Value, bool, error) {
	x := s.To.Type(in[0])
	if n.Op != ir.Reduce && n.Op != ir.Pad && n.Op != ir.Concat {
		if l, ok := s.splat(in[0]); ok && x.Shape.Size() > 0 && len(n.Outputs) > 0 { // a node made during the rewrite has no results yet
			l.Type.Shape = s.From.Type(n.Outputs[0]).Shape
			return s.one(n, ir.Constant, ir.ConstantAttrs{Literal: l})
		}
	}
	switch a := n.Attrs.(type) {
	case ir.ReshapeAttrs:
		if a.Shape.Equal(x.Shape) {
			return in[0], true, nil
		}
		if inner := s.producer(in[0], ir.Reshape); inner != nil {
			return s.one(n, ir.Reshape, a, inner.Inputs[0])
		}
	case ir.TransposeAttrs:
		return s.transpose(n, a, in[0])
	case ir.BroadcastAttrs:
		return s.broadcast(n, a, in[0])
	case ir.SliceAttrs:
		if inner := s.producer(in[0], ir.Slice); inner != nil {
			return s.one(n, ir.Slice, sliceOfSlice(inner.Attrs.(ir.SliceAttrs), a), inner.Inputs[0])
		}
		whole := true
		for i := range x.Shape {
			whole = whole && a.Start[i] == 0 && a.Limit[i] == x.Shape[i] && a.Stride[i] == 1
		}
		return in[0], whole, nil
	case ir.PadAttrs:
		return s.pad(n, a, in)
	case ir.AxisAttrs: // Concat
		return s.concat(n, a, in)
	case ir.AxesAttrs: // Reverse
		return in[0], all(a.Axes, func(axis int) bool { return x.Shape[axis] <= 1 }), nil
	case ir.ReduceAttrs:
		if all(a.Axes, func(axis int) bool { return x.Shape[axis] == 1 }) {
			return s.one(n, ir.Reshape, ir.ReshapeAttrs{Shape: x.Shape.Without(a.Axes...)}, in[0])
		}
	}
	return 0, false, nil
}

func all(list []int, f func(int) bool) bool {
	return !slices.ContainsFunc(list, func(x int) bool { return !f(x) })
}

// transpose drops a permutation that keeps the order of the axes longer than 1 and combines two in a row.
func (s *simplifier) transpose(n *ir.Node, a ir.TransposeAttrs, x ir.Value) (ir.Value, bool, error) {
	shape := s.To.Type(x).Shape
	if inner := s.producer(x, ir.Transpose); inner != nil {
		first := inner.Attrs.(ir.TransposeAttrs).Perm
		perm := make([]int, len(first))
		for i, p := range a.Perm {
			perm[i] = first[p]
		}
		return s.one(n, ir.Transpose, ir.TransposeAttrs{Perm: perm}, inner.Inputs[0])
	}
	last := -1
	for _, p := range a.Perm {
		if shape[p] == 1 {
			continue
		}
		if p < last {
			return 0, false, nil
		}
		last = p
	}
	out := make(ir.Shape, len(shape))
	for i, p := range a.Perm {
		out[i] = shape[p]
	}
	return s.one(n, ir.Reshape, ir.ReshapeAttrs{Shape: out}, x)
}

// broadcast removes repetitions of nothing and combines two in a row.
func (s *simplifier) broadcast(n *ir.Node, a ir.BroadcastAttrs, x ir.Value) (ir.Value, bool, error) {
	shape := s.To.Type(x).Shape
	if a.Shape.Size() == shape.Size() {
		return s.one(n, ir.Reshape, ir.ReshapeAttrs{Shape: a.Shape}, x)
	}
	if inner := s.producer(x, ir.Broadcast); inner != nil {
		first := inner.Attrs.(ir.BroadcastAttrs).Axes
		axes := make([]int, len(first))
		for i, ax := range first {
			axes[i] = a.Axes[ax]
		}
		return s.one(n, ir.Broadcast, ir.BroadcastAttrs{Shape: a.Shape, Axes: axes}, inner.Inputs[0])
	}
	// A reshape that only adds axes of length 1 is part of the broadcast.
	if inner := s.producer(x, ir.Reshape); inner != nil {
		under := s.To.Type(inner.Inputs[0]).Shape
		var axes, long []int
		for i, d := range shape {
			if d != 1 {
				axes, long = append(axes, a.Axes[i]), append(long, d)
			}
		}
		if !slices.Contains(under, 1) && slices.Equal(long, under) {
			return s.one(n, ir.Broadcast, ir.BroadcastAttrs{Shape: a.Shape, Axes: axes}, inner.Inputs[0])
		}
	}
	return 0, false, nil
}
