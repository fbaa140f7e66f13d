package pass

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// sumMinColumns is the smallest number of columns of a product that is computed after the sum over its rows. Adding up
// the rows of its operand instead of those of its result must cost less than it saves.
const sumMinColumns = 8

// SumFirst returns the pass that adds up rows before they are multiplied by a matrix instead of after it, as in a mean
// over the steps of a sequence after a layer without an activation. One row is then multiplied instead of all. Values
// added to the product, such as a bias, are summed separately. Results are rounded differently. A batch of one example
// then has one row, whose products a backend may sum in another order than those of several.
func SumFirst() Pass {
	return New("sum_first", func(p *ir.Program) (*ir.Program, error) {
		s := &summing{Rewriter: NewRewriter(p)}
		s.uses, s.def = Uses(p)
		changed := false
		for i := range p.Nodes {
			n := &p.Nodes[i]
			var err error
			if a, ok := n.Attrs.(ir.ReduceAttrs); ok && a.Kind == ir.Sum && s.pays(n.Inputs[0], a.Axes) {
				var sum ir.Value
				if sum, err = s.sum(n.Scope, n.Inputs[0], a.Axes); err == nil {
					err = s.Define(n, []ir.Value{sum})
				}
				changed = true
			} else {
				err = s.Keep(n)
			}
			if err != nil {
				return nil, err
			}
		}
		if !changed {
			return p, nil
		}
		return s.Finish(), nil
	})
}

type summing struct {
	*Rewriter
	uses, def []int
}

// node returns the node that computes v, if nothing but the sum reads v.
func (s *summing) node(v ir.Value) *ir.Node {
	if s.def[v] < 0 || s.uses[v] != 1 {
		return nil
	}
	return &s.From.Nodes[s.def[v]]
}

// pays reports whether v is a product, or a sum with one, whose rows are the axes.
func (s *summing) pays(v ir.Value, axes []int) bool {
	n := s.node(v)
	t := s.From.Type(v)
	if n == nil || len(axes) == 0 || !t.DType.IsWideFloat() || t.Shape.Size() == 0 {
		return false
	}
	switch n.Op {
	case ir.Add:
		return n.Inputs[0] != n.Inputs[1] && (s.pays(n.Inputs[0], axes) || s.pays(n.Inputs[1], axes))
	case ir.Dot:
		return s.ofRows(n, axes)
	case ir.Conv:
		return s.ofPixels(n, axes)
	}
	return false
}

// ofRows reports whether the axes are rows of a matrix product, and more than one row.
func (s *summing) ofRows(n *ir.Node, axes []int) bool {
	a, shape := n.Attrs.(ir.DotAttrs), s.From.Type(n.Outputs[0]).Shape
	rows := len(s.From.Type(n.Inputs[0]).Shape) - len(a.LhsContract)
	sums := 1
	for _, axis := range axes {
		sums *= shape[axis]
	}
	return len(a.LhsBatch) == 0 && len(a.LhsContract) > 0 && slices.Max(axes) < rows && sums > 1 && shape[rows:].Size() >= sumMinColumns
}

// ofPixels reports whether the node is a 1x1 convolution, and the axes are those of the image.
func (s *summing) ofPixels(n *ir.Node, axes []int) bool {
	a, k, shape := n.Attrs.(ir.ConvAttrs), s.From.Type(n.Inputs[1]).Shape, s.From.Type(n.Outputs[0]).Shape
	other := func(n int) func(int) bool { return func(m int) bool { return m != n } }
	return a.Groups == 1 && k[:len(k)-2].Size() == 1 && k[len(k)-1] >= sumMinColumns && len(axes) == len(shape)-2 && shape[1:len(shape)-1].Size() > 1 &&
		!slices.Contains(axes, 0) && !slices.Contains(axes, len(shape)-1) &&
		!slices.ContainsFunc(a.PadLow, other(0)) && !slices.ContainsFunc(a.PadHigh, other(0)) && !slices.ContainsFunc(a.Strides, other(1))
}

// sum adds the sum of v, a value of the old program, over axes.
func (s *summing) sum(scope string, v ir.Value, axes []int) (ir.Value, error) {
	n := s.node(v)
	switch {
	case n == nil:
	case n.Op == ir.Add && s.pays(v, axes):
		x, err := s.sum(scope, n.Inputs[0], axes)
		if err != nil {
			return 0, err
		}
		y, err := s.sum(scope, n.Inputs[1], axes)
		if err != nil {
			return 0, err
		}
		return s.add(n.Scope, ir.Add, nil, x, y)
	case n.Op == ir.Dot && s.pays(v, axes):
		a := n.Attrs.(ir.DotAttrs)
		free := ir.FreeAxes(len(s.From.Type(n.Inputs[0]).Shape), nil, a.LhsContract)
		gone := make([]int, len(axes))
		for i, axis := range axes {
			gone[i] = free[axis]
		}
		slices.Sort(gone)
		contract := slices.Clone(a.LhsContract)
		for i, axis := range contract {
			at, _ := slices.BinarySearch(gone, axis)
			contract[i] -= at
		}
		x, err := s.add(scope, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: gone}, s.Mapped[n.Inputs[0]])
		if err != nil {
			return 0, err
		}
		a.LhsContract = contract
		return s.add(n.Scope, ir.Dot, a, x, s.Mapped[n.Inputs[1]])
	case n.Op == ir.Conv && s.pays(v, axes):
		k := s.From.Type(n.Inputs[1]).Shape
		x, err := s.add(scope, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: slices.Clone(axes)}, s.Mapped[n.Inputs[0]])
		if err != nil {
			return 0, err
		}
		matrix, err := s.add(n.Scope, ir.Reshape, ir.ReshapeAttrs{Shape: slices.Clone(k[len(k)-2:])}, s.Mapped[n.Inputs[1]])
		if err != nil {
			return 0, err
		}
		return s.add(n.Scope, ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, matrix)
	case n.Op == ir.Broadcast:
		if sum, ok, err := s.repeated(n, axes); ok || err != nil {
			return sum, err
		}
	}
	return s.add(scope, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: slices.Clone(axes)}, s.Mapped[v])
}

// repeated adds the sum of a value that is constant along the axes: a multiple. ok is false for other values.
func (s *summing) repeated(n *ir.Node, axes []int) (sum ir.Value, ok bool, err error) {
	a := n.Attrs.(ir.BroadcastAttrs)
	if slices.ContainsFunc(axes, func(axis int) bool { return slices.Contains(a.Axes, axis) }) {
		return 0, false, nil
	}
	count := 1
	var shape ir.Shape
	position := make([]int, len(a.Shape)) // of the axes that remain
	for axis, length := range a.Shape {
		position[axis] = len(shape)
		if slices.Contains(axes, axis) {
			count *= length
		} else {
			shape = append(shape, length)
		}
	}
	a.Shape, a.Axes = shape, slices.Clone(a.Axes)
	for i, axis := range a.Axes {
		a.Axes[i] = position[axis]
	}
	x, err := s.add(n.Scope, ir.Broadcast, a, s.Mapped[n.Inputs[0]])
	if err != nil {
		return 0, false, err
	}
	times, err := s.add(n.Scope, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(s.From.Type(n.Outputs[0]).DType, float64(count), shape...)})
	if err != nil {
		return 0, false, err
	}
	sum, err = s.add(n.Scope, ir.Mul, nil, x, times)
	return sum, true, err
}
