package ops_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// starts converts the elements of a vector to int32 scalars.
func starts(v *ops.Tensor) []*ops.Tensor { return ops.Unstack(v, 0) }

func init() {
	x := opstest.Normal(1, 2, 3, 4)
	empty := opstest.Normal(1, 2, 0, 4)
	shapes := []struct {
		name string
		f    func(x *ops.Tensor) *ops.Tensor
	}{
		{"reshape", func(x *ops.Tensor) *ops.Tensor { return ops.Reshape(x, 4, x.Dim(1), 2) }},
		{"transpose", func(x *ops.Tensor) *ops.Tensor { return ops.Transpose(x, 1, 2, 0) }},
		{"transpose reversed", func(x *ops.Tensor) *ops.Tensor { return ops.Transpose(x) }},
		{"move axis", func(x *ops.Tensor) *ops.Tensor { return ops.MoveAxis(x, -1, 0) }},
		{"swap axes", func(x *ops.Tensor) *ops.Tensor { return ops.SwapAxes(x, 0, -1) }},
		{"expand and squeeze", func(x *ops.Tensor) *ops.Tensor { return ops.Squeeze(ops.ExpandDims(x, -1), -1) }},
		{"broadcast", func(x *ops.Tensor) *ops.Tensor {
			return ops.BroadcastTo(ops.ExpandDims(x, 1), 5, 2, 7, x.Dim(1), 4)
		}},
		{"slice", func(x *ops.Tensor) *ops.Tensor { return ops.SliceAxis(x, -1, 1, 3) }},
		{"slice nothing", func(x *ops.Tensor) *ops.Tensor { return ops.SliceAxis(x, 0, 1, 1) }},
		{"strided slice", func(x *ops.Tensor) *ops.Tensor {
			return ops.StridedSlice(x, []int{0, 0, 0}, []int{2, x.Dim(1), 4}, []int{1, 2, 3})
		}},
		{"strided slice, rest", func(x *ops.Tensor) *ops.Tensor {
			return ops.StridedSlice(x, []int{1, 0, 1}, []int{2, x.Dim(1), 4}, []int{1, 1, 2})
		}},
		{"index", func(x *ops.Tensor) *ops.Tensor { return ops.Index(x, 0, -1) }},
		{"pad", func(x *ops.Tensor) *ops.Tensor { return ops.Pad(x, []int{1, 0, 2}, []int{0, 2, 1}, 3) }},
		{"pad that cuts", func(x *ops.Tensor) *ops.Tensor { return ops.Pad(x, []int{-1, 0, 0}, []int{0, 0, -2}, 3) }},
		{"concatenate", func(x *ops.Tensor) *ops.Tensor { return ops.Concatenate(1, x, ops.Square(x), x) }},
		{"stack", func(x *ops.Tensor) *ops.Tensor { return ops.Stack(-1, x, ops.Square(x)) }},
		{"split", func(x *ops.Tensor) *ops.Tensor {
			parts := ops.Split(x, 2, 2)
			return ops.Multiply(parts[0], ops.Square(parts[1]))
		}},
		{"split at", func(x *ops.Tensor) *ops.Tensor {
			parts := ops.SplitAt(x, []int{1, 1, 3}, -1)
			return ops.Add(ops.Multiply(parts[0], ops.Sum(parts[2])), ops.Sum(parts[1]))
		}},
		{"unstack", func(x *ops.Tensor) *ops.Tensor {
			parts := ops.Unstack(x, -1)
			return ops.Multiply(parts[0], parts[3])
		}},
		{"flip", func(x *ops.Tensor) *ops.Tensor { return ops.Flip(x, 0, -1) }},
		{"flip all", func(x *ops.Tensor) *ops.Tensor { return ops.Flip(x) }},
		{"roll", func(x *ops.Tensor) *ops.Tensor { return ops.Roll(x, -3, 2) }},
		{"repeat", func(x *ops.Tensor) *ops.Tensor { return ops.Repeat(x, 3, 1) }},
		{"tile", func(x *ops.Tensor) *ops.Tensor { return ops.Tile(x, 2, 1, 3, 2) }},
		{"tril", func(x *ops.Tensor) *ops.Tensor { return ops.Tril(x, 1) }},
		{"triu", func(x *ops.Tensor) *ops.Tensor { return ops.Triu(x, -1) }},
		{"diagonal", func(x *ops.Tensor) *ops.Tensor { return ops.Diagonal(x, 2, 1) }},
		{"trace", func(x *ops.Tensor) *ops.Tensor { return ops.Trace(x, 0, 2) }},
		{"diag", func(x *ops.Tensor) *ops.Tensor { return ops.Diag(ops.Ravel(x)) }},
	}
	for _, s := range shapes {
		for _, in := range []opstest.Array{x, empty} {
			addCase(caseName(s.name, in), true, unary(func(x *ops.Tensor) *ops.Tensor { return s.f(ops.Square(x)) }), in)
		}
	}
	addCase("padding value", true, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.PadWith(in[0], []int{1, -1}, []int{2, 0}, in[1])}
	}, opstest.Normal(2, 2, 3), opstest.Scalar(0.7))
	// Starts beyond the end are moved back.
	at := opstest.Ints([]int{2}, 1, 9)
	addCase("dynamic slice", true, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.DynamicSlice(ops.Square(in[0]), starts(in[1]), 2, 2)}
	}, opstest.Normal(1, 4, 3), at)
	addCase("slice update", true, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return []*ops.Tensor{ops.Square(ops.SliceUpdate(in[0], starts(in[2]), in[1]))}
	}, opstest.Normal(1, 4, 3), opstest.Normal(2, 2, 2), at)
	addCase("meshgrid", true, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		return append(ops.Meshgrid(true, in...), ops.Meshgrid(false, in...)...)
	}, opstest.Normal(1, 3), opstest.Normal(2, 2), opstest.Normal(3, 1))
}

func TestShapeResults(t *testing.T) {
	x := opstest.Floats([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	tests := []struct {
		name  string
		f     func(x *ops.Tensor) *ops.Tensor
		shape []int
		want  []float64
	}{
		{"repeat", func(x *ops.Tensor) *ops.Tensor { return ops.Repeat(x, 2, -1) }, []int{2, 6}, []float64{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}},
		{"repeat nothing", func(x *ops.Tensor) *ops.Tensor { return ops.Repeat(x, 0, 0) }, []int{0, 3}, []float64{}},
		{"tile", func(x *ops.Tensor) *ops.Tensor { return ops.Tile(x, 2) }, []int{2, 6}, []float64{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
		{"roll", func(x *ops.Tensor) *ops.Tensor { return ops.Roll(x, 4, 1) }, []int{2, 3}, []float64{3, 1, 2, 6, 4, 5}},
		{"roll back", func(x *ops.Tensor) *ops.Tensor { return ops.Roll(x, -1, -1) }, []int{2, 3}, []float64{2, 3, 1, 5, 6, 4}},
		{"tril", func(x *ops.Tensor) *ops.Tensor { return ops.Tril(x, 0) }, []int{2, 3}, []float64{1, 0, 0, 4, 5, 0}},
		{"tril of everything", func(x *ops.Tensor) *ops.Tensor { return ops.Tril(x, math.MaxInt32) }, []int{2, 3}, []float64{1, 2, 3, 4, 5, 6}},
		{"triu of nothing", func(x *ops.Tensor) *ops.Tensor { return ops.Triu(x, math.MaxInt) }, []int{2, 3}, []float64{0, 0, 0, 0, 0, 0}},
		{"triu of everything", func(x *ops.Tensor) *ops.Tensor { return ops.Triu(x, math.MinInt) }, []int{2, 3}, []float64{1, 2, 3, 4, 5, 6}},
		{"triu", func(x *ops.Tensor) *ops.Tensor { return ops.Triu(x, 1) }, []int{2, 3}, []float64{0, 2, 3, 0, 0, 6}},
		{"triu of a row", func(x *ops.Tensor) *ops.Tensor { return ops.Triu(ops.Reshape(x, 1, 6), 2) }, []int{1, 6}, []float64{0, 0, 3, 4, 5, 6}},
		{"triu of a row, all", func(x *ops.Tensor) *ops.Tensor { return ops.Triu(ops.Reshape(x, 1, 6), math.MinInt) }, []int{1, 6}, []float64{1, 2, 3, 4, 5, 6}},
		{"triu of a row, nothing", func(x *ops.Tensor) *ops.Tensor { return ops.Triu(ops.Reshape(x, 1, 6), math.MaxInt) }, []int{1, 6}, []float64{0, 0, 0, 0, 0, 0}},
		{"tril of a row", func(x *ops.Tensor) *ops.Tensor { return ops.Tril(ops.Reshape(x, 1, 6), 1) }, []int{1, 6}, []float64{1, 2, 0, 0, 0, 0}},
		{"tril of a row, nothing", func(x *ops.Tensor) *ops.Tensor { return ops.Tril(ops.Reshape(x, 1, 6), -1) }, []int{1, 6}, []float64{0, 0, 0, 0, 0, 0}},
		{"tril of a row, all", func(x *ops.Tensor) *ops.Tensor { return ops.Tril(ops.Reshape(x, 1, 6), math.MaxInt) }, []int{1, 6}, []float64{1, 2, 3, 4, 5, 6}},
		{"tril of rows", func(x *ops.Tensor) *ops.Tensor { return ops.Tril(ops.Reshape(x, 2, 1, 3), 0) }, []int{2, 1, 3}, []float64{1, 0, 0, 4, 0, 0}},
		{"triu of bools", func(x *ops.Tensor) *ops.Tensor {
			return ops.Cast(ops.Triu(ops.Cast(ops.Reshape(x, 1, 6), ir.Bool), 3), ir.Float64)
		}, []int{1, 6}, []float64{0, 0, 0, 1, 1, 1}},
		{"tri", func(x *ops.Tensor) *ops.Tensor { return ops.Tri(x, ir.Float64, 2, 3, -1) }, []int{2, 3}, []float64{0, 0, 0, 1, 0, 0}},
		{"diagonal", func(x *ops.Tensor) *ops.Tensor { return ops.Diagonal(x, 0, 1) }, []int{2}, []float64{1, 5}},
		{"diagonal of a tall matrix", func(x *ops.Tensor) *ops.Tensor { return ops.Diagonal(x, 1, 0) }, []int{2}, []float64{1, 5}},
		{"diag", func(x *ops.Tensor) *ops.Tensor { return ops.Diag(ops.Index(x, 0, 1)) }, []int{3, 3}, []float64{4, 0, 0, 0, 5, 0, 0, 0, 6}},
		{"move axis", func(x *ops.Tensor) *ops.Tensor { return ops.MoveAxis(x, 0, 1) }, []int{3, 2}, []float64{1, 4, 2, 5, 3, 6}},
		{"flip", func(x *ops.Tensor) *ops.Tensor { return ops.Flip(x, 1) }, []int{2, 3}, []float64{3, 2, 1, 6, 5, 4}},
		{"outer", func(x *ops.Tensor) *ops.Tensor { return ops.Outer(ops.Index(x, 1, 0), ops.Index(x, 0, 0)) }, []int{2, 3}, []float64{1, 2, 3, 4, 8, 12}},
		{"linspace", func(x *ops.Tensor) *ops.Tensor { return ops.Linspace(x, ir.Float64, 1, 2, 5) }, []int{5}, []float64{1, 1.25, 1.5, 1.75, 2}},
		{"linspace of one", func(x *ops.Tensor) *ops.Tensor { return ops.Linspace(x, ir.Float64, 1, 2, 1) }, []int{1}, []float64{1}},
		{"eye", func(x *ops.Tensor) *ops.Tensor { return ops.Eye(x, ir.Float64, 2, 3) }, []int{2, 3}, []float64{1, 0, 0, 0, 1, 0}},
		{"meshgrid", func(x *ops.Tensor) *ops.Tensor {
			return ops.Meshgrid(true, ops.Index(x, 0, 0), ops.Index(x, 1, 0))[0]
		}, []int{2, 3}, []float64{1, 2, 3, 1, 2, 3}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			opstest.Near(t, test.name, opstest.Eval(t, unary(test.f), x)[0], opstest.Floats(test.shape, test.want...), 0, 0)
		})
	}
}

func TestShapeErrors(t *testing.T) {
	x := opstest.Normal(1, 2, 3)
	tests := []struct {
		f    func(x *ops.Tensor) *ops.Tensor
		want string
	}{
		{func(x *ops.Tensor) *ops.Tensor { return ops.Reshape(x, 4, -1) }, "cannot work out the -1 in [4 -1] for 6 elements of [2 3]"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Reshape(x, -1, -1) }, "-1"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Reshape(x, 5) }, "cannot reshape [2 3] (6 elements) to [5] (5)"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Transpose(x, 0) }, "not an order of the 2 axes"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Transpose(x, 0, 0) }, "not a permutation"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Sum(x, 2) }, "axis 2 is outside shape [2 3]; expected -2 to 1"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Squeeze(x, 1) }, "axis 1 of [2 3] has length 3, not 1"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.SliceAxis(x, 0, 1, 5) }, "does not fit axis 0"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Index(x, 1, 3) }, "position 3 is outside axis 1 of [2 3]"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Index(x, 1, -4) }, "position -4 is outside axis 1 of [2 3]"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Split(x, 2, 1)[0] }, "does not divide into 2 equal parts"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.SplitAt(x, []int{2, 1}, 1)[0] }, "must not decrease"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Pad(x, []int{1}, []int{1}, 0) }, "one entry for each axis"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Concatenate(0, x, ops.Transpose(x)) }, "must agree in all axes but 0"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.BroadcastTo(x, 3, 3) }, "cannot broadcast [2 3] to [3 3]"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Repeat(x, -1, 0) }, "must not be negative"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Tile(x, -1) }, "must not be negative"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Diag(x) }, "needs a vector"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Diagonal(x, 0, -2) }, "two different axes"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Tril(ops.Ravel(x), 0) }, "rank 2"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Meshgrid(false, x)[0] }, "needs vectors"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Stack(0) }, "at least one"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Add(x, nil) }, "operand is nil"},
		{func(x *ops.Tensor) *ops.Tensor { return ops.Add(nil, nil) }, "operand is nil"},
	}
	for _, test := range tests {
		require.ErrorContains(t, opstest.EvalError(unary(test.f), x), test.want, test.want)
	}
}

// TestDiagonals takes diagonals of any two axes, adjacent or not.
func TestDiagonals(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 6))
	for try := range 60 {
		shape := make([]int, 2+r.IntN(3))
		for i := range shape {
			shape[i] = 1 + r.IntN(5)
		}
		axes := r.Perm(len(shape))
		x := opstest.Normal(try, shape...)
		got := opstest.Eval(t, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Diagonal(x, axes[0], axes[1]) }), x)[0]
		var rest []int
		for i := range shape {
			if i != axes[0] && i != axes[1] {
				rest = append(rest, i)
			}
		}
		strides := ir.Shape(shape).Strides()
		var want []float64
		var walk func(k, at int)
		walk = func(k, at int) {
			if k < len(rest) {
				for i := range shape[rest[k]] {
					walk(k+1, at+i*strides[rest[k]])
				}
				return
			}
			for i := range min(shape[axes[0]], shape[axes[1]]) {
				want = append(want, x.F[at+i*(strides[axes[0]]+strides[axes[1]])])
			}
		}
		walk(0, 0)
		require.Equal(t, want, got.F, "%v of %v", axes[:2], shape)
	}
}
