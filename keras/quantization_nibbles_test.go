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

// TestColumnsOfFourBits: 4-bit columns are independent, so those of a layer whose columns are processed in groups of
// eight equal the first ones of a wider layer whose columns are not.
func TestColumnsOfFourBits(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, policy := range []string{"float32", "mixed_bfloat16"} {
		for try := range 6 {
			block, blocks, units := 2+r.IntN(20), 1+r.IntN(4), 8*(1+r.IntN(5))
			more := units + 1 + r.IntN(7)
			if try == 5 { // wide enough to be multiplied as integers, which the first columns are not
				block, blocks, more = 100+r.IntN(20), 10, 73
			}
			rows := block * blocks
			weights := make([]float32, rows*more)
			for i := range weights {
				weights[i] = float32(r.NormFloat64())
			}
			x := make([]float32, 3*rows)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			predict := func(units int) []float64 {
				m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: units, NoBias: true}}, keras.InputShape(rows), keras.DTypePolicy(policy))
				require.NoError(t, err)
				part := make([]float32, 0, rows*units)
				for row := range rows {
					part = append(part, weights[row*more:][:units]...)
				}
				require.NoError(t, m.SetWeights([]kernels.Array{shaped(part, rows, units)}))
				require.NoError(t, m.Quantize(&quantizers.Int4QuantizationConfig{BlockSize: block}))
				y, err := m.PredictOnBatch(t.Context(), data.Arrays(shaped(x, 3, rows), nil))
				require.NoError(t, err)
				return y.Float64s()
			}
			narrow, wide := predict(units), predict(more)
			for i, got := range narrow {
				require.InDelta(t, wide[i/units*more+i%units], got, 1e-4, "%s: %d blocks of %d, %d units", policy, blocks, block, units)
			}
		}
	}
}

// TestRowsOfFourBits: rows of integers have a scale of 1 if their largest is 7, or, for blocks, if they range from -8
// to 7; then a 4-bit table reproduces them exactly.
func TestRowsOfFourBits(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, block := range []int{-1, 4} {
		for _, units := range []int{4, 5, 8, 33, 64} {
			if units%4 > 0 && block > 0 {
				continue // a block would not cover that range
			}
			const rows = 20
			weights, x := make([]float32, rows*units), make([]float32, rows)
			for i := range weights {
				switch weights[i] = float32(r.IntN(15) - 7); {
				case i%units%4 == 0:
					weights[i] = 7
				case i%units%4 == 1 && block > 0:
					weights[i] = -8
				}
			}
			for i := range x {
				x[i] = float32(i)
			}
			m, err := keras.NewSequential([]layers.Layer{&layers.Embedding{InputDim: rows, OutputDim: units}}, keras.InputShape())
			require.NoError(t, err)
			require.NoError(t, m.SetWeights([]kernels.Array{shaped(weights, rows, units)}))
			require.NoError(t, m.Quantize(&quantizers.Int4QuantizationConfig{BlockSize: block}))
			y, err := m.PredictOnBatch(t.Context(), data.Arrays(shaped(x, rows), nil))
			require.NoError(t, err)
			for i, got := range y.Float64s() {
				require.InDelta(t, weights[i], got, 1e-5, "blocks of %d, %d units: element %d of row %d", block, units, i%units, i/units)
			}
		}
	}
}
