package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	n := opstest.Normal
	x := n(1, 3, 4, 2)
	positions := opstest.Ints([]int{2, 2}, 2, -3, 0, 2)
	for axis := -3; axis < 3; axis++ {
		i := positions
		if axis == 2 || axis == -1 {
			i = opstest.Ints([]int{2, 2}, 1, -2, 0, 1)
		}
		addCase(caseName("take", x)+caseName(axis), true, binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.Take(ops.Square(x), i, axis) }), x, i)
	}
	addCase("take nothing", true, binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.Take(x, i, 1) }), x, opstest.Ints([]int{0}))
	addCase("take one", true, binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.Take(x, i, 0) }), x, opstest.Ints(nil, 1))
	addCase("embedding", true, binary(func(table, i *ops.Tensor) *ops.Tensor { return ops.Square(ops.Embedding(table, i)) }), n(1, 4, 2), opstest.Ints([]int{2, 3}, 0, 3, 3, 1, 0, 0))
	addCase("take along axis", true, binary(func(x, i *ops.Tensor) *ops.Tensor {
		return ops.TakeAlongAxis(ops.Square(x), i, 1)
	}), n(1, 2, 3, 2), opstest.Ints([]int{2, 2, 1}, 0, 2, -1, 2))
	for _, name := range []string{"add", "update", "max", "min"} {
		f := map[string]func(x, i, u *ops.Tensor, axis int) *ops.Tensor{
			"add": ops.ScatterAdd, "update": ops.ScatterUpdate, "max": ops.ScatterMax, "min": ops.ScatterMin,
		}[name]
		for axis := range 2 {
			u := n(2, 3, 2)
			if axis == 1 {
				u = n(2, 4, 3)
			}
			addCase(caseName("scatter "+name, u), true, ternary(func(x, i, u *ops.Tensor) *ops.Tensor {
				return ops.Square(f(ops.Square(x), i, u, axis))
			}), n(1, 4, 2), opstest.Ints([]int{3}, 1, -1, 1), u)
		}
	}
	segments := opstest.Ints([]int{5}, 0, 2, 0, 7, 2) // 7 is left out, segment 1 is empty
	addCase("segment sum", true, binary(func(x, s *ops.Tensor) *ops.Tensor { return ops.Square(ops.SegmentSum(x, s, 3)) }), n(1, 5, 2), segments)
	addCase("segment max", true, binary(func(x, s *ops.Tensor) *ops.Tensor {
		return ops.Square(ops.MaximumScalar(ops.SegmentMax(x, s, 3), -9))
	}), opstest.Distinct(1, 0.3, 5, 2), segments)
	addCase("segment prod", true, binary(func(x, s *ops.Tensor) *ops.Tensor { return ops.Square(ops.SegmentProd(x, s, 3)) }), n(1, 5, 2), segments)
	zeros := opstest.Floats([]int{5}, 0, 3, 2, 0, 0)
	addCase("segment prod with zeros", false, binary(func(x, s *ops.Tensor) *ops.Tensor { return ops.SegmentProd(x, s, 3) }), zeros, opstest.Ints([]int{5}, 0, 2, 0, 2, 2))

	distinct := opstest.Distinct(4, 0.3, 2, 4, 3)
	for axis := range 3 {
		addCase(caseName("sort", distinct)+caseName(axis), true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Square(ops.Sort(x, axis)) }), distinct)
	}
	for _, k := range []int{0, 1, 3} {
		addCase(caseName("top")+caseName(k), true, unary(func(x *ops.Tensor) *ops.Tensor {
			values, _ := ops.TopK(x, k)
			return ops.Square(values)
		}), distinct)
	}
	addCase("sort nothing", true, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Sort(x, 0) }), n(1, 0, 2))
}

func TestGatherResults(t *testing.T) {
	x := opstest.Floats([]int{3, 2}, 1, 2, 3, 4, 5, 6)
	i := opstest.Ints([]int{3}, 2, -3, 2)
	out := opstest.Eval(t, func(g *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		x, i := in[0], in[1]
		u := ops.Constant(g, x.DType(), ir.Shape{3, 2}, []float64{10, 20, 30, 40, 50, 60})
		along := ops.TakeAlongAxis(x, ops.Constant(g, ir.Int32, ir.Shape{1, 2}, []float64{2, -2}), 0)
		return []*ops.Tensor{
			ops.Take(x, i, 0), ops.ScatterAdd(x, i, u, 0), ops.ScatterUpdate(x, i, u, 0), ops.ScatterMax(x, i, ops.Negative(u), 0), along,
			ops.SegmentSum(x, ops.Constant(g, ir.Int32, ir.Shape{3}, []float64{1, -1, 1}), 3),
			ops.SegmentMax(x, ops.Constant(g, ir.Int32, ir.Shape{3}, []float64{1, 0, 1}), 3),
		}
	}, x, i)
	inf := math.Inf(1)
	want := []opstest.Array{
		opstest.Floats([]int{3, 2}, 5, 6, 1, 2, 5, 6),
		opstest.Floats([]int{3, 2}, 31, 42, 3, 4, 65, 86),
		opstest.Floats([]int{3, 2}, 30, 40, 3, 4, 50, 60),
		opstest.Floats([]int{3, 2}, 1, 2, 3, 4, 5, 6),
		opstest.Floats([]int{1, 2}, 5, 4),
		opstest.Floats([]int{3, 2}, 0, 0, 6, 8, 0, 0),
		opstest.Floats([]int{3, 2}, 3, 4, 5, 6, -inf, -inf),
	}
	for k, w := range want {
		opstest.Near(t, caseName("result", w), out[k], w, 0, 0)
	}
}

func TestOneHot(t *testing.T) {
	for _, d := range []ir.DType{ir.Int8, ir.Uint8, ir.Int32, ir.Uint32, ir.Int64, ir.Uint64, ir.Float32} {
		x := opstest.Ints([]int{4}, 2, 0, 3, 100).As(d)
		out := opstest.Eval(t, unary(func(x *ops.Tensor) *ops.Tensor { return ops.OneHot(x, 3, ir.Float32) }), x)[0]
		opstest.Near(t, d.String(), out, opstest.Floats([]int{4, 3}, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0), 0, 0)
	}
	// More classes than the numbers' type can count must not wrap around.
	x := opstest.Ints([]int{2}, 3, -1).As(ir.Int8)
	out := opstest.Eval(t, unary(func(x *ops.Tensor) *ops.Tensor { return ops.Sum(ops.OneHot(x, 600, ir.Int32), -1) }), x)[0]
	require.Equal(t, []float64{1, 0}, out.F)
}

func TestSortResults(t *testing.T) {
	nan := math.NaN()
	x := opstest.Floats([]int{2, 3}, 3, nan, 1, 2, 2, -5)
	out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
		values, places := ops.TopK(in[0], 2)
		return []*ops.Tensor{ops.Sort(in[0], 1), ops.Argsort(in[0], -1), values, places}
	}, x)
	opstest.Near(t, "sort", out[0], opstest.Floats([]int{2, 3}, 1, 3, nan, -5, 2, 2), 0, 0)
	opstest.Near(t, "argsort", out[1], opstest.Ints([]int{2, 3}, 2, 0, 1, 2, 0, 1), 0, 0)
	opstest.Near(t, "top", out[2], opstest.Floats([]int{2, 2}, nan, 3, 2, 2), 0, 0)
	opstest.Near(t, "places", out[3], opstest.Ints([]int{2, 2}, 1, 0, 0, 1), 0, 0)
}

// The results are those of Keras: ties count as within the top k, NaN in the target does not.
func TestInTopK(t *testing.T) {
	nan := math.NaN()
	predictions := opstest.Floats([]int{5, 3}, 0.1, 0.5, 0.4, 0.3, 0.3, 0.1, nan, 1, 2, nan, 1, 2, 3, 2, 1)
	targets := opstest.Ints([]int{5}, 2, 1, 0, 2, 2)
	for k, want := range map[int][]float64{1: {0, 1, 0, 1, 0}, 2: {1, 1, 0, 1, 0}, 3: {1, 1, 1, 1, 1}} {
		out := opstest.Eval(t, binary(func(p, y *ops.Tensor) *ops.Tensor { return ops.InTopK(y, p, k) }), predictions, targets)[0]
		require.Equal(t, want, out.F, "k = %d", k)
	}
}

func TestGatherErrors(t *testing.T) {
	x := opstest.Normal(1, 3, 2)
	outside := opstest.Ints([]int{1, 1}, -4)
	tests := []struct {
		fn   opstest.Func
		i    opstest.Array
		want string
	}{
		{binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.Take(x, i, 0) }), outside, "index -4"},
		{binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.Take(x, i, 0) }), opstest.Ints(nil, 3), "index 3 (element 0 of the indices) is outside axis 0 of length 3"},
		{binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.Take(x, i, 0) }), opstest.Floats(nil, 1), "positions must be integers"},
		{binary(ops.Embedding), opstest.Ints(nil, -1), "index -1"},
		{binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.TakeAlongAxis(x, i, 0) }), outside, "is outside"},
		{binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.TakeAlongAxis(x, i, 1) }), opstest.Ints([]int{3, 1}, 0, -3, 0), "is outside"}, // would be in the row before
		{binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.TakeAlongAxis(x, i, 1) }), opstest.Ints([]int{3, 1}, 0, 2, 0), "is outside"},  // in the next one
		{binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.TakeAlongAxis(x, i, 0) }), opstest.Ints(nil, 0), "must have the same rank"},
		{binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.TakeAlongAxis(x, i, 0) }), opstest.Ints([]int{1, 3}, 0, 0, 0), "do not broadcast"},
		{binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.ScatterAdd(x, i, x, 0) }), opstest.Ints([]int{2}, 0, 0), "cannot broadcast"},
		{binary(func(x, i *ops.Tensor) *ops.Tensor { return ops.SegmentSum(x, i, 2) }), opstest.Ints([]int{2}, 0, 0), "one number for each slice"},
		{binary(func(x, i *ops.Tensor) *ops.Tensor { values, _ := ops.TopK(x, 3); return values }), outside, "k is 3"},
	}
	for _, test := range tests {
		require.ErrorContains(t, opstest.EvalError(test.fn, x, test.i), test.want, test.want)
	}
}

// Indices into a tensor whose positions int32 cannot count are rejected when the step is traced: nothing of that size
// is allocated.
func TestScatterOfTooManyPlaces(t *testing.T) {
	trace := func(sides ...int) error {
		_, err := opstest.Trace(func(_ *ops.Graph, x []*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{ops.ScatterUpdatePoints(x[0], x[1], x[2])}
		}, ir.Type{DType: ir.Float32, Shape: sides}, ir.Type{DType: ir.Int32, Shape: ir.Shape{3, len(sides)}}, ir.Type{DType: ir.Float32, Shape: ir.Shape{3}})
		return err
	}
	require.ErrorContains(t, trace(30000, 30000), "scatter: [30000 30000] has more places than int32 can count")
	require.ErrorContains(t, trace(900, 1000, 1000), "more places than int32 can count")
	require.NoError(t, trace(20000, 20000))
}

// TestOneHotOfLongs: 64-bit numbers whose lower 32 bits would be a class are not classes.
func TestOneHotOfLongs(t *testing.T) {
	x := opstest.Ints([]int{6}, 2, 1<<32+1, -1<<32, 1<<40, -1, 3).As(ir.Int64)
	got := opstest.Eval(t, unary(func(x *ops.Tensor) *ops.Tensor { return ops.OneHot(x, 3, ir.Float32) }), x)[0]
	want := make([]float64, 18)
	want[2] = 1
	require.Equal(t, want, got.F)
}
