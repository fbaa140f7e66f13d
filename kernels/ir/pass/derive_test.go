package pass_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestDerive: what a program computes from variables alone is taken out where that pays, and the parts compute together
// what it did.
func TestDerive(t *testing.T) {
	p := ir.New("program")
	b := b{t, p}
	x := b.input("x", ir.Float32, 3, 96)
	kernel, bytes, scale, small := b.input("kernel", ir.Float32, 96, 64), b.input("bytes", ir.Int8, 96, 1024), b.input("scale", ir.Float32, 1024), b.input("small", ir.Float32, 64)
	few := b.input("few", ir.Int8, 96, 64)
	dot := func(w ir.Value) ir.Value {
		return b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, w)
	}
	along := func(v ir.Value) ir.Value {
		return b.add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{96, p.Type(v).Shape[0]}, Axes: []int{1}}, v)
	}
	scaled := func(v, scale ir.Value) ir.Value {
		return b.add(ir.Mul, nil, b.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, v), along(scale))
	}
	mean := b.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, kernel)
	standard := b.add(ir.Sub, nil, kernel, along(mean))
	p.AddOutput("standardized", dot(standard))
	p.AddOutput("turned", b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, x, b.add(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, standard)))
	p.AddOutput("larger", dot(scaled(bytes, scale)))
	p.AddOutput("larger, but small", dot(scaled(few, small)))
	p.AddOutput("plain", b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, x, b.add(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, kernel)))
	rows := b.add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{3, 64}, Axes: []int{1}}, b.add(ir.Exp, nil, small))
	p.AddOutput("small", b.add(ir.Add, nil, dot(kernel), rows))
	p.AddOutput("alone", mean)

	rest, derived, err := pass.Derive(p, []int{1, 2, 3, 4, 5})
	require.NoError(t, err)
	require.NoError(t, rest.Verify())
	require.Len(t, derived, 2, "%v", rest)
	require.Equal(t, []int{1}, derived[0].Inputs)
	require.Equal(t, []int{4, 5}, derived[1].Inputs)
	require.NoError(t, derived[0].Program.Verify())
	require.NoError(t, derived[1].Program.Verify())
	var inputs []reference.Value
	for _, in := range p.Inputs {
		typ := p.Type(in.Value)
		numbers := make([]float64, typ.Shape.Size())
		for i := range numbers {
			numbers[i] = float64(i*7%13) - 5
		}
		v, err := reference.New(typ.DType, typ.Shape, numbers...)
		require.NoError(t, err)
		inputs = append(inputs, v)
	}
	want, err := reference.Run(p, inputs)
	require.NoError(t, err)
	value, err := reference.Run(derived[0].Program, inputs[1:2])
	require.NoError(t, err)
	wide, err := reference.Run(derived[1].Program, inputs[4:6])
	require.NoError(t, err)
	got, err := reference.Run(rest, append(append(inputs, value...), wide...))
	require.NoError(t, err)
	for i := range want {
		require.Equal(t, want[i].Bytes(), got[i].Bytes(), p.Outputs[i].Name)
		require.Equal(t, p.Outputs[i].Name, rest.Outputs[i].Name)
	}
	require.Equal(t, "kernel", rest.Inputs[1].Name)

	same, none, err := pass.Derive(p, []int{3, 4})
	require.NoError(t, err)
	require.Same(t, p, same)
	require.Empty(t, none)
}
