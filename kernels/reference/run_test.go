package reference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// eval runs one op.
func eval(t *testing.T, op ir.Op, attrs ir.Attrs, in ...Value) []Value {
	t.Helper()
	out, err := Run(single(t, op, attrs, in...), in)
	require.NoError(t, err)
	return out
}

func single(t *testing.T, op ir.Op, attrs ir.Attrs, in ...Value) *ir.Program {
	t.Helper()
	p := ir.New(op.String())
	operands := make([]ir.Value, len(in))
	for i, v := range in {
		operands[i] = p.AddInput("x", v.Type)
	}
	results, err := p.Add("model/layer", op, attrs, operands...)
	require.NoError(t, err)
	for _, v := range results {
		p.AddOutput("y", v)
	}
	return p
}

func tensor(t *testing.T, d ir.DType, shape ir.Shape, elements ...float64) Value {
	t.Helper()
	v, err := New(d, shape, elements...)
	require.NoError(t, err)
	return v
}

func TestEveryOpHasAnEvaluator(t *testing.T) {
	for _, op := range ir.Ops() {
		assert.Contains(t, evaluators, op, "%v", op)
	}
	assert.Len(t, evaluators, len(ir.Ops()))
}

// What the op table says of integers and is easy to get wrong. The numbers are computed by hand.
func TestIntegerArithmetic(t *testing.T) {
	for _, c := range []struct {
		op         ir.Op
		d          ir.DType
		x, y, want float64
	}{
		{ir.Add, ir.Int8, 127, 1, -128},
		{ir.Sub, ir.Uint8, 0, 1, 255},
		{ir.Mul, ir.Int16, 300, 300, 90000 - 65536},
		{ir.Div, ir.Int32, -7, 2, -3},
		{ir.Div, ir.Int32, 7, 0, 0},
		{ir.Div, ir.Int8, -128, -1, -128},
		{ir.Div, ir.Uint8, 200, 3, 66},
		{ir.Rem, ir.Int32, -7, 3, -1},
		{ir.Rem, ir.Int32, 7, -3, 1},
		{ir.Rem, ir.Int32, 7, 0, 0},
		{ir.Rem, ir.Int8, -128, -1, 0},
		{ir.Pow, ir.Int32, -2, 3, -8},
		{ir.Pow, ir.Int32, 3, 0, 1},
		{ir.Pow, ir.Int32, 0, 0, 1},
		{ir.Pow, ir.Int32, 2, -1, 0},
		{ir.Pow, ir.Int32, 0, -1, 0},
		{ir.Pow, ir.Int32, 1, -5, 1},
		{ir.Pow, ir.Int32, -1, -5, -1},
		{ir.Pow, ir.Int32, -1, -4, 1},
		{ir.Pow, ir.Uint8, 2, 8, 0},
		{ir.Maximum, ir.Uint8, 200, 100, 200},
		{ir.Minimum, ir.Int8, -100, 100, -100},
		{ir.ShiftLeft, ir.Int8, 1, 7, -128},
		{ir.ShiftLeft, ir.Int8, 1, 8, 0},
		{ir.ShiftLeft, ir.Int8, 1, -1, 0},
		{ir.ShiftRight, ir.Int8, -128, 7, -1},
		{ir.ShiftRight, ir.Int8, -128, 8, -1},
		{ir.ShiftRight, ir.Int8, -128, -1, -1},
		{ir.ShiftRight, ir.Uint8, 128, 7, 1},
		{ir.ShiftRight, ir.Uint8, 128, 8, 0},
		{ir.BitXor, ir.Uint8, 12, 10, 6},
	} {
		got := eval(t, c.op, nil, tensor(t, c.d, nil, c.x), tensor(t, c.d, nil, c.y))
		assert.Equal(t, c.want, got[0].At(0), "%v %v(%v, %v)", c.d, c.op, c.x, c.y)
	}
	for _, c := range []struct {
		op      ir.Op
		d       ir.DType
		x, want float64
	}{
		{ir.Neg, ir.Int8, -128, -128}, {ir.Neg, ir.Uint8, 1, 255}, {ir.Abs, ir.Int8, -128, -128}, {ir.Abs, ir.Uint8, 200, 200},
		{ir.Sign, ir.Int8, -5, -1}, {ir.Sign, ir.Uint8, 200, 1}, {ir.Sign, ir.Int8, 0, 0}, {ir.Not, ir.Int8, 5, -6}, {ir.Not, ir.Uint8, 5, 250}, {ir.Not, ir.Bool, 1, 0},
		{ir.Relu, ir.Int8, -5, 0}, {ir.Relu, ir.Uint8, 200, 200},
	} {
		assert.Equal(t, c.want, eval(t, c.op, nil, tensor(t, c.d, nil, c.x))[0].At(0), "%v %v(%v)", c.d, c.op, c.x)
	}
}

func TestUint64IsUnsigned(t *testing.T) {
	d := ir.Type{DType: ir.Uint64, Shape: ir.Shape{2}}
	x, y := Value{Type: d, I: []int64{-1, 5}}, Value{Type: d, I: []int64{2, -1}}
	assert.Equal(t, []int64{-1, -1}, eval(t, ir.Maximum, nil, x, y)[0].I)
	assert.Equal(t, []int64{math.MaxInt64, 0}, eval(t, ir.Div, nil, x, y)[0].I)
	assert.Equal(t, []int64{1, 5}, eval(t, ir.Rem, nil, x, y)[0].I)
	assert.Equal(t, []int64{0, 1}, eval(t, ir.Compare, ir.CompareAttrs{Direction: ir.Lt}, x, y)[0].I)
	assert.Equal(t, []int64{5, -1}, eval(t, ir.Sort, ir.SortAttrs{}, x)[0].I)
	assert.Equal(t, []int64{1}, eval(t, ir.ArgMin, ir.AxisAttrs{}, x)[0].I)
	assert.Equal(t, []float64{0x1p64, 5}, eval(t, ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, x)[0].F)
	assert.Equal(t, []int64{-1}, eval(t, ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{0}}, x)[0].I)
}

func TestConvert(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		from, to ir.DType
		x, want  float64
	}{
		{ir.Float32, ir.Int8, 127.9, 127}, {ir.Float32, ir.Int8, 128, 127}, {ir.Float32, ir.Int8, -1e9, -128}, {ir.Float32, ir.Int8, nan, 0},
		{ir.Float32, ir.Uint8, -0.9, 0}, {ir.Float32, ir.Uint8, -5, 0}, {ir.Float32, ir.Uint8, inf, 255}, {ir.Float64, ir.Int64, inf, math.MaxInt64},
		{ir.Float64, ir.Uint64, 1e30, math.MaxUint64}, {ir.Float64, ir.Int64, math.Inf(-1), math.MinInt64}, {ir.Float32, ir.Int32, -2.9, -2},
		{ir.Float32, ir.Bool, 0.1, 1}, {ir.Float32, ir.Bool, nan, 1}, {ir.Float32, ir.Bool, math.Copysign(0, -1), 0},
		{ir.Int32, ir.Int8, 300, 44}, {ir.Int32, ir.Uint8, -1, 255}, {ir.Int32, ir.Uint64, -1, math.MaxUint64}, {ir.Bool, ir.Float16, 1, 1}, {ir.Int8, ir.Bool, -3, 1},
		{ir.Int32, ir.Float32, 16777217, 16777216}, {ir.Int32, ir.Float16, 70000, inf}, {ir.Int32, ir.Float16, 65519, 65504}, {ir.Int32, ir.BFloat16, 257, 256},
		{ir.Float64, ir.Float32, 1e39, inf}, {ir.Float64, ir.Float16, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10}, {ir.Float64, ir.BFloat16, 1 + 0x1p-8, 1},
	} {
		got := eval(t, ir.Convert, ir.ConvertAttrs{DType: c.to}, tensor(t, c.from, nil, c.x))[0]
		assert.Equal(t, c.want, got.At(0), "%v(%v) to %v", c.from, c.x, c.to)
	}
	// 2^60+2^36+1 is just above the middle between two float32: rounding by way of float64 would go down
	big := Value{Type: ir.Type{DType: ir.Int64}, I: []int64{1<<60 + 1<<36 + 1}}
	assert.Equal(t, float64(1<<60+1<<37), eval(t, ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, big)[0].F[0])
}

func TestNaNRules(t *testing.T) {
	nan := math.NaN()
	x := tensor(t, ir.Float64, ir.Shape{4}, 1, nan, 3, nan)
	assert.Equal(t, []int64{1}, eval(t, ir.ArgMax, ir.AxisAttrs{}, x)[0].I)
	assert.Equal(t, []int64{1}, eval(t, ir.ArgMin, ir.AxisAttrs{}, x)[0].I)
	assert.Equal(t, []int64{0, 2, 1, 3}, eval(t, ir.Sort, ir.SortAttrs{}, x)[1].I)
	assert.Equal(t, []int64{1, 3, 2, 0}, eval(t, ir.Sort, ir.SortAttrs{Descending: true}, x)[1].I)
	assert.Equal(t, []int64{1, 3}, eval(t, ir.TopK, ir.TopKAttrs{K: 2}, x)[1].I)
	for _, kind := range []ir.Kind{ir.Max, ir.Min} {
		assert.True(t, math.IsNaN(eval(t, ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{0}}, x)[0].F[0]))
	}
	assert.Equal(t, []int64{0, 1, 0, 1}, eval(t, ir.Compare, ir.CompareAttrs{Direction: ir.Ne}, x, x)[0].I)
	relu := eval(t, ir.Relu, nil, x)[0].F
	assert.True(t, math.IsNaN(relu[1]))
	zeros := tensor(t, ir.Float64, ir.Shape{3}, 0, math.Copysign(0, -1), 0)
	assert.Equal(t, []int64{0, 1, 2}, eval(t, ir.Sort, ir.SortAttrs{}, zeros)[1].I, "-0 equals 0")
}

func TestEmptyReductions(t *testing.T) {
	for _, c := range []struct {
		kind ir.Kind
		d    ir.DType
		want float64
	}{
		{ir.Sum, ir.Float32, 0}, {ir.Prod, ir.Int8, 1}, {ir.Max, ir.Float32, math.Inf(-1)}, {ir.Min, ir.Float32, math.Inf(1)},
		{ir.Max, ir.Int8, -128}, {ir.Min, ir.Int8, 127}, {ir.Max, ir.Uint16, 0}, {ir.Min, ir.Uint16, 65535}, {ir.And, ir.Bool, 1}, {ir.Or, ir.Bool, 0},
	} {
		got := eval(t, ir.Reduce, ir.ReduceAttrs{Kind: c.kind, Axes: []int{0}}, tensor(t, c.d, ir.Shape{0, 1}))[0]
		assert.Equal(t, c.want, got.At(0), "%s of no %v", c.kind, c.d)
	}
}

// The published test vectors of Philox4x32-10 (Random123, kat_vectors).
func TestPhiloxKnownAnswers(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		assert.Equal(t, c.want, philox(c.counter, c.key))
	}
	// the second block of stream 0x85a308d3 has counter 1: here the first words of block 0x243f6a88 are wanted
	state := []int64{0xa4093822, 0x299f31d0, 0x13198a2e, 0x03707344}
	assert.Equal(t, uint32(0x5001e420), word(state, 0x85a308d3, 4*0x243f6a88+2))
	bits := eval(t, ir.RngBits, ir.RngAttrs{Shape: ir.Shape{3}}, tensor(t, ir.Uint32, ir.Shape{4}, 0, 0, 0, 0))[0]
	assert.Equal(t, []int64{0x6627e8d5, 0xe169c58d, 0xbc57ac4c}, bits.I)
}

func TestDropoutKeepsByBits(t *testing.T) {
	x := tensor(t, ir.Float64, ir.Shape{4}, 1, 2, math.NaN(), 4)
	// of the words above, the top 24 bits as fractions are .399, .880, .736, .606
	got := eval(t, ir.Dropout, ir.DropoutAttrs{Rate: 0.75}, x, tensor(t, ir.Uint32, ir.Shape{4}, 0, 0, 0, 0))[0]
	assert.Equal(t, []float64{0, 8, 0, 0}, got.F)
	edge := float64(0xe169c5) / (1 << 24) // the second word's own fraction is kept, a little more is not
	got = eval(t, ir.Dropout, ir.DropoutAttrs{Rate: edge}, x, tensor(t, ir.Uint32, ir.Shape{4}, 0, 0, 0, 0))[0]
	assert.NotZero(t, got.F[1])
	got = eval(t, ir.Dropout, ir.DropoutAttrs{Rate: edge + 0x1p-30}, x, tensor(t, ir.Uint32, ir.Shape{4}, 0, 0, 0, 0))[0]
	assert.Zero(t, got.F[1])
}

func TestHiddenRowsOfAttention(t *testing.T) {
	q, k, v := tensor(t, ir.Float64, ir.Shape{1, 2, 1, 1}, 1, 2), tensor(t, ir.Float64, ir.Shape{1, 2, 1, 1}, 3, 4), tensor(t, ir.Float64, ir.Shape{1, 2, 1, 1}, 5, 6)
	mask := tensor(t, ir.Bool, ir.Shape{1, 1, 2, 2}, 0, 0, 0, 1)
	attrs := ir.AttentionAttrs{Scale: 1, Masked: true}
	y := eval(t, ir.Attention, attrs, q, k, v, mask)
	assert.Equal(t, []float64{0, 6}, y[0].F)
	assert.Equal(t, []float64{math.Inf(-1), 8}, y[1].F)
	dy := tensor(t, ir.Float64, ir.Shape{1, 2, 1, 1}, 7, 9)
	grads := eval(t, ir.AttentionGrad, attrs, q, k, v, y[0], y[1], dy, mask)
	assert.Equal(t, []float64{0, 0}, grads[0].F)
	assert.Equal(t, []float64{0, 0}, grads[1].F)
	assert.Equal(t, []float64{0, 9}, grads[2].F)
}

func TestMaxPoolGradPicksTheFirst(t *testing.T) {
	attrs := ir.PoolAttrs{Window: []int{2}, Strides: []int{1}, PadLow: []int{1}, PadHigh: []int{0}}
	x := tensor(t, ir.Float64, ir.Shape{1, 3, 1}, 5, 5, 1)
	y := eval(t, ir.MaxPool, attrs, x)[0]
	assert.Equal(t, []float64{5, 5, 5}, y.F)
	dx := eval(t, ir.MaxPoolGrad, attrs, x, y, tensor(t, ir.Float64, ir.Shape{1, 3, 1}, 1, 10, 100))[0]
	assert.Equal(t, []float64{11, 100, 0}, dx.F)
}

func TestAvgPoolCountsRealCells(t *testing.T) {
	attrs := ir.PoolAttrs{Window: []int{3}, Strides: []int{2}, PadLow: []int{1}, PadHigh: []int{1}}
	x := tensor(t, ir.Float64, ir.Shape{1, 5, 1}, 1, 2, 3, 4, 5) // windows (-, 1, 2), (2, 3, 4), (4, 5, -)
	assert.Equal(t, []float64{1.5, 3, 4.5}, eval(t, ir.AvgPool, attrs, x)[0].F)
	dx := eval(t, ir.AvgPoolGrad, ir.PoolGradAttrs{Pool: attrs, Shape: x.Type.Shape}, tensor(t, ir.Float64, ir.Shape{1, 3, 1}, 2, 3, 4))[0]
	assert.Equal(t, []float64{1, 2, 1, 3, 2}, dx.F)
}

func TestIndexErrors(t *testing.T) {
	x := tensor(t, ir.Float32, ir.Shape{3, 2}, 1, 2, 3, 4, 5, 6)
	where := tensor(t, ir.Int32, ir.Shape{2}, 1, -1)
	_, err := Run(single(t, ir.Gather, ir.GatherAttrs{Axis: 1}, x, where), []Value{x, where})
	assert.EqualError(t, err, "model/layer: gather: index -1 (element 1 of the indices) is outside axis 1 of length 2")
	huge := Value{Type: ir.Type{DType: ir.Uint64}, I: []int64{-1}}
	_, err = Run(single(t, ir.Embedding, nil, x, huge), []Value{x, huge})
	assert.EqualError(t, err, "model/layer: embedding: index 18446744073709551615 (element 0 of the indices) is outside axis 0 of length 3")
	labels := tensor(t, ir.Int32, ir.Shape{3}, 0, 1, 2)
	_, err = Run(single(t, ir.SparseSoftmaxCrossEntropy, nil, x, labels), []Value{x, labels})
	assert.EqualError(t, err, "model/layer: sparse_softmax_cross_entropy: index 2 (element 2 of the indices) is outside axis 1 of length 2")
	assert.Equal(t, []float64{2, 0, 4, 0, 6, 0}, eval(t, ir.Gather, ir.GatherAttrs{Axis: 1, Mode: ir.IndexDrop}, x, where)[0].F)
	assert.Equal(t, []float64{2, 1, 4, 3, 6, 5}, eval(t, ir.Gather, ir.GatherAttrs{Axis: 1, Mode: ir.IndexClip}, x, where)[0].F)
}

func TestRound(t *testing.T) {
	p := ir.New("sum")
	x := p.AddInput("x", ir.Type{DType: ir.Float32})
	small, err := p.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0x1p-30)})
	require.NoError(t, err)
	sum, err := p.Add("", ir.Add, nil, x, small[0])
	require.NoError(t, err)
	back, err := p.Add("", ir.Sub, nil, sum[0], x)
	require.NoError(t, err)
	p.AddOutput("y", back[0])
	one := []Value{tensor(t, ir.Float32, nil, 1)}
	got, err := Run(p, one)
	require.NoError(t, err)
	assert.Equal(t, 0x1p-30, got[0].F[0])
	got, err = Interpreter{Round: true}.Run(p, one)
	require.NoError(t, err)
	assert.Zero(t, got[0].F[0])
}

func TestRunRejects(t *testing.T) {
	x := tensor(t, ir.Float32, ir.Shape{2}, 1, 2)
	p := single(t, ir.Neg, nil, x)
	_, err := Run(p, nil)
	assert.ErrorContains(t, err, "takes 1 inputs, received 0")
	_, err = Run(p, []Value{tensor(t, ir.Float32, ir.Shape{1}, 1)})
	assert.ErrorContains(t, err, `input 0 "x" is float32[2], received float32[1]`)
	_, err = Run(p, []Value{{Type: x.Type, F: []float64{1}}})
	assert.ErrorContains(t, err, "with 1 floats and 0 integers")
	p.Nodes[0].Op = ir.OpInvalid
	_, err = Run(p, []Value{x})
	assert.ErrorContains(t, err, "is not an operation")
}

func TestInputsAreNotChanged(t *testing.T) {
	x := tensor(t, ir.Float32, ir.Shape{2}, 1, 2)
	p := ir.New("identity")
	v := p.AddInput("x", x.Type)
	p.AddOutput("y", v)
	got, err := Run(p, []Value{x})
	require.NoError(t, err)
	got[0].F[0] = 9
	assert.Equal(t, []float64{1, 2}, x.F)
}

// Noise moves what is computed by about a unit in the last place, the same in each run of one generator, and nothing
// that is only moved.
func TestNoise(t *testing.T) {
	p := ir.New("noise")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{64}})
	sum, err := p.Add("", ir.Add, nil, x, x)
	require.NoError(t, err)
	back, err := p.Add("", ir.Reverse, ir.AxesAttrs{Axes: []int{0}}, x)
	require.NoError(t, err)
	p.AddOutput("sum", sum[0])
	p.AddOutput("back", back[0])
	in, err := New(ir.Float32, ir.Shape{64}, slices.Repeat([]float64{1.5}, 64)...)
	require.NoError(t, err)
	run := func() []Value {
		out, err := Interpreter{Round: true, Noise: rand.New(rand.NewPCG(1, 2))}.Run(p, []Value{in})
		require.NoError(t, err)
		return out
	}
	out := run()
	require.Equal(t, out, run())
	require.Equal(t, in.F, out[1].F)
	moved := 0
	for _, y := range out[0].F {
		require.InDelta(t, 3, y, 3e-7)
		if y != 3 {
			moved++
		}
	}
	require.Greater(t, moved, 20)
}
