package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestExtremeGradients compares gradients of maxima and minima along neighbouring axes, in the form of their rule, with
// their definition: the elements that are equal to the extreme share the gradient, and if the extreme is NaN, so are
// all. Rows are short or long, some in parts. Some values have other readers, and are then computed separately.
func TestExtremeGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 11))
	fused, parts := 0, 0
	for try := range 120 {
		shape := ir.Shape{1 + r.IntN(4), 1 + r.IntN(40), 1 + r.IntN(20), 1 + r.IntN(5)/4*r.IntN(200) + r.IntN(70)}
		if try%20 == 0 {
			shape = ir.Shape{1 + r.IntN(2), 90 + r.IntN(40), 40, 1 + r.IntN(90)} // in parts
		}
		first := r.IntN(4)
		axes := []int{0, 1, 2, 3}[first : first+1+r.IntN(4-first)*r.IntN(2)]
		kind := []ir.Kind{ir.Max, ir.Min}[r.IntN(2)]
		p := ir.New("extremes")
		add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
			v, err := p.Add("", op, a, in...)
			require.NoError(t, err)
			return v[0]
		}
		kept := shape.Without(axes...)
		whole, start := shape, 0 // a part of which the extremes are, as those of adaptive pooling are
		if first > 0 && r.IntN(2) == 0 {
			whole, start = shape.Clone(), r.IntN(3)
			whole[first] += start + 1
		}
		x, dy := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: whole}), p.AddInput("dy", ir.Type{DType: ir.Float32, Shape: kept})
		if whole[first] > shape[first] {
			from, to, steps := make([]int, 4), whole.Clone(), []int{1, 1, 1, 1}
			from[first], to[first] = start, start+shape[first]
			x = add(ir.Slice, ir.SliceAttrs{Start: from, Limit: to, Stride: steps}, x)
		}
		wide := func(v ir.Value) ir.Value {
			s := shape.WithOnes(axes...)
			return add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{0, 1, 2, 3}}, add(ir.Reshape, ir.ReshapeAttrs{Shape: s}, v))
		}
		y := add(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: axes}, x)
		hit := add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, add(ir.Compare, ir.CompareAttrs{Direction: ir.Eq}, x, wide(y)))
		share := add(ir.Div, nil, dy, add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: axes}, hit))
		in := []ir.Value{hit, wide(share)}
		if r.IntN(2) == 0 {
			slices.Reverse(in)
		}
		p.AddOutput("dx", add(ir.Mul, nil, in...))
		p.AddOutput("y", y)
		if r.IntN(8) == 0 {
			p.AddOutput("hit", hit)
		} else if r.IntN(8) == 0 {
			p.AddOutput("share", share)
		}
		for _, u := range fuse.Build(p, fuse.Options{}).Units {
			if u.Fused != nil {
				fused++
				if whole[first] > shape[first] {
					parts++
				}
			}
		}
		xs, dys := make([]float64, shape.Size()), make([]float64, kept.Size())
		for i := range xs {
			if xs[i] = float64(r.IntN(9)); r.IntN(2000) == 0 {
				xs[i] = math.NaN()
			}
		}
		for i := range dys {
			dys[i] = float64(r.IntN(9) - 4)
		}
		all := xs
		if whole[first] > shape[first] {
			all = make([]float64, whole.Size())
			line, inside := shape[first:].Size(), shape[first+1:].Size()
			for o := range shape[:first].Size() {
				copy(all[(o*whole[first]+start)*inside:], xs[o*line:(o+1)*line])
			}
		}
		vx, err := reference.New(ir.Float32, whole, all...)
		require.NoError(t, err)
		vdy, err := reference.New(ir.Float32, kept, dys...)
		require.NoError(t, err)
		got := runOnce(t, p, []reference.Value{vx, vdy}, false)
		for i, want := range sharedGradient(shape, axes, kind, xs, dys) {
			v := got[0].At(i)
			require.True(t, v == want || v != v && want != want, "%v of %v along %v: element %d is %v, want %v", kind, shape, axes, i, v, want)
		}
		require.Equal(t, got[0].Bytes(), runWith(t, p, []reference.Value{vx, vdy}, 3)[0], "three workers")
	}
	require.Greater(t, fused-parts, 12)
	require.Greater(t, parts, 3, "of parts of an array")
}

// sharedGradient is the gradient with respect to xs, in float64 but for the quotient.
func sharedGradient(shape ir.Shape, axes []int, kind ir.Kind, xs, dys []float64) []float64 {
	place := func(i int) (to int) { // of the extreme that element i takes part in
		index := make([]int, len(shape))
		for a := len(shape) - 1; a >= 0; a-- {
			index[a], i = i%shape[a], i/shape[a]
		}
		for a, n := range shape {
			if !slices.Contains(axes, a) {
				to = to*n + index[a]
			}
		}
		return to
	}
	sign := map[ir.Kind]float64{ir.Max: 1, ir.Min: -1}[kind]
	top, count := make([]float64, len(dys)), make([]float64, len(dys))
	for k := range top {
		top[k] = math.Inf(-1)
	}
	for i, v := range xs {
		top[place(i)] = max(top[place(i)], sign*v)
	}
	for i, v := range xs {
		if sign*v == top[place(i)] {
			count[place(i)]++
		}
	}
	dx := make([]float64, len(xs))
	for i, v := range xs {
		hit := 0.0
		if sign*v == top[place(i)] {
			hit = 1
		}
		dx[i] = hit * float64(float32(dys[place(i)])/float32(count[place(i)]))
	}
	return dx
}
