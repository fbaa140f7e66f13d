//go:build linux

package cuda

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// builder writes a program and keeps the first error.
type builder struct {
	*ir.Program
	err error
}

func (b *builder) add(op ir.Op, attrs ir.Attrs, inputs ...ir.Value) ir.Value {
	if b.err != nil {
		return 0
	}
	out, err := b.Add("collective", op, attrs, inputs...)
	if err != nil {
		b.err = err
		return 0
	}
	return out[0]
}

// combine is the program by which a replica computes its result of a collective from the operands of n replicas, of
// type t. Numbers are combined in the order of the replicas; 16-bit numbers are combined in float32.
func combine(op ir.Op, a ir.CollectiveAttrs, t ir.Type, n, replica int) (*ir.Program, error) {
	b := &builder{Program: ir.New(fmt.Sprintf("%v of %v over %d", op, t, n))}
	all := make([]ir.Value, n)
	for i := range all {
		all[i] = b.AddInput(fmt.Sprint("x", i), t)
	}
	var y ir.Value
	switch op {
	case ir.AllGather:
		y = b.add(ir.Concat, ir.AxisAttrs{Axis: a.Axis}, all...)
	case ir.CollectiveBroadcast:
		y = b.add(ir.Identity, nil, all[a.Root])
	case ir.ReduceScatter:
		low, high, stride := make([]int, len(t.Shape)), t.Shape.Clone(), make([]int, len(t.Shape))
		for i := range stride {
			stride[i] = 1
		}
		size := t.Shape[a.Axis] / n
		low[a.Axis], high[a.Axis] = replica*size, (replica+1)*size
		for i, x := range all {
			all[i] = b.add(ir.Slice, ir.SliceAttrs{Start: low, Limit: high, Stride: stride}, x)
		}
		y = b.reduce(a.Kind, t.DType, all)
	default:
		y = b.reduce(a.Kind, t.DType, all)
	}
	b.AddOutput("y", y)
	return b.Program, b.err
}

// reduce combines values elementwise.
func (b *builder) reduce(kind ir.Kind, d ir.DType, all []ir.Value) ir.Value {
	ops := map[ir.Kind]ir.Op{ir.Sum: ir.Add, ir.Mean: ir.Add, ir.Max: ir.Maximum, ir.Min: ir.Minimum, ir.Prod: ir.Mul}
	op, ok := ops[kind]
	if !ok && b.err == nil {
		b.err = fmt.Errorf("cuda: values of replicas cannot be combined by %q", kind)
	}
	wide := d.IsHalf()
	var y ir.Value
	for i, x := range all {
		if wide {
			x = b.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, x)
		}
		if i == 0 {
			y = x
		} else {
			y = b.add(op, nil, y, x)
		}
	}
	if kind == ir.Mean && b.err == nil {
		t := b.Type(y)
		y = b.add(ir.Div, nil, y, b.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(t.DType, float64(len(all)), t.Shape...)}))
	}
	if wide {
		y = b.add(ir.Convert, ir.ConvertAttrs{DType: d}, y)
	}
	return y
}

// pickFlag is the program that returns the first of n failure flags that is set, or the last one.
func pickFlag(n int) (*ir.Program, error) {
	const words = lower.FlagBytes / 4
	b := &builder{Program: ir.New("failure of any replica")}
	t := ir.Type{DType: ir.Uint32, Shape: ir.Shape{words}}
	all := make([]ir.Value, n)
	for i := range all {
		all[i] = b.AddInput(fmt.Sprint("flag", i), t)
	}
	y := all[n-1]
	for i := n - 2; i >= 0; i-- {
		first := b.add(ir.Reshape, ir.ReshapeAttrs{}, b.add(ir.Slice, ir.SliceAttrs{Start: []int{0}, Limit: []int{1}, Stride: []int{1}}, all[i]))
		zero := b.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Uint32, 0)})
		set := b.add(ir.Compare, ir.CompareAttrs{Direction: ir.Ne}, first, zero)
		y = b.add(ir.Select, nil, b.add(ir.Broadcast, ir.BroadcastAttrs{Shape: t.Shape}, set), all[i], y)
	}
	b.AddOutput("flag", y)
	return b.Program, b.err
}
