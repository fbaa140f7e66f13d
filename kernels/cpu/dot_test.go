package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestProductsOfAnyLayout contracts operands with axes in any order, after and before transposes, and compares with the
// reference.
func TestProductsOfAnyLayout(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	transposedResults, swapped, biased := 0, 0, 0
	for k := range 1600 {
		size := func() int { return []int{1, 2, 3, 5, 17}[r.IntN(5)] }
		type axis struct{ role, number, length int } // role: batch, contracted, free
		side := func(shared []axis) []axis {
			all := slices.Clone(shared)
			for i := range r.IntN(3) {
				all = append(all, axis{2, i, size()})
			}
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			return all
		}
		var shared []axis
		for role := range 2 {
			for i := range r.IntN(3) {
				shared = append(shared, axis{role, i, size()})
			}
		}
		left, right := side(shared), side(shared)
		axes := func(side []axis, role int) []int {
			var list []int
			for _, s := range shared {
				if s.role == role {
					list = append(list, slices.IndexFunc(side, func(a axis) bool { return a.role == role && a.number == s.number }))
				}
			}
			return list
		}
		p := ir.New("product")
		dtype := []ir.DType{ir.Float32, ir.Float64, ir.Int32}[r.IntN(3)]
		var inputs []reference.Value
		operand := func(side []axis) ir.Value {
			shape := make(ir.Shape, len(side))
			for i, a := range side {
				shape[i] = a.length
			}
			perm := r.Perm(len(shape))
			stored := make(ir.Shape, len(shape))
			for i, q := range perm {
				stored[q] = shape[i]
			}
			values := make([]float64, shape.Size())
			for i := range values {
				values[i] = float64(r.IntN(7) - 3)
			}
			v, err := reference.New(dtype, stored, values...)
			require.NoError(t, err)
			inputs = append(inputs, v)
			in := p.AddInput("", v.Type)
			out, err := p.Add("", ir.Transpose, ir.TransposeAttrs{Perm: perm}, in)
			require.NoError(t, err)
			return out[0]
		}
		a := ir.DotAttrs{LhsBatch: axes(left, 0), RhsBatch: axes(right, 0), LhsContract: axes(left, 1), RhsContract: axes(right, 1)}
		out, err := p.Add("", ir.Dot, a, operand(left), operand(right))
		require.NoError(t, err)
		if shape := p.Type(out[0]).Shape; k%2 == 0 || len(shape) == 0 {
			turned, err := p.Add("", ir.Transpose, ir.TransposeAttrs{Perm: r.Perm(len(shape))}, out[0])
			require.NoError(t, err)
			p.AddOutput("", turned[0])
		} else {
			bias, err := reference.New(dtype, shape[len(shape)-1:], []float64{1, -2, 3, -4, 5, 1, -2, 3, -4, 5, 1, -2, 3, -4, 5, 6, 7}[:shape[len(shape)-1]]...)
			require.NoError(t, err)
			inputs = append(inputs, bias)
			rows, err := p.Add("", ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{len(shape) - 1}}, p.AddInput("", bias.Type))
			require.NoError(t, err)
			sum, err := p.Add("", ir.Add, nil, out[0], rows[0])
			require.NoError(t, err)
			relu, err := p.Add("", ir.Relu, nil, sum[0])
			require.NoError(t, err)
			p.AddOutput("", relu[0])
		}
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		for _, plain := range []bool{false, true} {
			got := runOnce(t, p, inputs, plain)
			require.NoError(t, kernelstest.Compare(got[0], want[0], 1, true), fmt.Sprintf("%d: plain %v\n%v", k, plain, p)) // small integers: exact
		}
		q, err := pipelineFor(1).normal.Run(p)
		require.NoError(t, err)
		g := fuse.NewGraph(q)
		g.Group()
		for _, u := range g.Units {
			if u.Fused != nil && u.Fused.Bias >= 0 {
				biased++
			}
			if u.Fused != nil && u.Fused.Perm != nil {
				transposedResults++
				n := &q.Nodes[u.Fused.Anchor]
				d := n.Attrs.(ir.DotAttrs)
				l, _ := geometry.ProductLayout(q.Type(n.Outputs[0]).Shape, len(d.LhsBatch), q.Type(n.Inputs[0]).Shape.Rank()-len(d.LhsBatch)-len(d.LhsContract), u.Fused.Perm)
				if l.ColStride != 1 {
					swapped++
				}
			}
		}
	}
	require.Greater(t, transposedResults, 50)
	require.Greater(t, swapped, 10)
	require.Greater(t, biased, 20)
}

// TestProductsInAllWays multiplies matrices of sizes for all code paths, each stored in either orientation, with a bias
// and without.
func TestProductsInAllWays(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for i := range 96 {
		m, n, k := []int{1, 16, 40}[i/8%3], []int{30, 256}[i/24%2], []int{20, 256}[i/48]
		p := ir.New("product")
		var inputs []reference.Value
		operand := func(shape ...int) ir.Value {
			values := make([]float64, ir.Shape(shape).Size())
			for j := range values {
				values[j] = float64(r.IntN(7) - 3)
			}
			v, err := reference.New(ir.Float32, shape, values...)
			require.NoError(t, err)
			inputs = append(inputs, v)
			return p.AddInput("", v.Type)
		}
		a, left, right := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, []int{m, k}, []int{k, n}
		if i&1 != 0 {
			a.LhsContract[0], left = 0, []int{k, m}
		}
		if i&2 != 0 {
			a.RhsContract[0], right = 1, []int{n, k}
		}
		out, err := p.Add("", ir.Dot, a, operand(left...), operand(right...))
		require.NoError(t, err)
		if i&4 != 0 {
			rows, err := p.Add("", ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{m, n}, Axes: []int{1}}, operand(n))
			require.NoError(t, err)
			out, err = p.Add("", ir.Add, nil, out[0], rows[0])
			require.NoError(t, err)
		}
		p.AddOutput("", out[0])
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		require.NoError(t, kernelstest.Compare(runOnce(t, p, inputs, false)[0], want[0], 1, true), "%d: %d x %d x %d", i, m, n, k)
	}
}
