package layers_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// A linear cell with weights of 1 adds its inputs and its state.
func ExampleSimpleRNNCell() {
	show(&layers.SimpleRNNCell{Units: 1, Activation: "linear", KernelInitializer: "ones", RecurrentInitializer: "ones"},
		in(ir.Shape{1, 2}, 1, 2), in(ir.Shape{1, 1}, 10))
	// Output:
	// (1, 1) [13]
}

// So a layer with this cell adds up its inputs.
func ExampleSimpleRNN() {
	sum := layers.SimpleRNN{Units: 1, Activation: "linear", KernelInitializer: "ones", RecurrentInitializer: "ones"}
	last, all, backwards := sum, sum, sum
	all.ReturnSequences = true
	backwards.ReturnSequences, backwards.GoBackwards = true, true
	show(&last, in(ir.Shape{1, 3, 2}))
	show(&all, in(ir.Shape{1, 3, 2}))
	show(&backwards, in(ir.Shape{1, 3, 2}))
	// Output:
	// (1, 1) [21]
	// (1, 3, 1) [3 10 21]
	// (1, 3, 1) [11 18 21]
}

// With half-open gates the cell state is half the old one plus half the input.
func ExampleLSTMCell() {
	cell := &layers.LSTMCell{Units: 1, Activation: "linear", KernelInitializer: "zeros", RecurrentInitializer: "zeros", BiasInitializer: "zeros", NoUnitForgetBias: true}
	show(cell, in(ir.Shape{1, 2}), in(ir.Shape{1, 1}, 7), in(ir.Shape{1, 1}, 4)) // h' = σ(0)·(σ(0)·4 + σ(0)·0)
	// Output:
	// (1, 1) [1]
}

func ExampleLSTM() {
	x := in(ir.Shape{2, 3, 4}) // 2 sequences of 3 steps of 4 features
	show(&layers.LSTM{Units: 2, KernelInitializer: "zeros"}, x)
	show(&layers.LSTM{Units: 1, KernelInitializer: "ones", RecurrentInitializer: "zeros", ReturnSequences: true}, x)
	// Output:
	// (2, 2) [0 0 0 0]
	// (2, 3, 1) [0.76 0.96 1 0.76 0.96 1]
}

func ExampleGRUCell() {
	cell := &layers.GRUCell{Units: 1, KernelInitializer: "zeros", RecurrentInitializer: "zeros"}
	show(cell, in(ir.Shape{1, 2}), in(ir.Shape{1, 1}, 4)) // z = σ(0) keeps half of the state
	// Output:
	// (1, 1) [2]
}

func ExampleGRU() {
	show(&layers.GRU{Units: 2, KernelInitializer: "zeros", RecurrentInitializer: "zeros"},
		in(ir.Shape{1, 3, 4}), in(ir.Shape{1, 2}, 8, 16)) // from an initial state
	// Output:
	// (1, 2) [1 2]
}

func ExampleRNN() {
	cell := &layers.SimpleRNNCell{Units: 1, Activation: "linear", KernelInitializer: "ones", RecurrentInitializer: "ones"}
	show(&layers.RNN{Cell: cell, ReturnSequences: true}, in(ir.Shape{1, 3, 1}))
	// Output:
	// (1, 3, 1) [1 3 6]
}

func ExampleStackedRNNCells() {
	cell := func() *layers.SimpleRNNCell {
		return &layers.SimpleRNNCell{Units: 1, Activation: "linear", KernelInitializer: "ones", RecurrentInitializer: "ones"}
	}
	// The second cell adds up the sums of the first.
	stack := &layers.StackedRNNCells{Cells: []layers.RNNCell{cell(), cell()}}
	show(&layers.RNN{Cell: stack, ReturnSequences: true}, in(ir.Shape{1, 3, 1}))
	// Output:
	// (1, 3, 1) [1 4 10]
}

// largest is a cell that keeps the largest input seen.
type largest struct{ layers.Base }

func (l *largest) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return layers.ForwardCell(c, l, in)
}

func (*largest) StateSizes() []int { return []int{1} }
func (*largest) OutputSize() int   { return 1 }

func (*largest) Start(*layers.Context, int) layers.CellRun {
	step := func(x *ops.Tensor, states []*ops.Tensor) (y *ops.Tensor, next []*ops.Tensor) {
		y = ops.Maximum(x, states[0])
		return y, []*ops.Tensor{y}
	}
	return layers.CellRun{Step: step, OutputIsState: true}
}

// A custom cell.
func ExampleRNNCell() {
	show(&layers.RNN{Cell: &largest{}, ReturnSequences: true}, in(ir.Shape{1, 5, 1}, 2, 1, 5, 3, 4))
	// Output:
	// (1, 5, 1) [2 2 5 5 5]
}

// With kernels of zeros only the forget gate's bias matters: of a cell state of 1 the fraction σ(1) remains, and h =
// σ(0)·tanh of it.
func ExampleConvLSTM1D() {
	l := &layers.ConvLSTM1D{Filters: 1, KernelSize: []int{2}, KernelInitializer: "zeros", RecurrentInitializer: "zeros"}
	show(l, in(ir.Shape{1, 1, 3, 1}), in(ir.Shape{1, 2, 1}, 0, 0), in(ir.Shape{1, 2, 1}, 1, 0))
	// Output:
	// (1, 2, 1) [0.31 0]
}

func ExampleConvLSTM2D() {
	film := in(ir.Shape{1, 3, 4, 4, 1}) // 3 images of 4 x 4 cells
	show(&layers.ConvLSTM2D{Filters: 1, KernelSize: []int{3}, KernelInitializer: "zeros", ReturnSequences: true}, film)
	// Output:
	// (1, 3, 2, 2, 1) [0 0 0 0 0 0 0 0 0 0 0 0]
}

func ExampleConvLSTM3D() {
	l := &layers.ConvLSTM3D{Filters: 2, KernelSize: []int{2}, Padding: layers.Same, KernelInitializer: "zeros"}
	show(l, in(ir.Shape{1, 2, 1, 2, 2, 1}))
	// Output:
	// (1, 1, 2, 2, 2) [0 0 0 0 0 0 0 0]
}

func ExampleBidirectional() {
	sum := &layers.SimpleRNN{Units: 1, Activation: "linear", KernelInitializer: "ones", RecurrentInitializer: "ones", ReturnSequences: true}
	show(&layers.Bidirectional{Layer: sum}, in(ir.Shape{1, 3, 1}))
	// Output:
	// (1, 3, 2) [1 6 3 5 6 3]
}

func ExampleTimeDistributed() {
	show(&layers.TimeDistributed{Layer: &layers.Dense{Units: 1, KernelInitializer: "ones"}}, in(ir.Shape{1, 3, 2}))
	// Output:
	// (1, 3, 1) [3 7 11]
}

func ExampleWrapper() {
	show(&layers.Wrapper{Layer: &layers.Dense{Units: 1, KernelInitializer: "ones"}}, in(ir.Shape{1, 2}))
	// Output:
	// (1, 1) [3]
}

// A zero query attends to all keys equally: the result is the mean of the values.
func ExampleAttention() {
	query, value := in(ir.Shape{1, 1, 2}, 0, 0), in(ir.Shape{1, 2, 2}, 1, 2, 3, 6)
	show(&layers.Attention{}, query, value)
	show(&layers.Attention{}, in(ir.Shape{1, 1, 2}, 9, 9), value) // attends to the larger key
	// Output:
	// (1, 1, 2) [2 4]
	// (1, 1, 2) [3 6]
}

func ExampleAdditiveAttention() {
	query, value := in(ir.Shape{1, 1, 2}, 0, 0), in(ir.Shape{1, 2, 2}, -9, -9, 9, 9)
	show(&layers.AdditiveAttention{NoScale: true}, query, value) // softmax of -2 and 2
	// Output:
	// (1, 1, 2) [8.68 8.68]
}

// With zero weights a query attends to all positions equally, or with UseCausalMask to those up to its own.
func ExampleMultiHeadAttention() {
	x := in(ir.Shape{1, 3, 2}, 0, 1, 3, 0, 6, 5)
	show(&layers.MultiHeadAttention{NumHeads: 2, KeyDim: 2, BiasInitializer: "ones", KernelInitializer: "zeros"}, x, x)
	probabilities(&layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2, KernelInitializer: "zeros", ReturnAttentionScores: true}, x, x)
	probabilities(&layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2, KernelInitializer: "zeros", ReturnAttentionScores: true, UseCausalMask: true}, x, x)
	// Output:
	// (1, 3, 2) [1 1 1 1 1 1]
	// (1, 1, 3, 3) [0.33 0.33 0.33 0.33 0.33 0.33 0.33 0.33 0.33]
	// (1, 1, 3, 3) [1 0 0 0.5 0.5 0 0.33 0.33 0.33]
}

func ExampleGroupQueryAttention() {
	l := &layers.GroupQueryAttention{HeadDim: 2, NumQueryHeads: 4, NumKeyValueHeads: 2}
	x := in(ir.Shape{1, 3, 6})
	y, err := evaluate(l, false, []tensor{x, x})
	fmt.Println(y.Type.Shape, err)
	for _, v := range layers.Weights(l) {
		fmt.Println(v)
	}
	// Output:
	// [1 3 6] <nil>
	// grouped_query_attention/query/kernel float32[6 4 2]
	// grouped_query_attention/query/bias float32[4 2]
	// grouped_query_attention/key/kernel float32[6 2 2]
	// grouped_query_attention/key/bias float32[2 2]
	// grouped_query_attention/value/kernel float32[6 2 2]
	// grouped_query_attention/value/bias float32[2 2]
	// grouped_query_attention/attention_output/kernel float32[4 2 6]
	// grouped_query_attention/attention_output/bias float32[6]
}

func ExampleCallArguments() {
	l := &layers.MultiHeadAttention{NumHeads: 2, KeyDim: 3}
	err := layers.SetCallArgument(l, "use_causal_mask", true)
	fmt.Println(layers.CallArguments(l), err)
	// Output:
	// map[use_causal_mask:true] <nil>
}

// In Keras files members have the names of their attributes.
func ExampleAttributeNamer() {
	l := &layers.Bidirectional{Layer: &layers.GRU{Units: 2}}
	if _, err := layers.InferTypes(l, []ir.Type{{DType: ir.Float32, Shape: ir.Shape{1, 3, 4}}}); err != nil {
		fmt.Println(err)
	}
	for i, m := range layers.Sublayers(l) {
		fmt.Println(l.MemberAttributes()[i], layers.Name(m))
	}
	// Output:
	// forward_layer forward_gru
	// backward_layer backward_gru
}

// A stateful layer starts again from zero.
func ExampleStateResetter() {
	var l layers.StateResetter = &layers.LSTM{Units: 2, Stateful: true}
	fmt.Println(l.ResetState())
	// Output:
	// <nil>
}

// probabilities prints the second result.
func probabilities(l layers.Layer, inputs ...tensor) { show(&second{Inner: l}, inputs...) }

// second gives the second result of a layer as its first.
type second struct {
	layers.Base
	Inner layers.Layer
}

func (l *second) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return layers.InvokeAll(l.Inner, c, in...)[1:]
}
