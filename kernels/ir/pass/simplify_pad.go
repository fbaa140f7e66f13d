package pass

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Gradients of slices, splits and concatenations leave pads of pads, slices of slices, and sums of pads that fill
// different parts.

// sliceOfSlice returns what outer cuts out of what inner cuts out.
func sliceOfSlice(inner, outer ir.SliceAttrs) ir.SliceAttrs {
	n := len(outer.Start)
	a := ir.SliceAttrs{Start: make([]int, n), Limit: make([]int, n), Stride: make([]int, n)}
	for i := range n {
		a.Stride[i] = inner.Stride[i] * outer.Stride[i]
		count := outer.Limit[i] - outer.Start[i]
		if count == 0 { // steps of the inner slice may lead past the end of the axis
			a.Start[i], a.Limit[i] = inner.Start[i], inner.Start[i]
			continue
		}
		last := (count - 1) / outer.Stride[i] * outer.Stride[i]
		a.Start[i] = inner.Start[i] + inner.Stride[i]*outer.Start[i]
		a.Limit[i] = inner.Start[i] + inner.Stride[i]*(outer.Start[i]+last) + 1
	}
	return a
}

// onlyAdds reports whether a pad cuts nothing off and adds nothing between elements.
func onlyAdds(a ir.PadAttrs) bool {
	return all(a.Interior, func(x int) bool { return x == 0 }) && all(ints.Concat(a.Low, a.High), func(x int) bool { return x >= 0 })
}

// pad drops a pad that changes nothing and combines two in a row.
func (s *simplifier) pad(n *ir.Node, a ir.PadAttrs, in []ir.Value) (ir.Value, bool, error) {
	nothing := func(x int) bool { return x == 0 }
	if all(a.Low, nothing) && all(a.High, nothing) && all(a.Interior, nothing) {
		return in[0], true, nil
	}
	inner := s.producer(in[0], ir.Pad)
	if inner == nil || inner.Inputs[1] != in[1] {
		return 0, false, nil
	}
	first := inner.Attrs.(ir.PadAttrs)
	if !onlyAdds(a) || !onlyAdds(first) {
		return 0, false, nil
	}
	both := ir.PadAttrs{Low: slices.Clone(a.Low), High: slices.Clone(a.High), Interior: a.Interior}
	for i := range both.Low {
		both.Low[i] += first.Low[i]
		both.High[i] += first.High[i]
	}
	return s.one(n, ir.Pad, both, inner.Inputs[0], in[1])
}

// concat removes a concatenation of one operand and joins nested ones along the same axis.
func (s *simplifier) concat(n *ir.Node, a ir.AxisAttrs, in []ir.Value) (ir.Value, bool, error) {
	if len(in) == 1 {
		return in[0], true, nil
	}
	var flat []ir.Value
	for _, v := range in {
		if inner := s.producer(v, ir.Concat); inner != nil && inner.Attrs.(ir.AxisAttrs) == a && s.joined[v] {
			flat = append(flat, inner.Inputs...)
		} else {
			flat = append(flat, v)
		}
	}
	if len(flat) != len(in) {
		return s.one(n, ir.Concat, a, flat...)
	}
	return s.concatOfSlices(n, a.Axis, in)
}

// concatOfSlices replaces a concatenation of neighbouring slices of one value by one slice.
func (s *simplifier) concatOfSlices(n *ir.Node, axis int, in []ir.Value) (ir.Value, bool, error) {
	first := s.producer(in[0], ir.Slice)
	if first == nil {
		return 0, false, nil
	}
	source, a := first.Inputs[0], first.Attrs.(ir.SliceAttrs)
	whole := ir.SliceAttrs{Start: a.Start, Limit: slices.Clone(a.Limit), Stride: a.Stride}
	for _, v := range in[1:] {
		next := s.producer(v, ir.Slice)
		if next == nil || next.Inputs[0] != source {
			return 0, false, nil
		}
		b := next.Attrs.(ir.SliceAttrs)
		for i := range b.Start {
			start, limit := a.Start[i], a.Limit[i]
			if i == axis {
				start, limit = whole.Limit[i], b.Limit[i]
			}
			if b.Start[i] != start || b.Limit[i] != limit || b.Stride[i] != a.Stride[i] || i == axis && a.Stride[i] != 1 {
				return 0, false, nil
			}
		}
		whole.Limit[axis] = b.Limit[axis]
	}
	return s.one(n, ir.Slice, whole, source)
}

// sumOfPads turns the sum of two pads into one pad, if they fill the same part, or neighbouring parts along one axis.
// It also adds a pad to one part of a value that was joined from such parts. (Where a number was added to the other
// pad's 0, -0 stays -0.)
func (s *simplifier) sumOfPads(n *ir.Node, in []ir.Value) (ir.Value, bool, error) {
	x, y := s.zeroPad(in[0]), s.zeroPad(in[1])
	for i, pad := range []*ir.Node{y, x} {
		if pad == nil {
			continue
		}
		if sum, ok, err := s.sumWithPart(n, in[i], pad); ok || err != nil {
			return sum, ok, err
		}
	}
	if x == nil || y == nil {
		return 0, false, nil
	}
	p, q := x.Attrs.(ir.PadAttrs), y.Attrs.(ir.PadAttrs)
	axis := -1
	for i := range p.Low {
		if p.Low[i] == q.Low[i] && p.High[i] == q.High[i] {
			continue
		}
		if axis >= 0 {
			return 0, false, nil
		}
		axis = i
	}
	if axis < 0 {
		sum, _, err := s.one(n, ir.Add, nil, x.Inputs[0], y.Inputs[0])
		if err != nil {
			return 0, false, err
		}
		return s.one(n, ir.Pad, p, sum, x.Inputs[1])
	}
	if q.Low[axis] < p.Low[axis] {
		x, y, p, q = y, x, q, p
	}
	if end := p.Low[axis] + s.To.Type(x.Inputs[0]).Shape[axis]; end > q.Low[axis] {
		return s.sumOfOverlapping(n, axis, x, y)
	} else if end < q.Low[axis] {
		return 0, false, nil
	}
	low, high := p.Low, slices.Clone(p.High)
	high[axis] = q.High[axis]
	zero := x.Inputs[1]
	joined, _, err := s.one(n, ir.Concat, ir.AxisAttrs{Axis: axis}, x.Inputs[0], y.Inputs[0])
	if err != nil {
		return 0, false, err
	}
	s.joined[joined] = true
	return s.one(n, ir.Pad, ir.PadAttrs{Low: low, High: high, Interior: p.Interior}, joined, zero)
}

// sumOfOverlapping pads the concatenation of the part that only x fills, the part that both fill, and the part that
// only the longer one fills. y begins after x begins, or at the same position.
func (s *simplifier) sumOfOverlapping(n *ir.Node, axis int, x, y *ir.Node) (ir.Value, bool, error) {
	p, q := x.Attrs.(ir.PadAttrs), y.Attrs.(ir.PadAttrs)
	a, b := x.Inputs[0], y.Inputs[0]
	for _, v := range []ir.Value{a, b} { // parts of parts would be moved again and again
		if s.producer(v, ir.Slice) != nil || s.producer(v, ir.Concat) != nil || s.producer(v, ir.Reshape) != nil {
			return 0, false, nil
		}
	}
	shift, lengthA, lengthB := q.Low[axis]-p.Low[axis], s.To.Type(a).Shape[axis], s.To.Type(b).Shape[axis]
	end := min(lengthA, shift+lengthB) // end of what both fill, counted from the beginning of x
	var err error
	cut := func(v ir.Value, from, to int) ir.Value {
		if err == nil {
			v, err = s.cut(n, v, axis, from, to)
		}
		return v
	}
	var parts []ir.Value
	if shift > 0 {
		parts = append(parts, cut(a, 0, shift))
	}
	both := []ir.Value{cut(a, shift, end), cut(b, 0, end-shift)}
	if err == nil {
		both[0], _, err = s.one(n, ir.Add, nil, both...)
	}
	parts = append(parts, both[0])
	if lengthA > end {
		parts = append(parts, cut(a, end, lengthA))
	} else if shift+lengthB > end {
		parts = append(parts, cut(b, end-shift, lengthB))
	}
	if err != nil {
		return 0, false, err
	}
	joined, _, err := s.one(n, ir.Concat, ir.AxisAttrs{Axis: axis}, parts...)
	if err != nil {
		return 0, false, err
	}
	high := slices.Clone(p.High)
	high[axis] = min(high[axis], q.High[axis])
	return s.one(n, ir.Pad, ir.PadAttrs{Low: p.Low, High: high, Interior: p.Interior}, joined, x.Inputs[1])
}

// cut returns a piece of v along an axis. If v is negated, it negates the piece.
func (s *simplifier) cut(n *ir.Node, v ir.Value, axis, from, to int) (ir.Value, error) {
	shape := s.To.Type(v).Shape
	if from == 0 && to == shape[axis] {
		return v, nil
	}
	if neg := s.producer(v, ir.Neg); neg != nil {
		piece, err := s.cut(n, neg.Inputs[0], axis, from, to)
		if err != nil {
			return 0, err
		}
		v, _, err = s.one(n, ir.Neg, nil, piece)
		return v, err
	}
	a := ir.SliceAttrs{Start: make([]int, len(shape)), Limit: slices.Clone(shape), Stride: make([]int, len(shape))}
	for i := range a.Stride {
		a.Stride[i] = 1
	}
	a.Start[axis], a.Limit[axis] = from, to
	v, _, err := s.one(n, ir.Slice, a, v)
	return v, err
}

// sumWithPart adds the part that pad y fills to the same part of x, which was joined from parts, and perhaps padded.
func (s *simplifier) sumWithPart(n *ir.Node, x ir.Value, y *ir.Node) (ir.Value, bool, error) {
	around := s.zeroPad(x)
	joined, at := x, make([]int, len(s.To.Type(x).Shape))
	if around != nil {
		joined, at = around.Inputs[0], slices.Clone(around.Attrs.(ir.PadAttrs).Low)
	}
	parts := s.producer(joined, ir.Concat)
	if parts == nil || !s.joined[joined] {
		return 0, false, nil
	}
	attrs, in := parts.Attrs.(ir.AxisAttrs), slices.Clone(parts.Inputs)
	for i, part := range in {
		if slices.Equal(at, y.Attrs.(ir.PadAttrs).Low) && s.To.Type(part).Shape.Equal(s.To.Type(y.Inputs[0]).Shape) {
			sum, _, err := s.one(n, ir.Add, nil, part, y.Inputs[0])
			if err != nil {
				return 0, false, err
			}
			in[i] = sum
			v, _, err := s.one(n, ir.Concat, attrs, in...)
			if err != nil {
				return 0, false, err
			}
			if s.joined[v] = true; around == nil {
				return v, true, nil
			}
			return s.one(n, ir.Pad, around.Attrs, v, around.Inputs[1])
		}
		at[attrs.Axis] += s.To.Type(part).Shape[attrs.Axis]
	}
	return 0, false, nil
}

// zeroPad returns the node of a pad of zeros that only adds, or nil.
func (s *simplifier) zeroPad(v ir.Value) *ir.Node {
	n := s.producer(v, ir.Pad)
	if n == nil || !s.isSplat(n.Inputs[1], 0) || !onlyAdds(n.Attrs.(ir.PadAttrs)) {
		return nil
	}
	copied := *n
	return &copied
}
