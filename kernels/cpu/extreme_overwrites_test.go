package cpu

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestExtremeGradientBesideItsExtreme: the gradient of a maximum does not overwrite the maximum, even if that is part
// of a value as large as the gradient.
func TestExtremeGradientBesideItsExtreme(t *testing.T) {
	const l, c = 9, 96
	g := graphBuilder{t, ir.New("alias")}
	x := g.p.AddInput("x", single(1, l, c))
	in := g.p.AddInput("z", single(l, c))
	dy := g.p.AddInput("dy", single(1, c))
	z := g.one(ir.Sort, ir.SortAttrs{}, in)
	y := g.one(ir.Slice, ir.SliceAttrs{Start: []int{0, 0}, Limit: []int{1, c}, Stride: []int{1, 1}}, z)
	wide := func(v ir.Value) ir.Value {
		return g.one(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{1, l, c}, Axes: []int{0, 2}}, v)
	}
	hit := g.one(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, g.one(ir.Compare, ir.CompareAttrs{Direction: ir.Eq}, x, wide(y)))
	share := g.one(ir.Div, nil, dy, g.one(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{1}}, hit))
	dx := g.one(ir.Mul, nil, hit, wide(share))
	g.p.AddOutput("dx", g.one(ir.Sort, ir.SortAttrs{}, dx))
	require.True(t, slices.ContainsFunc(fuse.Build(g.p, fuse.Options{}).Units, func(u *fuse.Unit) bool { return u.Fused != nil }))
	values := func(s ir.Shape, f func(i int) float64) reference.Value {
		xs := make([]float64, s.Size())
		for i := range xs {
			xs[i] = f(i)
		}
		v, err := reference.New(ir.Float32, s, xs...)
		require.NoError(t, err)
		return v
	}
	inputs := []reference.Value{
		values(ir.Shape{1, l, c}, func(i int) float64 { return float64(i * 7 % 3) }),
		values(ir.Shape{l, c}, func(i int) float64 { return float64(i % 3) }),
		values(ir.Shape{1, c}, func(i int) float64 { return float64(i) + 1 }),
	}
	want, err := reference.Run(g.p, inputs)
	require.NoError(t, err)
	got := runOnce(t, g.p, inputs, false)
	require.NoError(t, kernelstest.Compare(got[0], want[0], 4, true))
}
