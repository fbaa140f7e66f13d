package ir

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func inferDot(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(DotAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	l, r := in[0].Shape, in[1].Shape
	if in[0].DType != in[1].DType || !(in[0].DType.IsFloat() || in[0].DType.IsInteger()) {
		return nil, fmt.Errorf("operands must be numbers of one type, received %v and %v", in[0].DType, in[1].DType)
	}
	pair := func(what string, la, ra []int) error {
		if len(la) != len(ra) {
			return fmt.Errorf("%s axes %v and %v must pair up", what, la, ra)
		}
		for i := range la {
			if la[i] < 0 || la[i] >= len(l) || ra[i] < 0 || ra[i] >= len(r) || !dim.MayEqual(l[la[i]], r[ra[i]]) {
				return fmt.Errorf("%s axis %d of %v does not fit axis %d of %v", what, la[i], l, ra[i], r)
			}
		}
		return nil
	}
	if err := pair("batch", a.LhsBatch, a.RhsBatch); err != nil {
		return nil, err
	}
	if err := pair("contracted", a.LhsContract, a.RhsContract); err != nil {
		return nil, err
	}
	lUsed, rUsed := slices.Concat(a.LhsBatch, a.LhsContract), slices.Concat(a.RhsBatch, a.RhsContract)
	for _, used := range [][]int{lUsed, rUsed} {
		sorted := slices.Clone(used)
		slices.Sort(sorted)
		if len(slices.Compact(sorted)) != len(used) {
			return nil, fmt.Errorf("an axis is used twice in %v", used)
		}
	}
	out := Shape{}
	for _, ax := range a.LhsBatch {
		out = append(out, l[ax])
	}
	out = append(append(out, l.Without(lUsed...)...), r.Without(rUsed...)...)
	sums := in[0].DType
	if a.Sums != Invalid {
		if sums = a.Sums; sums != Int32 || in[0].DType != Int8 {
			return nil, fmt.Errorf("sums of int32 are those of products of int8; received operands of %v for sums of %v", in[0].DType, a.Sums)
		}
	}
	return []Type{{sums, out}}, nil
}

func inferGather(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(GatherAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if err := checkAxis(a.Axis, in[0].Shape); err != nil {
		return nil, err
	}
	if !in[1].DType.IsInteger() {
		return nil, fmt.Errorf("indices must be integers, received %v", in[1].DType)
	}
	return []Type{{in[0].DType, gatherShape(in[0].Shape, in[1].Shape, a.Axis)}}, checkMode(a.Mode)
}

func gatherShape(operand, indices Shape, axis int) Shape {
	return slices.Concat(operand[:axis], indices, operand[axis+1:])
}

func checkMode(m IndexMode) error {
	if m != IndexError && m != IndexClip && m != IndexDrop {
		return fmt.Errorf("unknown index mode %q", m)
	}
	return nil
}

func inferScatter(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ScatterAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if err := checkAxis(a.Axis, in[0].Shape); err != nil {
		return nil, err
	}
	if !in[1].DType.IsInteger() {
		return nil, fmt.Errorf("indices must be integers, received %v", in[1].DType)
	}
	if want := (Type{in[0].DType, gatherShape(in[0].Shape, in[1].Shape, a.Axis)}); !in[2].Fits(want) {
		return nil, fmt.Errorf("updates must be %v, received %v", want, in[2])
	}
	if a.Kind != Set {
		if err := checkReduction(a.Kind, in[0].DType); err != nil {
			return nil, err
		}
	}
	return []Type{in[0]}, checkMode(a.Mode)
}

func inferReduce(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ReduceAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if err := checkReduction(a.Kind, in[0].DType); err != nil {
		return nil, err
	}
	return []Type{{in[0].DType, in[0].Shape.Without(a.Axes...)}}, checkAxes(a.Axes, in[0].Shape)
}

func checkReduction(k Kind, d DType) error {
	switch k {
	case Sum, Prod, Max, Min:
		if d.IsFloat() || d.IsInteger() {
			return nil
		}
	case And, Or:
		if d == Bool {
			return nil
		}
	}
	return fmt.Errorf("kind %q does not combine %v", k, d)
}

func inferArg(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(AxisAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if err := checkAxis(a.Axis, in[0].Shape); err != nil {
		return nil, err
	}
	if in[0].Shape[a.Axis] == 0 {
		return nil, fmt.Errorf("axis %d of %v is empty, so nothing is largest or smallest", a.Axis, in[0].Shape)
	}
	return []Type{{Int32, in[0].Shape.Without(a.Axis)}}, nil
}

func inferCumulative(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(CumulativeAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if a.Kind == And || a.Kind == Or {
		return nil, fmt.Errorf("unknown kind %q", a.Kind)
	}
	if err := checkReduction(a.Kind, in[0].DType); err != nil {
		return nil, err
	}
	return []Type{in[0]}, checkAxis(a.Axis, in[0].Shape)
}

func inferSort(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(SortAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if err := checkAxis(a.Axis, in[0].Shape); err != nil {
		return nil, err
	}
	for i, k := range a.Kth {
		if n := in[0].Shape[a.Axis]; k < 0 || dim.Known(n) && k >= n || i > 0 && k <= a.Kth[i-1] {
			return nil, fmt.Errorf("the places %v are not increasing ones of axis %d of %v", a.Kth, a.Axis, in[0].Shape)
		}
	}
	return []Type{in[0], {Int32, in[0].Shape}}, nil
}

func inferTopK(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(TopKAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	s := in[0].Shape
	if len(s) == 0 || dim.Known(a.K) && a.K < 0 || dim.Less(s[len(s)-1], a.K) {
		return nil, fmt.Errorf("k is %s, which is not between 0 and the length of the last axis of %v", dim.String(a.K), s)
	}
	out := s.Clone()
	out[len(s)-1] = a.K
	return []Type{{in[0].DType, out}, {Int32, out}}, nil
}

// FreeAxes returns the axes of one operand of a product, of the given rank, that are neither batch nor contracted axes,
// in order.
func FreeAxes(rank int, batch, contract []int) []int {
	var free []int
	for i := range rank {
		if !slices.Contains(batch, i) && !slices.Contains(contract, i) {
			free = append(free, i)
		}
	}
	return free
}
