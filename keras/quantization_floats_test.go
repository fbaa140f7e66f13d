package keras_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// TestSmallMatricesAreFloats: predictions with small matrices of int8 weights, with LoRA or without, are x·(w/scale +
// update), computed here in float64 from the variables.
func TestSmallMatricesAreFloats(t *testing.T) {
	const rows, inputs, units, rank = 3, 6, 5, 2
	r := rand.New(rand.NewPCG(27, 8))
	for name, build := range map[string]func(x *layers.KerasTensor) (layers.Layer, *layers.KerasTensor){
		"dense": func(x *layers.KerasTensor) (layers.Layer, *layers.KerasTensor) {
			l := &layers.Dense{Units: units}
			return l, layers.Apply(l, x)
		},
		"einsum": func(x *layers.KerasTensor) (layers.Layer, *layers.KerasTensor) {
			l := &layers.EinsumDense{Equation: "abc,cd->abd", OutputShape: []int{rows, units}}
			return l, layers.Apply(l, x)
		},
		"scores": func(x *layers.KerasTensor) (layers.Layer, *layers.KerasTensor) {
			l := &layers.ReversibleEmbedding{InputDim: units, OutputDim: inputs}
			return l, l.ApplyReverse(x)
		},
	} {
		x := keras.Input(keras.Shape(rows, inputs))
		l, y := build(x)
		m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(y))
		require.NoError(t, err)
		require.NoError(t, m.Quantize(&quantizers.Int8QuantizationConfig{WeightsOnly: true}))
		if name != "scores" {
			require.NoError(t, l.(layers.LoraEnabler).EnableLora(rank, layers.LoraOptions{Alpha: 3}))
		}
		w := map[string][]float64{}
		for _, v := range layers.OwnWeights(l) {
			values := drawnValues(r, v.Type().Shape.Size(), v.Name())
			a, err := kernels.FromFloat64s(v.Type().DType, v.Type().Shape, values)
			require.NoError(t, err)
			require.NoError(t, v.SetValue(a))
			w[v.Name()] = values
		}
		in := normals(r, rows*inputs)
		got, err := m.PredictOnBatch(t.Context(), data.Arrays(shaped(in, 1, rows, inputs), nil))
		require.NoError(t, err)
		for i := range rows {
			for j := range units {
				want := 0.0
				for k := range inputs {
					var number float64
					if name == "scores" {
						number = w["embeddings"][j*inputs+k] / w["embeddings_scale"][j]
					} else {
						number = w["kernel"][k*units+j] / w["kernel_scale"][j]
						for s := range rank {
							number += 3. / rank * w["lora_kernel_a"][k*rank+s] * w["lora_kernel_b"][s*units+j]
						}
					}
					want += float64(in[i*inputs+k]) * number
				}
				if len(w["bias"]) > 0 {
					want += w["bias"][j]
				}
				require.InDelta(t, want, got.Element(i*units+j), 1e-4, "%s %d %d", name, i, j)
			}
		}
	}
}

// drawnValues are integers for matrices, positive numbers for scales, and others.
func drawnValues(r *rand.Rand, n int, name string) []float64 {
	values := make([]float64, n)
	for i := range values {
		switch name {
		case "kernel", "embeddings":
			values[i] = float64(r.IntN(255) - 127)
		case "kernel_scale", "embeddings_scale":
			values[i] = 20 + 80*r.Float64()
		default:
			values[i] = r.NormFloat64()
		}
	}
	return values
}

func normals(r *rand.Rand, n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	return values
}
