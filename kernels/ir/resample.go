package ir

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Length is the new length of the axis.
func (a ResampleAttrs) Length() int { return len(a.Cells) / a.Taps }

func inferResample(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ResampleAttrs)
	if !ok {
		return nil, fmt.Errorf("needs ResampleAttrs, received %T", attrs)
	}
	x := in[0]
	if !x.DType.IsFloat() || a.Axis < 0 || a.Axis >= len(x.Shape) {
		return nil, fmt.Errorf("needs floats with an axis %d, received %v", a.Axis, x)
	}
	if a.Taps < 1 || len(a.Cells)%a.Taps != 0 || len(a.Weights) != len(a.Cells) {
		return nil, fmt.Errorf("%d cells and %d weights must be as many, a multiple of the %d taps", len(a.Cells), len(a.Weights), a.Taps)
	}
	for i, cell := range a.Cells {
		if n := x.Shape[a.Axis]; cell < 0 || dim.Known(n) && cell >= n {
			return nil, fmt.Errorf("tap %d of cell %d reads cell %d of an axis of length %s", i%a.Taps, i/a.Taps, cell, dim.String(n))
		}
	}
	shape := x.Shape.Clone()
	shape[a.Axis] = a.Length()
	return []Type{{x.DType, shape}}, nil
}

// Transposed returns the attributes of the transposed sum, which maps the gradients of the result to those of an
// operand of the given length. Cell j gets the gradient of each cell i that it contributes to, with the same weight.
// Padding with weights of 0 would make NaN of an infinite gradient. So cells with fewer taps than others split their
// first tap into parts, and cells without any tap read the cell behind the last one, which must be there and hold
// zeros, if [ResampleAttrs.Cells] refers to it.
func (a ResampleAttrs) Transposed(length int) ResampleAttrs {
	type use struct {
		cell   int
		weight float64
	}
	uses := make([][]use, length)
	for k, cell := range a.Cells {
		list := uses[cell]
		switch last := len(list) - 1; {
		case a.Weights[k] == 0:
		case last >= 0 && list[last].cell == k/a.Taps: // a cell that takes another one twice
			list[last].weight += a.Weights[k]
		default:
			uses[cell] = append(list, use{k / a.Taps, a.Weights[k]})
		}
	}
	t := ResampleAttrs{Axis: a.Axis, Taps: 1}
	for _, list := range uses {
		t.Taps = max(t.Taps, len(list))
	}
	t.Cells, t.Weights = make([]int, length*t.Taps), make([]float64, length*t.Taps)
	for j, list := range uses {
		if len(list) == 0 {
			list = []use{{a.Length(), 1}}
		}
		cells, weights := t.Cells[j*t.Taps:(j+1)*t.Taps], t.Weights[j*t.Taps:(j+1)*t.Taps]
		parts := t.Taps - len(list) + 1
		inParts(weights[:parts], list[0].weight)
		for k := range cells {
			u := list[max(k-parts+1, 0)]
			if cells[k] = u.cell; k >= parts {
				weights[k] = u.weight
			}
		}
	}
	return t
}

// inParts splits a weight into parts, the smallest first. Each part is the sum of those before it, so that sums of
// products with them round as the product with the weight does. If that would make the smallest parts too small, these
// are equal: they then matter too little.
func inParts(parts []float64, weight float64) {
	for range 32 {
		if last := len(parts) - 1; last > 0 {
			weight /= 2
			parts[last], parts = weight, parts[:last]
		}
	}
	for i := range parts {
		parts[i] = weight / float64(len(parts))
	}
}

func init() {
	decompositions[Resample] = func(b *builder, n *Node) []Value {
		a, x := n.Attrs.(ResampleAttrs), b.wide(n.Inputs[0])
		length := a.Length()
		shape := b.shape(x).Clone()
		shape[a.Axis] = length
		if length == 0 {
			return []Value{b.zeros(Type{b.typ(n.Inputs[0]).DType, shape})}
		}
		var sum Value
		for t := range a.Taps {
			cells, weights := make([]float64, length), make([]float64, length)
			for i := range length {
				cells[i], weights[i] = float64(a.Cells[i*a.Taps+t]), a.Weights[i*a.Taps+t]
			}
			part := b.op(Gather, GatherAttrs{Axis: a.Axis, Mode: IndexClip}, x, b.list(Uint32, cells))
			part = b.mul(part, b.op(Broadcast, BroadcastAttrs{Shape: shape, Axes: []int{a.Axis}}, b.list(b.typ(x).DType, weights)))
			if t == 0 {
				sum = part
			} else {
				sum = b.add(sum, part)
			}
		}
		return b.narrow(n.Inputs[0], sum)
	}
}

// list is a constant of one axis.
func (b *builder) list(d DType, values []float64) Value {
	literal, err := Floats(d, Shape{len(values)}, values)
	if err != nil {
		panic(buildError{err})
	}
	return b.op(Constant, ConstantAttrs{literal})
}
