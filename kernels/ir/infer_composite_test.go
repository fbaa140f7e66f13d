package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func conv2(groups int) ConvAttrs {
	return ConvAttrs{[]int{2, 1}, []int{1, 2}, []int{1, 0}, []int{0, 1}, groups}
}

func TestInferConv(t *testing.T) {
	x, k, y := f32(4, 7, 8, 6), f32(3, 2, 3, 10), f32(4, 3, 7, 10) // (7+1-3)/2+1 = 3, 8+1-3+1 = 7
	checkRules(t, []rule{
		{op: Conv, attrs: conv2(2), in: in(x, k), want: "float32[4 3 7 10]"},
		{op: Conv, attrs: ConvAttrs{[]int{1}, []int{1}, []int{0}, []int{0}, 1}, in: in(f32(2, 2, 3), f32(4, 3, 5)), want: "float32[2 0 5]"},
		{op: Conv, attrs: conv2(1), in: in(x, k), err: "6 input channels and kernel [3 2 3 10] do not fit 1 groups"},
		{op: Conv, attrs: conv2(0), in: in(x, k), err: "do not fit 0 groups"},
		{op: Conv, attrs: conv2(3), in: in(f32(4, 7, 8, 9), k), err: "9 input channels and kernel [3 2 3 10] do not fit 3 groups"},
		{op: Conv, attrs: conv2(2), in: in(x, f32(3, 3, 10)), err: "must be (batch, spatial..., channels) and kernel [3 3 10] (window..., in, out) of the same rank"},
		{op: Conv, attrs: conv2(2), in: in(f32(4, 6), f32(3, 10)), err: "must be (batch, spatial..., channels)"},
		{op: Conv, attrs: ConvAttrs{[]int{1}, []int{1, 1}, []int{0, 0}, []int{0, 0}, 2}, in: in(x, k), err: "must have one entry for each of the 2 spatial axes"},
		{op: Conv, attrs: ConvAttrs{[]int{1, 0}, []int{1, 1}, []int{0, 0}, []int{0, 0}, 2}, in: in(x, k), err: "must be positive"},
		{op: Conv, attrs: ConvAttrs{[]int{1, 1}, []int{1, 0}, []int{0, 0}, []int{0, 0}, 2}, in: in(x, k), err: "must be positive"},
		{op: Conv, attrs: ConvAttrs{[]int{1, 1}, []int{1, 1}, []int{-1, 0}, []int{0, 0}, 2}, in: in(x, k), err: "not negative"},
		{op: Conv, attrs: conv2(2), in: in(x, of(Float64, 3, 2, 3, 10)), err: "operands must be floats of one type, received float32 and float64"},
		{op: Conv, attrs: conv2(2), in: in(i32(4, 7, 8, 6), i32(3, 2, 3, 10)), err: "operands must be floats of one type"},
		{op: Conv, in: in(x, k), err: "needs attributes"},
		{op: ConvInputGrad, attrs: ConvGradAttrs{conv2(2), x.Shape}, in: in(y, k), want: "float32[4 7 8 6]"},
		{op: ConvInputGrad, attrs: ConvGradAttrs{conv2(2), Shape{4, 9, 8, 6}}, in: in(y, k), err: "a convolution of [4 9 8 6] with [3 2 3 10] has shape [4 4 7 10], the gradient received is [4 3 7 10]"},
		{op: ConvInputGrad, in: in(y, k), err: "needs attributes"},
		{op: ConvKernelGrad, attrs: ConvGradAttrs{conv2(2), k.Shape}, in: in(x, y), want: "float32[3 2 3 10]"},
		{op: ConvKernelGrad, attrs: ConvGradAttrs{conv2(2), Shape{3, 3, 3, 10}}, in: in(x, y), err: "the gradient received is [4 3 7 10]"},
		{op: ConvKernelGrad, in: in(x, y), err: "needs attributes"},
	})
}

func TestSamePadding(t *testing.T) {
	for _, c := range []struct{ in, window, stride, dilation, low, high int }{
		{5, 3, 1, 1, 1, 1}, {5, 2, 1, 1, 0, 1}, {6, 3, 2, 1, 0, 1}, {5, 3, 2, 1, 1, 1}, {7, 3, 1, 2, 2, 2}, {4, 1, 3, 1, 0, 0}, {1, 5, 1, 1, 2, 2}, {0, 3, 2, 1, 0, 1},
	} {
		low, high := SamePadding(c.in, c.window, c.stride, c.dilation)
		assert.Equal(t, [2]int{c.low, c.high}, [2]int{low, high}, "%v", c)
		assert.Equal(t, (c.in+c.stride-1)/c.stride, windowOut(c.in+low+high, c.window, c.stride, c.dilation), "%v", c)
	}
}

func TestInferPool(t *testing.T) {
	a := PoolAttrs{[]int{3, 2}, []int{2, 2}, []int{1, 0}, []int{1, 1}}
	x, y := f32(4, 7, 5, 6), f32(4, 4, 3, 6)
	checkRules(t, []rule{
		{op: MaxPool, attrs: a, in: in(x), want: "float32[4 4 3 6]"},
		{op: AvgPool, attrs: a, in: in(x), want: "float32[4 4 3 6]"},
		{op: MaxPool, attrs: PoolAttrs{[]int{3, 2}, []int{2, 2}, []int{3, 0}, []int{0, 0}}, in: in(x), err: "must be smaller than the window [3 2]"},
		{op: MaxPool, attrs: PoolAttrs{[]int{3}, []int{1}, []int{2}, []int{2}}, in: in(f32(1, 0, 2)), err: "or a window would hold nothing"},
		{op: MaxPool, attrs: PoolAttrs{[]int{3}, []int{1}, []int{0}, []int{1}}, in: in(f32(1, 0, 2)), want: "float32[1 0 2]"},
		{op: MaxPool, attrs: PoolAttrs{[]int{3}, []int{2}, []int{1}, []int{0}}, in: in(x), err: "must have one entry for each of the 2 spatial axes"},
		{op: MaxPool, attrs: a, in: in(f32(4, 6)), err: "x [4 6] must be (batch, spatial..., channels)"},
		{op: AvgPool, attrs: a, in: in(i32(4, 7, 5, 6)), err: "needs floats, received int32"},
		{op: MaxPool, in: in(x), err: "needs attributes"},
		{op: MaxPoolGrad, attrs: a, in: in(x, y, y), want: "float32[4 7 5 6]"},
		{op: MaxPoolGrad, attrs: a, in: in(x, y, x), err: "y and dy must be float32[4 4 3 6], received float32[4 4 3 6] and float32[4 7 5 6]"},
		{op: MaxPoolGrad, in: in(x, y, y), err: "needs attributes"},
		{op: AvgPoolGrad, attrs: PoolGradAttrs{a, x.Shape}, in: in(y), want: "float32[4 7 5 6]"},
		{op: AvgPoolGrad, attrs: PoolGradAttrs{a, Shape{4, 9, 5, 6}}, in: in(y), err: "dy must be float32[4 5 3 6], received float32[4 4 3 6]"},
		{op: AvgPoolGrad, in: in(y), err: "needs attributes"},
	})
}

func TestInferNorm(t *testing.T) {
	x, c, lead, a := f32(2, 3, 5), f32(5), f32(2, 3), NormAttrs{1e-3}
	checkRules(t, []rule{
		{op: BatchNorm, attrs: a, in: in(x, c, c), want: "float32[2 3 5], float32[5], float32[5]"},
		{op: BatchNorm, attrs: a, in: in(x, c, lead), err: "operand 2 must be float32[5], received float32[2 3]"},
		{op: BatchNorm, attrs: a, in: in(f32(), c, c), err: "x must be floats of rank 1 or more, received float32[]"},
		{op: BatchNorm, attrs: a, in: in(i32(5), c, c), err: "x must be floats"},
		{op: BatchNorm, in: in(x, c, c), err: "needs attributes"},
		{op: BatchNormGrad, attrs: a, in: in(x, c, c, c, x), want: "float32[2 3 5], float32[5], float32[5]"},
		{op: BatchNormGrad, attrs: a, in: in(x, c, c, c, c), err: "operand 4 must be float32[2 3 5], received float32[5]"},
		{op: BatchNormGrad, in: in(x, c, c, c, x), err: "needs attributes"},
		{op: LayerNorm, attrs: a, in: in(x, c, c), want: "float32[2 3 5], float32[2 3], float32[2 3]"},
		{op: LayerNorm, attrs: a, in: in(x, lead, c), err: "operand 1 must be float32[5], received float32[2 3]"},
		{op: LayerNorm, in: in(x, c, c), err: "needs attributes"},
		{op: LayerNormGrad, attrs: a, in: in(x, c, lead, lead, x), want: "float32[2 3 5], float32[5], float32[5]"},
		{op: LayerNormGrad, attrs: a, in: in(x, c, c, lead, x), err: "operand 2 must be float32[2 3], received float32[5]"},
		{op: LayerNormGrad, in: in(x, c, lead, lead, x), err: "needs attributes"},
	})
}

func TestInferGroupNorm(t *testing.T) {
	x, c, mean, a := f32(2, 3, 6), f32(6), f32(2, 3), GroupNormAttrs{3, 1e-3}
	checkRules(t, []rule{
		{op: GroupNorm, attrs: a, in: in(x, c, c), want: "float32[2 3 6], float32[2 3], float32[2 3]"},
		{op: GroupNorm, attrs: a, in: in(x, c, mean), err: "operand 2 must be float32[6], received float32[2 3]"},
		{op: GroupNorm, attrs: a, in: in(f32(6), c, c), err: "x must be floats (batch, ..., channels), received float32[6]"},
		{op: GroupNorm, attrs: a, in: in(i32(2, 6), c, c), err: "x must be floats"},
		{op: GroupNorm, attrs: GroupNormAttrs{Groups: 4}, in: in(x, c, c), err: "the 6 channels of x must be divisible by the groups, received 4"},
		{op: GroupNorm, attrs: GroupNormAttrs{}, in: in(x, c, c), err: "divisible by the groups, received 0"},
		{op: GroupNorm, attrs: NormAttrs{}, in: in(x, c, c), err: "needs attributes"},
		{op: GroupNormGrad, attrs: a, in: in(x, c, mean, mean, x), want: "float32[2 3 6], float32[6], float32[6]"},
		{op: GroupNormGrad, attrs: a, in: in(x, c, c, mean, x), err: "operand 2 must be float32[2 3], received float32[6]"},
		{op: GroupNormGrad, in: in(x, c, mean, mean, x), err: "needs attributes"},
	})
}

func TestInferSoftmaxFamily(t *testing.T) {
	x, labels, loss := f32(4, 5), i32(4), f32(4)
	rules := []rule{
		{op: SparseSoftmaxCrossEntropy, in: in(x, labels), want: "float32[4], float32[4]"},
		{op: SparseSoftmaxCrossEntropy, in: in(f32(5), of(Uint8)), want: "float32[], float32[]"},
		{op: SparseSoftmaxCrossEntropy, in: in(x, i32(5)), err: "logits must be floats (..., classes) and labels integers (...), received float32[4 5] and int32[5]"},
		{op: SparseSoftmaxCrossEntropy, in: in(x, loss), err: "labels integers"},
		{op: SparseSoftmaxCrossEntropy, in: in(f32(), i32()), err: "logits must be floats"},
		{op: SparseSoftmaxCrossEntropy, attrs: AxisAttrs{}, in: in(x, labels), err: "takes no attributes"},
		{op: SparseSoftmaxCrossEntropyGrad, in: in(x, labels, loss, loss), want: "float32[4 5]"},
		{op: SparseSoftmaxCrossEntropyGrad, in: in(x, labels, loss, x), err: "operand 1 must be float32[4], received float32[4 5]"},
		{op: SparseSoftmaxCrossEntropyGrad, in: in(x, x, loss, loss), err: "labels integers"},
	}
	for _, op := range []Op{Softmax, LogSoftmax} {
		rules = append(rules,
			rule{op: op, in: in(x), want: "float32[4 5]"},
			rule{op: op, in: in(f32()), err: "works along the last axis, but float32[] has none"},
			rule{op: op, in: in(i32(3)), err: "needs floats, received int32"})
	}
	for _, op := range []Op{SoftmaxGrad, LogSoftmaxGrad} {
		rules = append(rules,
			rule{op: op, in: in(x, x), want: "float32[4 5]"},
			rule{op: op, in: in(x, loss), err: "operands must have one type"},
			rule{op: op, in: in(f32(), f32()), err: "works along the last axis"})
	}
	checkRules(t, rules)
}

func TestInferAttention(t *testing.T) {
	q, k, v := f32(2, 3, 4, 5), f32(2, 7, 4, 5), f32(2, 7, 4, 6)
	y, total := f32(2, 3, 4, 6), f32(2, 4, 3)
	masked := AttentionAttrs{Scale: 1, Masked: true}
	checkRules(t, []rule{
		{op: Attention, attrs: AttentionAttrs{}, in: in(q, k, v), want: "float32[2 3 4 6], float32[2 4 3]"},
		{op: Attention, attrs: masked, in: in(q, k, v, boolean(2, 1, 3, 7)), want: "float32[2 3 4 6], float32[2 4 3]"},
		{op: Attention, attrs: masked, in: in(q, k, v), err: "masked is true, but there are 3 operands"},
		{op: Attention, attrs: AttentionAttrs{}, in: in(q, k, v, boolean(2, 1, 3, 7)), err: "masked is false, but there are 4 operands"},
		{op: Attention, attrs: masked, in: in(q, k, v, boolean(3, 7)), err: "mask must be bool and broadcast to [2 4 3 7], received bool[3 7]"},
		{op: Attention, attrs: masked, in: in(q, k, v, i32(2, 1, 3, 7)), err: "mask must be bool"},
		{op: Attention, attrs: masked, in: in(q, k, v, boolean(2, 1, 3, 6)), err: "mask must be bool"},
		{op: Attention, attrs: AttentionAttrs{}, in: in(q, k, f32(2, 6, 4, 6)), err: "q, k, v must be floats (B, T, H, D), (B, S, H, D), (B, S, H, V)"},
		{op: Attention, attrs: AttentionAttrs{}, in: in(q, f32(2, 7, 4, 6), v), err: "q, k, v must be floats"},
		{op: Attention, attrs: AttentionAttrs{}, in: in(q, k, f32(2, 7, 4)), err: "q, k, v must be floats"},
		{op: Attention, attrs: AttentionAttrs{}, in: in(q, of(Float64, 2, 7, 4, 5), v), err: "q, k, v must be floats"},
		{op: Attention, in: in(q, k, v), err: "needs attributes"},
		{op: AttentionGrad, attrs: AttentionAttrs{}, in: in(q, k, v, y, total, y), want: "float32[2 3 4 5], float32[2 7 4 5], float32[2 7 4 6]"},
		{op: AttentionGrad, attrs: masked, in: in(q, k, v, y, total, y, boolean(1, 1, 1, 7)), want: "float32[2 3 4 5], float32[2 7 4 5], float32[2 7 4 6]"},
		{op: AttentionGrad, attrs: AttentionAttrs{}, in: in(q, k, v, y, y, y), err: "operand 1 must be float32[2 4 3], received float32[2 3 4 6]"},
		{op: AttentionGrad, attrs: masked, in: in(q, k, v, y, total, y), err: "masked is true"},
	})
}

func TestInferPackedEmbedding(t *testing.T) {
	bytes := func(shape ...int) Type { return of(Int8, shape...) }
	four, eight, blocks := PackedEmbeddingAttrs{Columns: 5, Bits: 4}, PackedEmbeddingAttrs{Columns: 5, Bits: 8}, PackedEmbeddingAttrs{Columns: 5, Block: 2, Bits: 4}
	checkRules(t, []rule{
		{op: PackedEmbedding, attrs: four, in: in(bytes(9, 3), i32(2, 5), f32(9)), want: "float32[2 5 5]"},
		{op: PackedEmbedding, attrs: eight, in: in(bytes(9, 5), i32(2), of(Float64, 9)), want: "float64[2 5]"},
		{op: PackedEmbedding, attrs: blocks, in: in(bytes(9, 3), i32(), f32(9, 3), bytes(9, 3)), want: "float32[5]"},
		{op: PackedEmbedding, attrs: four, in: in(bytes(9, 5), i32(2), f32(9)), err: "the table must be (rows, 3) for 5 columns of 4 bits"},
		{op: PackedEmbedding, attrs: four, in: in(bytes(9, 3), f32(2), f32(9)), err: "indices integers"},
		{op: PackedEmbedding, attrs: four, in: in(bytes(9, 3), i32(2), f32(8)), err: "operand 0 must be float32[9], received float32[8]"},
		{op: PackedEmbedding, attrs: four, in: in(bytes(9, 3), i32(2), f32(9), bytes(9)), err: "takes 3 operands without blocks"},
		{op: PackedEmbedding, attrs: blocks, in: in(bytes(9, 3), i32(2), f32(9, 3)), err: "takes 4 operands with blocks of 2"},
		{op: PackedEmbedding, attrs: blocks, in: in(bytes(9, 3), i32(2), f32(9, 3), bytes(9, 2)), err: "operand 1 must be int8[9 3]"},
		{op: PackedEmbedding, attrs: PackedEmbeddingAttrs{Columns: 5, Block: 2, Bits: 8}, in: in(bytes(9, 5), i32(2), f32(9, 3), bytes(9, 3)), err: "table must be int8"},
		{op: PackedEmbedding, in: in(bytes(9, 3), i32(2), f32(9)), err: "needs attributes"},
	})
}

func TestInferEmbedding(t *testing.T) {
	table := f32(9, 3)
	checkRules(t, []rule{
		{op: Embedding, in: in(table, i32(2, 5)), want: "float32[2 5 3]"},
		{op: Embedding, in: in(f32(9), i32(2)), err: "table must be (rows, width) and indices integers"},
		{op: Embedding, in: in(table, f32(2)), err: "indices integers"},
		{op: Embedding, attrs: GatherAttrs{}, in: in(table, i32(2)), err: "takes no attributes"},
		{op: EmbeddingGrad, in: in(table, i32(2, 5), f32(2, 5, 3)), want: "float32[9 3]"},
		{op: EmbeddingGrad, in: in(table, i32(2, 5), f32(2, 5)), err: "operand 0 must be float32[2 5 3], received float32[2 5]"},
		{op: EmbeddingGrad, in: in(boolean(9, 3), i32(2), boolean(2, 3)), err: "does not combine bool"},
		{op: EmbeddingGrad, in: in(f32(9), i32(2), f32(2)), err: "table must be"},
	})
}

func TestInferDropout(t *testing.T) {
	state := of(Uint32, 4)
	checkRules(t, []rule{
		{op: Dropout, attrs: DropoutAttrs{Rate: 0.5}, in: in(f32(2), state), want: "float32[2]"},
		{op: Dropout, attrs: DropoutAttrs{Rate: 1}, in: in(f32(2), state), err: "needs floats and a rate in [0, 1), received float32[2] and 1"},
		{op: Dropout, attrs: DropoutAttrs{Rate: -0.1}, in: in(f32(2), state), err: "a rate in [0, 1)"},
		{op: Dropout, attrs: DropoutAttrs{}, in: in(i32(2), state), err: "needs floats"},
		{op: Dropout, attrs: DropoutAttrs{}, in: in(f32(2), i32(4)), err: "the random state must be"},
		{op: Dropout, in: in(f32(2), state), err: "needs attributes"},
	})
}

func TestInferRnnScan(t *testing.T) {
	a := func(cell string) RnnAttrs {
		return RnnAttrs{Cell: cell, Activation: "tanh", RecurrentActivation: "sigmoid"}
	}
	masked := a("simple")
	masked.Masked = true
	h := f32(2, 3)
	checkRules(t, []rule{
		{op: RnnScan, attrs: RnnAttrs{Cell: "simple", Activation: "relu"}, in: in(f32(2, 4, 3), f32(3, 3), h), want: "float32[2 4 3], float32[2 3]"},
		{op: RnnScan, attrs: a("lstm"), in: in(f32(2, 4, 12), f32(3, 12), h, h), want: "float32[2 4 3], float32[2 3], float32[2 3]"},
		{op: RnnScan, attrs: a("gru"), in: in(f32(2, 4, 9), f32(3, 9), f32(9), h), want: "float32[2 4 3], float32[2 3]"},
		{op: RnnScan, attrs: a("gru_reset_before"), in: in(f32(2, 4, 9), f32(3, 9), h), want: "float32[2 4 3], float32[2 3]"},
		{op: RnnScan, attrs: masked, in: in(f32(2, 4, 3), f32(3, 3), h, boolean(2, 4)), want: "float32[2 4 3], float32[2 3]"},
		{op: RnnScan, attrs: masked, in: in(f32(2, 4, 3), f32(3, 3), h), err: `cell "simple" takes 4 operands, received 3`},
		{op: RnnScan, attrs: masked, in: in(f32(2, 4, 3), f32(3, 3), h, boolean(4, 2)), err: "operand 3 must be bool[2 4], received bool[4 2]"},
		{op: RnnScan, attrs: a("gru"), in: in(f32(2, 4, 9), f32(3, 9), h), err: `cell "gru" takes 4 operands, received 3`},
		{op: RnnScan, attrs: a("lstm"), in: in(f32(2, 4, 9), f32(3, 12), h, h), err: "operand 0 must be float32[2 4 12], received float32[2 4 9]"},
		{op: RnnScan, attrs: a("simple"), in: in(f32(4, 3), f32(3, 3), h), err: "x must be floats (B, T, gates*units) and the recurrent kernel (units, gates*units)"},
		{op: RnnScan, attrs: a("mlp"), in: in(f32(2, 4, 3), f32(3, 3), h), err: `unknown cell "mlp"`},
		{op: RnnScan, attrs: RnnAttrs{Cell: "simple"}, in: in(f32(2, 4, 3), f32(3, 3), h), err: `unknown activation ""`},
		{op: RnnScan, attrs: RnnAttrs{Cell: "lstm", Activation: "tanh", RecurrentActivation: "step"}, in: in(f32(2, 4, 12), f32(3, 12), h, h), err: `recurrent activation "step"`},
		{op: RnnScan, in: in(f32(2, 4, 3), f32(3, 3), h), err: "needs attributes"},
	})
	_, _, _, err := RnnCell("mlp")
	assert.Error(t, err)
}

func TestInferOptimizerUpdate(t *testing.T) {
	w, s := f32(2, 3), f32()
	adam := OptimizerAttrs{"adam", []float64{0.9, 0.999, 1e-7}}
	checkRules(t, []rule{
		{op: OptimizerUpdate, attrs: OptimizerAttrs{Rule: "sgd"}, in: in(w, w, s, s), want: "float32[2 3]"},
		{op: OptimizerUpdate, attrs: OptimizerAttrs{"nesterov", []float64{0.9}}, in: in(w, w, s, s, w), want: "float32[2 3], float32[2 3]"},
		{op: OptimizerUpdate, attrs: adam, in: in(w, w, s, s, w, w), want: "float32[2 3], float32[2 3], float32[2 3]"},
		{op: OptimizerUpdate, attrs: adam, in: in(w, w, s, s, w, w, boolean(), s), want: "float32[2 3], float32[2 3], float32[2 3]"},
		{op: OptimizerUpdate, attrs: OptimizerAttrs{Rule: "sgd"}, in: in(w, Type{Float16, Shape{2, 3}}, s, s, boolean(), s), want: "float32[2 3]"},
		{op: OptimizerUpdate, attrs: OptimizerAttrs{Rule: "sgd"}, in: in(w, Type{Float16, Shape{2, 3}}, s, s), err: "operand 1 must be float32[2 3], received float16[2 3]"},
		{op: OptimizerUpdate, attrs: OptimizerAttrs{Rule: "sgd"}, in: in(w, w, s, s, s, s), err: "operand 4 must be bool[], received float32[]"},
		{op: OptimizerUpdate, attrs: adam, in: in(w, w, s, s, w), err: `rule "adam" with 3 numbers and 5 operands is unknown`},
		{op: OptimizerUpdate, attrs: OptimizerAttrs{Rule: "momentum"}, in: in(w, w, s, s, w), err: `rule "momentum" with 0 numbers`},
		{op: OptimizerUpdate, attrs: OptimizerAttrs{Rule: "magic"}, in: in(w, w, s, s), err: `rule "magic"`},
		{op: OptimizerUpdate, attrs: OptimizerAttrs{Rule: "sgd"}, in: in(i32(2), i32(2), i32(), i32()), err: "needs floats, received int32[2]"},
		{op: OptimizerUpdate, attrs: OptimizerAttrs{Rule: "sgd"}, in: in(w, w, w, s), err: "operand 2 must be float32[], received float32[2 3]"},
		{op: OptimizerUpdate, in: in(w, w, s, s), err: "needs attributes"},
	})
}

func TestInferCollectives(t *testing.T) {
	x := f32(4, 6)
	over := func(kind Kind, replicas, axis, root int) CollectiveAttrs {
		return CollectiveAttrs{Kind: kind, Replicas: replicas, Axis: axis, Root: root}
	}
	checkRules(t, []rule{
		{op: AllReduce, attrs: over(Sum, 2, 0, 0), in: in(x, i32()), want: "float32[4 6], int32[]"},
		{op: AllReduce, attrs: over(Mean, 2, 0, 0), in: in(x), want: "float32[4 6]"},
		{op: AllReduce, attrs: over(Mean, 2, 0, 0), in: in(x, i32()), err: `kind "mean" does not combine operand 1, int32[], over replicas`},
		{op: AllReduce, attrs: over(Prod, 2, 0, 0), in: in(x), err: `kind "prod" does not combine`},
		{op: AllReduce, attrs: over(Sum, 2, 0, 0), in: in(boolean(2)), err: "does not combine operand 0, bool[2]"},
		{op: AllReduce, attrs: over(Sum, 0, 0, 0), in: in(x), err: "needs at least one replica, received 0"},
		{op: AllReduce, in: in(x), err: "needs attributes"},
		{op: AllGather, attrs: over("", 3, 1, 0), in: in(x), want: "float32[4 18]"},
		{op: AllGather, attrs: over("", 3, 2, 0), in: in(x), err: "axis 2 is outside"},
		{op: AllGather, in: in(x), err: "needs attributes"},
		{op: ReduceScatter, attrs: over(Max, 3, 1, 0), in: in(x), want: "float32[4 2]"},
		{op: ReduceScatter, attrs: over(Sum, 3, 0, 0), in: in(x), err: "axis 0 of [4 6] does not split over 3 replicas"},
		{op: ReduceScatter, attrs: over(Set, 2, 0, 0), in: in(x), err: `kind "set" does not combine`},
		{op: ReduceScatter, attrs: over(Sum, 2, -1, 0), in: in(x), err: "axis -1 is outside"},
		{op: ReduceScatter, in: in(x), err: "needs attributes"},
		{op: CollectiveBroadcast, attrs: over("", 3, 0, 2), in: in(boolean(2)), want: "bool[2]"},
		{op: CollectiveBroadcast, attrs: over("", 3, 0, 3), in: in(x), err: "root 3 is not one of 3 replicas"},
		{op: CollectiveBroadcast, in: in(x), err: "needs attributes"},
		{op: ReplicaID, attrs: over("", 3, 0, 0), want: "uint32[]"},
		{op: ReplicaID, err: "needs attributes"},
	})
}
