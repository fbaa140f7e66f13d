package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

var (
	batches = []Sizes{{7919, 64}, {7927, 64}, {7933, 64}}
	lengths = []Sizes{{7919, 64}, {7919, 96}, {7919, 160}}
	both    = []Sizes{{7919, 64}, {7927, 64}, {7919, 96}, {7927, 96}, {7933, 160}}
)

func TestSolveDim(t *testing.T) {
	for _, c := range []struct {
		sizes []Sizes
		f     func(b, l int) int
		want  dim
	}{
		{batches, func(int, int) int { return 5 }, dim{constant: 5}},
		{batches, func(b, _ int) int { return b }, dim{batch: 1}},
		{batches, func(b, _ int) int { return 4*b + 3 }, dim{batch: 4, constant: 3}},
		{batches, func(b, _ int) int { return b * b }, dim{odd: true}},
		{batches, func(b, _ int) int { return b % 7 }, dim{odd: true}},
		{lengths, func(_, l int) int { return 2*l - 1 }, dim{length: 2, constant: -1}},
		{lengths, func(_, l int) int { return (l + 1) / 2 }, dim{odd: true}},
		{both, func(b, _ int) int { return b }, dim{batch: 1}},
		{both, func(_, l int) int { return l }, dim{length: 1}},
		{both, func(b, l int) int { return b * l }, dim{both: 1}},
		{both, func(b, l int) int { return 3*b*l + 2*b + 5*l + 7 }, dim{both: 3, batch: 2, length: 5, constant: 7}},
		{both, func(b, l int) int { return b * l * l }, dim{odd: true}},
		{both[:1], func(b, _ int) int { return b }, dim{constant: 7919}},
	} {
		seen := make([]int, len(c.sizes))
		for i, s := range c.sizes {
			seen[i] = c.f(s.Batch, s.Length)
		}
		require.Equal(t, c.want, solveDim(c.sizes, seen), "%v", seen)
	}
	require.Equal(t, "3*batch*length+2*batch+5*length+7", dim{both: 3, batch: 2, length: 5, constant: 7}.String())
	require.Equal(t, "0", dim{}.String())
}

func TestEquation(t *testing.T) {
	a := ir.DotAttrs{LhsBatch: []int{1}, RhsBatch: []int{0}, LhsContract: []int{3, 0}, RhsContract: []int{1, 3}}
	require.Equal(t, "cadb,abec->ade", equation(a, 4, 4))
}

func TestMarshalRefuses(t *testing.T) {
	trace := ir.New("p")
	x := trace.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{2}})
	y, err := trace.Add("layer", ir.Lgamma, nil, x)
	require.NoError(t, err)
	trace.AddOutput("y", y[0])
	p := Program{Name: "p", Traces: []*ir.Program{trace}, Sizes: batches[:1], Inputs: []Input{{Name: "x"}}, Outputs: []string{"y"}}
	_, err = p.Marshal()
	require.ErrorContains(t, err, `layer "layer": lgamma: ONNX has no such operation`)
	p.Weights = []*Weight{{Path: "w", Value: kernels.NewArray(ir.Type{DType: ir.Float32})}}
	_, err = p.Marshal()
	require.ErrorContains(t, err, "1 inputs")
	p.Sizes = nil
	_, err = p.Marshal()
	require.ErrorContains(t, err, "sizes")
}
