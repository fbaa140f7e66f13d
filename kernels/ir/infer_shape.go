package ir

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func inferReshape(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ReshapeAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	for i, d := range a.Shape {
		if err := dim.Check(d); err != nil {
			return nil, fmt.Errorf("cannot reshape %v: axis %d of the new shape: %w", in[0].Shape, i, err)
		}
	}
	from, to := in[0].Shape.Size(), a.Shape.Size()
	if dim.Differ(from, to) {
		return nil, fmt.Errorf("cannot reshape %v (%s elements) to %v (%s)", in[0].Shape, dim.String(from), a.Shape, dim.String(to))
	}
	return []Type{{in[0].DType, a.Shape}}, nil
}

func inferTranspose(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(TransposeAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	s := in[0].Shape
	sorted := slices.Clone(a.Perm)
	slices.Sort(sorted)
	for i, p := range sorted {
		if i != p || len(sorted) != len(s) {
			return nil, fmt.Errorf("%v is not a permutation of the %d axes of %v", a.Perm, len(s), s)
		}
	}
	if len(sorted) != len(s) {
		return nil, fmt.Errorf("%v is not a permutation of the %d axes of %v", a.Perm, len(s), s)
	}
	out := make(Shape, len(s))
	for i, p := range a.Perm {
		out[i] = s[p]
	}
	return []Type{{in[0].DType, out}}, nil
}

func inferBroadcast(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(BroadcastAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if len(a.Axes) != len(in[0].Shape) {
		return nil, fmt.Errorf("axes %v must name one result axis for each of the %d operand axes", a.Axes, len(in[0].Shape))
	}
	if err := checkAxes(a.Axes, a.Shape); err != nil {
		return nil, err
	}
	for i, d := range in[0].Shape {
		if d != 1 && !dim.MayEqual(d, a.Shape[a.Axes[i]]) {
			return nil, fmt.Errorf("axis %d of %v cannot become axis %d of %v", i, in[0].Shape, a.Axes[i], a.Shape)
		}
	}
	return []Type{{in[0].DType, a.Shape}}, nil
}

func inferSlice(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(SliceAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	s := in[0].Shape
	if len(a.Start) != len(s) || len(a.Limit) != len(s) || len(a.Stride) != len(s) {
		return nil, fmt.Errorf("start %v, limit %v and stride %v must have one entry for each axis of %v", a.Start, a.Limit, a.Stride, s)
	}
	out := make(Shape, len(s))
	for i := range s {
		start, limit, stride := a.Start[i], a.Limit[i], a.Stride[i]
		if dim.Known(start) && start < 0 || stride <= 0 || dim.Less(s[i], limit) || dim.Less(limit, start) {
			return nil, fmt.Errorf("slice %s:%s:%s does not fit axis %d of %v", dim.String(start), dim.String(limit), dim.String(stride), i, s)
		}
		out[i] = dim.CeilDiv(dim.Sub(limit, start), stride)
	}
	return []Type{{in[0].DType, out}}, nil
}

func inferPad(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(PadAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	s := in[0].Shape
	if !in[1].Equal(Type{in[0].DType, nil}) {
		return nil, fmt.Errorf("padding value must be a %v scalar, received %v", in[0].DType, in[1])
	}
	if len(a.Low) != len(s) || len(a.High) != len(s) || len(a.Interior) != len(s) {
		return nil, fmt.Errorf("low %v, high %v and interior %v must have one entry for each axis of %v", a.Low, a.High, a.Interior, s)
	}
	out := make(Shape, len(s))
	for i, d := range s {
		between := 0
		if a.Interior[i] != 0 {
			between = dim.Mul(dim.Max(dim.Sub(d, 1), 0), a.Interior[i])
		}
		out[i] = dim.Add(a.Low[i], d, between, a.High[i])
		if a.Interior[i] < 0 || dim.Known(out[i]) && out[i] < 0 {
			return nil, fmt.Errorf("padding %s, %s, interior %s does not fit axis %d of %v", dim.String(a.Low[i]), dim.String(a.High[i]), dim.String(a.Interior[i]), i, s)
		}
	}
	return []Type{{in[0].DType, out}}, nil
}

func inferConcat(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(AxisAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if err := checkAxis(a.Axis, in[0].Shape); err != nil {
		return nil, err
	}
	out := in[0].Shape.Clone()
	out[a.Axis] = 0
	for i, t := range in {
		if t.DType != in[0].DType || len(t.Shape) != len(out) || !dim.ShapesMayEqual(t.Shape.Without(a.Axis), out.Without(a.Axis)) {
			return nil, fmt.Errorf("operands must agree in all axes but %d; operand 0 is %v, operand %d is %v", a.Axis, in[0], i, t)
		}
		for j, d := range t.Shape {
			if j != a.Axis && dim.Known(d) {
				out[j] = d
			}
		}
		out[a.Axis] = dim.Add(out[a.Axis], t.Shape[a.Axis])
	}
	return []Type{{in[0].DType, out}}, nil
}

func inferReverse(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(AxesAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	return []Type{in[0]}, checkAxes(a.Axes, in[0].Shape)
}

func inferBitCast(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ConvertAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	from, to, s := in[0].DType, a.DType, in[0].Shape.Clone()
	if !to.Valid() || to == Bool || from == Bool {
		return nil, fmt.Errorf("cannot read the bytes of %v as %v", from, to)
	}
	if from.Size() == to.Size() {
		return []Type{{to, s}}, nil
	}
	if len(s) == 0 {
		return nil, fmt.Errorf("a scalar %v has no axis that could hold the elements of another size of %v", from, to)
	}
	last := len(s) - 1
	bytes := dim.Mul(s[last], from.Size())
	if !dim.MayEqual(dim.Mod(bytes, to.Size()), 0) {
		return nil, fmt.Errorf("the last axis of %v holds %s bytes, which are no whole number of %v", in[0], dim.String(bytes), to)
	}
	s[last] = dim.FloorDiv(bytes, to.Size())
	return []Type{{to, s}}, nil
}

func checkStarts(starts []Type, s Shape) error {
	if len(starts) != len(s) {
		return fmt.Errorf("needs one start for each axis of %v, received %d", s, len(starts))
	}
	for i, t := range starts {
		if !t.Equal(Type{Int32, nil}) {
			return fmt.Errorf("start %d must be an int32 scalar, received %v", i, t)
		}
	}
	return nil
}

func inferDynamicSlice(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(DynamicSliceAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	s := in[0].Shape
	if err := checkStarts(in[1:], s); err != nil {
		return nil, err
	}
	if len(a.Sizes) != len(s) {
		return nil, fmt.Errorf("sizes %v must have one entry for each axis of %v", a.Sizes, s)
	}
	for i, n := range a.Sizes {
		if dim.Known(n) && n < 0 || dim.Less(s[i], n) {
			return nil, fmt.Errorf("size %s does not fit axis %d of %v", dim.String(n), i, s)
		}
	}
	return []Type{{in[0].DType, Shape(a.Sizes)}}, nil
}

func inferDynamicUpdateSlice(in []Type, attrs Attrs) ([]Type, error) {
	if attrs != nil {
		return nil, fmt.Errorf("takes no attributes, received %T", attrs)
	}
	s, u := in[0].Shape, in[1].Shape
	if err := checkStarts(in[2:], s); err != nil {
		return nil, err
	}
	if in[0].DType != in[1].DType || len(u) != len(s) {
		return nil, fmt.Errorf("update %v does not fit operand %v", in[1], in[0])
	}
	for i := range u {
		if dim.Less(s[i], u[i]) {
			return nil, fmt.Errorf("update %v does not fit axis %d of operand %v", in[1], i, in[0])
		}
	}
	return []Type{in[0]}, nil
}
