package onnx_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/layers"
)

// drawn returns networks over sequences with layers and settings drawn at random; a seed determines them.
func drawn(t testing.TB, n int, seed uint64) map[string]testCase {
	c := map[string]testCase{}
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		shape := []int{2 + r.IntN(7), 1 + r.IntN(6)}
		if r.IntN(4) == 0 {
			shape[0] = layers.Unknown
		}
		var chain []layers.Layer
		if r.IntN(3) == 0 {
			chain = append(chain, &layers.Masking{})
		}
		for range 1 + r.IntN(3) {
			chain = append(chain, drawSequence(r))
			if r.IntN(2) == 0 {
				chain = append(chain, drawBetween(r))
			}
		}
		chain = append(chain, drawRecurrent(r, false, r.IntN(3) == 0), &layers.Dense{Units: 1 + r.IntN(4), Activation: "softmax"})
		c[fmt.Sprintf("drawn %d", i)] = stack(t, shape, chain...)
	}
	return c
}

// drawSequence draws a layer that gives a result for each step, most often a recurrent one.
func drawSequence(r *rand.Rand) layers.Layer {
	switch r.IntN(5) {
	case 0:
		return &layers.Conv1D{Filters: 1 + r.IntN(5), KernelSize: []int{1 + r.IntN(4)}, Padding: "causal", DilationRate: []int{1 + r.IntN(2)}}
	case 1:
		merge := []layers.MergeMode{"concat", "sum", "mul", "ave"}[r.IntN(4)]
		return &layers.Bidirectional{Layer: drawRecurrent(r, true, false), MergeMode: merge}
	}
	return drawRecurrent(r, true, r.IntN(3) == 0)
}

func drawBetween(r *rand.Rand) layers.Layer {
	switch r.IntN(4) {
	case 0:
		return &layers.LayerNormalization{}
	case 1:
		return &layers.TimeDistributed{Layer: &layers.Dense{Units: 1 + r.IntN(5), Activation: "elu"}}
	case 2:
		return &layers.BatchNormalization{}
	}
	return &layers.Dense{Units: 1 + r.IntN(5), Activation: "gelu"}
}

func drawRecurrent(r *rand.Rand, sequences, back bool) layers.Layer {
	units, noBias := 1+r.IntN(6), r.IntN(4) == 0
	activation := []any{"tanh", "relu", "softsign"}[r.IntN(3)]
	switch r.IntN(4) {
	case 0:
		return &layers.SimpleRNN{Units: units, ReturnSequences: sequences, GoBackwards: back, NoBias: noBias, Activation: activation}
	case 1:
		return &layers.GRU{Units: units, ReturnSequences: sequences, GoBackwards: back, NoBias: noBias, Activation: activation, ResetBefore: r.IntN(2) == 0}
	case 2:
		cells := []layers.RNNCell{&layers.GRUCell{Units: units}, &layers.LSTMCell{Units: 1 + r.IntN(4), NoBias: noBias}, &layers.SimpleRNNCell{Units: 1 + r.IntN(4)}}
		return &layers.RNN{Cell: &layers.StackedRNNCells{Cells: cells[r.IntN(3):]}, ReturnSequences: sequences, GoBackwards: back}
	}
	return &layers.LSTM{Units: units, ReturnSequences: sequences, GoBackwards: back, NoBias: noBias, Activation: activation}
}
