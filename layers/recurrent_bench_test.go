package layers_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// BenchmarkRecurrentTrainStep is one step of gradient descent on 64 texts of 100 words: embedding 5000 x 64, a
// recurrent layer of 128 units over 100 steps, a dense layer of one unit.
func BenchmarkRecurrentTrainStep(b *testing.B) {
	for name, l := range map[string]layers.Layer{
		"LSTM":              &layers.LSTM{Units: 128},
		"LSTM,mask":         &layers.LSTM{Units: 128},
		"GRU":               &layers.GRU{Units: 128},
		"SimpleRNN":         &layers.SimpleRNN{Units: 128},
		"LSTM,dropout":      &layers.LSTM{Units: 128, Dropout: 0.2, RecurrentDropout: 0.2},
		"BidirectionalLSTM": &layers.Bidirectional{Layer: &layers.LSTM{Units: 128}},
	} {
		b.Run(name, func(b *testing.B) { benchmarkStep(b, l, name == "LSTM,mask") })
	}
}

func benchmarkStep(b *testing.B, l layers.Layer, mask bool) {
	const batch, steps, words = 64, 100, 5000
	embedding, dense := &layers.Embedding{InputDim: words, OutputDim: 64, MaskZero: mask}, &layers.Dense{Units: 1}
	fn := distribute.NewFunction(distribute.Default(), "step", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		c := r.Training()
		y := layers.Invoke(dense, c, layers.Invoke(l, c, layers.Invoke(embedding, c, in[0])))
		loss := ops.Mean(ops.Square(y))
		var weights distribute.Variables
		for _, m := range []layers.Layer{embedding, l, dense} {
			weights = append(weights, layers.TrainableWeights(m)...)
		}
		for i, g := range ops.NewTape(r).Gradients(loss, weights).Values {
			r.Assign(weights[i], ops.Subtract(r.Read(weights[i]), ops.MultiplyScalar(g, 0.01)))
		}
		return []*ops.Tensor{loss}
	})
	defer fn.Close()
	inst, err := fn.Acquire([][]ir.Type{{{DType: ir.Int32, Shape: ir.Shape{batch, steps}}}}, []int{batch})
	require.NoError(b, err)
	defer fn.Release(inst)
	ids := make([]float64, batch*steps)
	for i := range ids {
		ids[i] = float64(i * 7919 % words)
	}
	a, err := kernels.FromFloat64s(ir.Int32, ir.Shape{batch, steps}, ids)
	require.NoError(b, err)
	require.NoError(b, inst.Input(0, 0).Write(a.Data))
	require.NoError(b, inst.Run(context.Background(), 1, 0))
	b.ReportMetric(float64(inst.Stats().ArenaBytes)/1e6, "MB")
	b.ReportAllocs()
	for step := uint32(1); b.Loop(); step++ {
		require.NoError(b, inst.Run(context.Background(), 1, step))
	}
}
