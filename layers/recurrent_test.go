package layers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// fillWeights gives all weights of a layer the numbers ((n+i) mod 7 - 3)/10, n counting through the weights.
func fillWeights(t *testing.T, l layers.Layer) {
	t.Helper()
	n := 0
	for _, v := range layers.Weights(l) {
		values := make([]float64, v.Size())
		for i := range values {
			values[i] = float64((n+i)%7-3) / 10
		}
		n += len(values)
		setWeight(t, v, values...)
	}
}

func setWeight(t *testing.T, v *distribute.Variable, values ...float64) {
	t.Helper()
	a, err := kernels.FromFloat64s(v.Spec().DType, v.Spec().Shape, values)
	require.NoError(t, err)
	require.NoError(t, v.SetValue(a))
}

// buildFor builds a layer for an input.
func buildFor(t *testing.T, l layers.Layer, shape ...int) {
	t.Helper()
	_, err := layers.InferTypes(l, []ir.Type{{DType: ir.Float32, Shape: shape}})
	require.NoError(t, err)
}

// TestRecurrentGolden: numbers printed by Keras 3.15.1.
func TestRecurrentGolden(t *testing.T) {
	x := float32s([]int{1, 3, 2}, -0.5, -0.25, 0, 0.25, 0.5, 0.75)
	gap := opstest.Bools([]int{1, 3}, 1, 0, 1)
	for _, row := range []struct {
		name  string
		layer layers.Layer
		mask  []opstest.Array
		want  []float64
	}{
		{"LSTM", &layers.LSTM{Units: 2, ReturnSequences: true}, nil, []float64{-.0797916, -.0887489, -.0822315, -.0290762, -.0495892, .0458075}},
		{"LSTM masked", &layers.LSTM{Units: 2, ReturnSequences: true}, []opstest.Array{gap}, []float64{-.0797916, -.0887489, -.0797916, -.0887489, -.0446234, .0288101}},
		{"GRU", &layers.GRU{Units: 2, ReturnSequences: true}, nil, []float64{-.0854365, -.2040395, -.0961766, -.2727160, -.0792814, -.2273014}},
		{"GRU reset before", &layers.GRU{Units: 2, ReturnSequences: true, ResetBefore: true}, nil, []float64{-.1618837, -.1355566, -.2144768, -.1509166, -.2163098, -.0729343}},
		{"SimpleRNN", &layers.SimpleRNN{Units: 2, ReturnSequences: true}, nil, []float64{-.0249948, 0, -.2236542, -.1046148, -.4452419, -.2101674}},
	} {
		t.Run(row.name, func(t *testing.T) {
			buildFor(t, row.layer, 1, 3, 2)
			fillWeights(t, row.layer)
			got := layerCall{layer: row.layer, inputs: []opstest.Array{x}, masks: row.mask}.run(t)
			opstest.Near(t, "result", got.outputs[0], float32s([]int{1, 3, 2}, row.want...), 0, 1e-7)
		})
	}
}

// TestLSTMBiasStartsWithOnesForForget: with NoUnitForgetBias the initializer applies to all gates.
func TestLSTMBiasStartsWithOnesForForget(t *testing.T) {
	for _, row := range []struct {
		cell layers.LSTMCell
		want []float64
	}{
		{layers.LSTMCell{Units: 2}, []float64{0, 0, 1, 1, 0, 0, 0, 0}},
		{layers.LSTMCell{Units: 2, BiasInitializer: "ones"}, []float64{1, 1, 1, 1, 1, 1, 1, 1}},
		{layers.LSTMCell{Units: 1, NoUnitForgetBias: true}, []float64{0, 0, 0, 0}},
	} {
		l := &layers.RNN{Cell: &row.cell}
		buildFor(t, l, 1, 3, 2)
		value, err := layers.Weights(l)[2].Value()
		require.NoError(t, err)
		assert.Equal(t, row.want, value.Float64s())
	}
}

// programOf traces a training step of a layer with all gradients and returns the program.
func programOf(t *testing.T, l layers.Layer, training, gradients bool, shape ...int) *ir.Program {
	t.Helper()
	var err error
	r := distribute.NewReplica("test", 1, shape[0], shape[0])
	func() {
		defer ops.Catch(&err)
		c := r.Inference()
		c.Training = training
		y := layers.Invoke(l, c, r.Graph().Input("x", ir.Float32, shape...))
		r.Graph().Program().AddOutput("y", y.Value())
		if gradients {
			for i, g := range ops.NewTape(r).Gradients(ops.Sum(y), layers.TrainableWeights(l)).Values {
				r.Graph().Program().AddOutput(fmt.Sprint("g", i), g.Value())
			}
		}
	}()
	require.NoError(t, err)
	return r.Graph().Program()
}

// count counts the nodes of an op in a program, and in the bodies of its loops.
func count(p *ir.Program, op ir.Op) (outside, inside int) {
	live := p.Live()
	for i, n := range p.Nodes {
		if !live[i] {
			continue
		}
		if n.Op == op {
			outside++
		}
		for _, body := range ir.SubPrograms(n.Attrs) {
			a, b := count(body, op)
			inside += a + b
		}
	}
	return outside, inside
}

// TestRecurrentDropoutMasks: the masks are drawn once for all steps: one for all gates, or with recurrent dropout one
// for each.
func TestRecurrentDropoutMasks(t *testing.T) {
	for _, row := range []struct {
		layer layers.Layer
		want  int
	}{
		{&layers.LSTM{Units: 3}, 0},
		{&layers.LSTM{Units: 3, Dropout: 0.5}, 1},
		{&layers.LSTM{Units: 3, RecurrentDropout: 0.5}, 4},
		{&layers.LSTM{Units: 3, Dropout: 0.5, RecurrentDropout: 0.5}, 8},
		{&layers.GRU{Units: 3, Dropout: 0.5}, 1},
		{&layers.GRU{Units: 3, Dropout: 0.5, RecurrentDropout: 0.5}, 6},
		{&layers.SimpleRNN{Units: 3, Dropout: 0.5, RecurrentDropout: 0.5}, 2},
		{&layers.Bidirectional{Layer: &layers.GRU{Units: 3, Dropout: 0.5}}, 2},
		{&layers.RNN{Cell: &layers.StackedRNNCells{Cells: []layers.RNNCell{&layers.GRUCell{Units: 2, Dropout: 0.5}, &layers.LSTMCell{Units: 2, Dropout: 0.5}}}}, 2},
	} {
		outside, inside := count(programOf(t, row.layer, true, true, 2, 5, 4), ir.Dropout)
		assert.Equal(t, []int{row.want, 0}, []int{outside, inside}, "%+v: draws outside and inside of the loop", row.layer)
		outside, inside = count(programOf(t, row.layer, false, false, 2, 5, 4), ir.Dropout)
		assert.Zero(t, outside+inside, "%T draws outside training", row.layer)
	}
}

// TestRecurrentDropoutValues: the same elements are dropped at every step, the others are scaled, and each example has
// its own.
func TestRecurrentDropoutValues(t *testing.T) {
	const batch, steps, units = 3, 4, 16
	l := &layers.SimpleRNN{Units: units, Activation: "linear", NoBias: true, Dropout: 0.25, ReturnSequences: true, KernelInitializer: "identity", RecurrentInitializer: "zeros"}
	y := layerCall{layer: l, training: true, inputs: []opstest.Array{constant(1, batch, steps, units)}, random: [4]float64{5}}.run(t).outputs[0]
	dropped := 0
	for i, v := range y.F {
		first := i/(steps*units)*steps*units + i%units
		require.Equal(t, y.F[first], v, "element %d", i)
		if v == 0 {
			dropped++
		} else {
			require.InDelta(t, 1/0.75, v, 1e-6)
		}
	}
	assert.InDelta(t, 0.25, float64(dropped)/float64(len(y.F)), 0.15)
	assert.NotEqual(t, y.F[:units], y.F[steps*units:steps*units+units])
}

// TestOneLoop: a recurrent layer is one loop forward and one backward, whose size does not depend on the number of
// steps.
func TestOneLoop(t *testing.T) {
	for _, make := range []func() layers.Layer{
		func() layers.Layer { return &layers.LSTM{Units: 8} },
		func() layers.Layer { return &layers.GRU{Units: 8, ReturnSequences: true, Dropout: 0.1} },
		func() layers.Layer { return &layers.SimpleRNN{Units: 8, GoBackwards: true} },
	} {
		var sizes [2]int
		for i, steps := range []int{5, 100} {
			p := programOf(t, make(), true, true, 4, steps, 3)
			outside, inside := count(p, ir.Scan)
			assert.Equal(t, []int{2, 0}, []int{outside, inside}, "loops")
			sizes[i] = len(p.Nodes)
		}
		assert.Equal(t, sizes[0], sizes[1], "nodes for 5 and for 100 steps")
	}
}

// TestFrozenBeforeBuilt: a layer frozen before it is built has frozen cells and projections.
func TestFrozenBeforeBuilt(t *testing.T) {
	for _, l := range []layers.Layer{&layers.LSTM{Units: 2}, &layers.Bidirectional{Layer: &layers.GRU{Units: 2}}} {
		layers.SetTrainable(l, false)
		buildFor(t, l, 2, 3, 4)
		assert.Empty(t, layers.TrainableWeights(l), "%T", l)
		layers.SetTrainable(l, true)
		assert.Len(t, layers.TrainableWeights(l), len(layers.Weights(l)))
	}
	l := &layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2}
	layers.SetTrainable(l, false)
	x := ir.Type{DType: ir.Float32, Shape: ir.Shape{2, 3, 4}}
	_, err := layers.InferTypes(l, []ir.Type{x, x})
	require.NoError(t, err)
	assert.Empty(t, layers.TrainableWeights(l))
}

// TestResetAndBuildAgain: members of the first build are discarded.
func TestResetAndBuildAgain(t *testing.T) {
	for _, l := range []layers.Layer{&layers.LSTM{Units: 2}, &layers.Bidirectional{Layer: &layers.GRU{Units: 2}}} {
		buildFor(t, l, 2, 3, 4)
		n := len(layers.Weights(l))
		layers.Reset(l)
		buildFor(t, l, 2, 3, 5)
		assert.Len(t, layers.Weights(l), n)
		assert.Equal(t, 5, layers.Weights(l)[0].Spec().Shape[0])
	}
}

// doubler is a cell whose result is not a state: it counts steps and gives twice its input plus the count.
type doubler struct{ layers.Base }

func (d *doubler) StateSizes() []int { return []int{1} }
func (d *doubler) OutputSize() int   { return 2 }
func (d *doubler) Start(*layers.Context, int) layers.CellRun {
	return layers.CellRun{Step: func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
		n := ops.AddScalar(states[0], 1)
		return ops.Add(ops.MultiplyScalar(x, 2), n), []*ops.Tensor{n}
	}}
}
func (d *doubler) Forward(_ *layers.Context, in []*ops.Tensor) []*ops.Tensor { return in }

// TestOwnCell: a cell whose result is not a state, with the results of masked steps repeated or zero.
func TestOwnCell(t *testing.T) {
	x := float32s([]int{1, 4, 2}, 1, 2, 3, 4, 5, 6, 7, 8)
	masks := []opstest.Array{opstest.Bools([]int{1, 4}, 0, 1, 0, 1)}
	for _, row := range []struct {
		layer layers.RNN
		masks []opstest.Array
		want  []float64
		count float64
	}{
		{layers.RNN{ReturnSequences: true}, nil, []float64{3, 5, 8, 10, 13, 15, 18, 20}, 4},
		{layers.RNN{ReturnSequences: true}, masks, []float64{0, 0, 7, 9, 7, 9, 16, 18}, 2},
		{layers.RNN{ReturnSequences: true, ZeroOutputForMask: true}, masks, []float64{0, 0, 7, 9, 0, 0, 16, 18}, 2},
		{layers.RNN{ReturnSequences: true, GoBackwards: true}, masks, []float64{15, 17, 15, 17, 8, 10, 8, 10}, 2},
		{layers.RNN{}, nil, []float64{18, 20}, 4},
		{layers.RNN{}, masks, []float64{16, 18}, 2},
		{layers.RNN{GoBackwards: true}, masks, []float64{8, 10}, 2},
		{layers.RNN{GoBackwards: true, ZeroOutputForMask: true}, masks, []float64{0, 0}, 2},
	} {
		l := row.layer
		l.Cell, l.ReturnState = &doubler{}, true
		got := layerCall{layer: &l, inputs: []opstest.Array{x}, masks: row.masks}.run(t)
		assert.Equal(t, row.want, got.outputs[0].F, "%+v", row.layer)
		assert.Equal(t, []float64{row.count}, got.outputs[1].F)
	}
}

// TestMaskOfRankThree: a step is masked if all of it is.
func TestMaskOfRankThree(t *testing.T) {
	x := []opstest.Array{constant(1, 1, 3, 2)}
	l := &layers.GRU{Units: 2, ReturnSequences: true}
	buildFor(t, l, 1, 3, 2)
	fillWeights(t, l)
	flat := layerCall{layer: l, inputs: x, masks: []opstest.Array{opstest.Bools([]int{1, 3}, 1, 0, 1)}}.run(t)
	deep := layerCall{layer: l, inputs: x, masks: []opstest.Array{opstest.Bools([]int{1, 3, 2}, 1, 0, 0, 0, 1, 1)}}.run(t)
	assert.Equal(t, flat.outputs[0].F, deep.outputs[0].F)
	assert.Equal(t, flat.outputs[0].F[:2], flat.outputs[0].F[2:4])
}

// TestCellPolicy: a cell may compute in a different type than its layer.
func TestCellPolicy(t *testing.T) {
	l := &layers.RNN{Cell: &layers.LSTMCell{Units: 2, DType: "float64"}, ReturnState: true}
	p := programOf(t, l, false, false, 2, 3, 4)
	assert.Equal(t, ir.Float32, p.Type(p.Outputs[0].Value).DType)
	for _, v := range layers.Weights(l) {
		assert.Equal(t, ir.Float64, v.Spec().DType)
	}
	assert.Contains(t, p.String(), "float64[3 2 8]", "the product of the inputs")
}

// TestStackedCellsHavePathsOfTheirOwn: their weights therefore have different initial values.
func TestStackedCellsHavePathsOfTheirOwn(t *testing.T) {
	l := &layers.Bidirectional{Layer: &layers.RNN{Cell: &layers.StackedRNNCells{Cells: []layers.RNNCell{&layers.LSTMCell{Units: 2}, &layers.LSTMCell{Units: 2}}}}}
	buildFor(t, l, 2, 3, 2)
	seen := map[string]bool{}
	for _, v := range layers.Weights(l) {
		assert.False(t, seen[v.Path()], "%s", v.Path())
		seen[v.Path()] = true
	}
	assert.Len(t, seen, 12)
	assert.True(t, seen["bidirectional/backward_rnn/stacked_rnn_cells/lstm_cell_1/recurrent_kernel"], "%v", seen)
}

// TestMembers: attributes and names as in Keras files.
func TestMembers(t *testing.T) {
	two := []ir.Type{{DType: ir.Float32, Shape: ir.Shape{2, 3, 4}}, {DType: ir.Float32, Shape: ir.Shape{2, 3, 4}}}
	for _, row := range []struct {
		layer  layers.Layer
		inputs []ir.Type
		want   string
	}{
		{&layers.LSTM{Units: 2}, two[:1], "cell=lstm_cell"},
		{&layers.RNN{Cell: &layers.StackedRNNCells{Cells: []layers.RNNCell{&layers.GRUCell{Units: 2}, &layers.GRUCell{Units: 2}}}}, two[:1], "cell=stacked_rnn_cells"},
		{&layers.Bidirectional{Layer: &layers.LSTM{Units: 2, Name: "deep"}}, two[:1], "forward_layer=forward_deep backward_layer=backward_deep"},
		{&layers.Bidirectional{Layer: &layers.LSTM{Units: 2, Name: "forward_a"}, BackwardLayer: &layers.GRU{Units: 2, Name: "b", GoBackwards: true}}, two[:1], "forward_layer=forward_a backward_layer=b"},
		{&layers.TimeDistributed{Layer: &layers.Dense{Units: 2}}, two[:1], "layer=dense"},
		{&layers.Wrapper{Layer: &layers.Dense{Units: 2}}, two[:1], "layer=dense"},
		{&layers.MultiHeadAttention{NumHeads: 1, KeyDim: 2}, two, "query_dense=query key_dense=key value_dense=value output_dense=attention_output"},
		{&layers.GroupQueryAttention{NumQueryHeads: 2, NumKeyValueHeads: 1, HeadDim: 2, UseGate: true}, two, "_query_dense=query _key_dense=key _gate_dense=gate _value_dense=value _output_dense=attention_output"},
	} {
		_, err := layers.InferTypes(row.layer, row.inputs)
		require.NoError(t, err)
		attributes := row.layer.(layers.AttributeNamer).MemberAttributes()
		var got []string
		for i, m := range layers.Sublayers(row.layer) {
			got = append(got, attributes[i]+"="+layers.Name(m))
		}
		assert.Equal(t, row.want, strings.Join(got, " "))
	}
	stacked := &layers.StackedRNNCells{Cells: []layers.RNNCell{&layers.GRUCell{Units: 2}, &layers.GRUCell{Units: 2}}}
	assert.Equal(t, []string{"cells[]", "cells[]"}, stacked.MemberAttributes())
}

// TestBidirectionalMaskedStepsAreZero: even without ZeroOutputForMask of the layers.
func TestBidirectionalMaskedStepsAreZero(t *testing.T) {
	l := &layers.Bidirectional{Layer: &layers.LSTM{Units: 2, ReturnSequences: true}}
	got := layerCall{layer: l, inputs: []opstest.Array{constant(1, 1, 3, 2)}, masks: []opstest.Array{opstest.Bools([]int{1, 3}, 1, 0, 1)}}.run(t)
	y := got.outputs[0].F
	assert.Equal(t, make([]float64, 4), y[4:8])
	assert.NotEqual(t, make([]float64, 4), y[:4])
	assert.NotNil(t, got.mask)
}

// TestTimeDistributedStateful: a stateful layer continues from step to step, as if the steps were one sequence.
func TestTimeDistributedStateful(t *testing.T) {
	inner := func(stateful bool) layers.Layer {
		return &layers.GRU{Units: 2, ReturnSequences: true, Stateful: stateful, KernelInitializer: "ones", RecurrentInitializer: "ones"}
	}
	x := float32s([]int{1, 2, 3, 2}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3)
	parts := stepsOf(t, distribute.Default(), &layers.TimeDistributed{Layer: inner(true)}, x)
	joined := x
	joined.Shape = []int{1, 6, 2}
	whole := stepsOf(t, distribute.Default(), inner(false), joined)
	require.Len(t, parts[0], 12)
	for i := range parts[0] {
		assert.InDelta(t, whole[0][i], parts[0][i], 1e-6)
	}
}

// TestConvLSTMChannelsFirst: the same numbers with the axes in another order.
func TestConvLSTMChannelsFirst(t *testing.T) {
	permute := func(x opstest.Array, perm ...int) opstest.Array {
		return opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			return []*ops.Tensor{ops.Transpose(in[0], perm...)}
		}, x)[0]
	}
	run := func(format layers.DataFormat, x opstest.Array, mask opstest.Array) answer {
		l := &layers.ConvLSTM2D{Filters: 2, KernelSize: []int{2, 1}, DataFormat: format, ReturnSequences: true, ReturnState: true}
		buildFor(t, l, x.Shape...)
		fillWeights(t, l)
		return layerCall{layer: l, inputs: []opstest.Array{x.As(ir.Float32)}, masks: []opstest.Array{mask}}.run(t)
	}
	x, mask := opstest.Normal(3, 2, 3, 4, 3, 2), opstest.Bools([]int{2, 3}, 1, 0, 1, 1, 1, 0)
	last, first := run(layers.ChannelsLast, x, mask), run(layers.ChannelsFirst, permute(x, 0, 1, 4, 2, 3), mask)
	opstest.Near(t, "results", first.outputs[0], permute(last.outputs[0], 0, 1, 4, 2, 3), 1e-6, 1e-6)
	for i := 1; i < 3; i++ {
		opstest.Near(t, "state", first.outputs[i], permute(last.outputs[i], 0, 3, 1, 2), 1e-6, 1e-6)
	}
	require.NotNil(t, first.mask)
}

// TestTimeDistributedActivityRegularizer: Keras bypasses the regularizer when it calls the layer; the penalty of its
// weights remains.
func TestTimeDistributedActivityRegularizer(t *testing.T) {
	for _, row := range []struct {
		layer layers.Layer
		want  int
	}{
		{&layers.Dense{Units: 2, ActivityRegularizer: "l2"}, 0},
		{&layers.Wrapper{Layer: &layers.Dense{Units: 2, ActivityRegularizer: "l2"}}, 1},
	} {
		l := &layers.TimeDistributed{Layer: row.layer}
		layerCall{layer: l, training: true, inputs: []opstest.Array{constant(1, 2, 3, 4)}, more: func(r *distribute.Replica, _, _ []*ops.Tensor) []*ops.Tensor {
			assert.Len(t, r.Losses(), row.want, "%T", row.layer)
			return nil
		}}.run(t)
	}
}
