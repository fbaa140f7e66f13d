package keras_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// BenchmarkQuantized predicts with a Dense layer of 4096 units on 4096 features, as floats, in eight bits and in four.
func BenchmarkQuantized(b *testing.B) {
	const n = 4096
	for _, batch := range []int{1, 64} {
		for _, mode := range []string{"float32", "mixed_bfloat16", "int8", "int4"} {
			b.Run(fmt.Sprintf("%s/%d", mode, batch), func(b *testing.B) {
				policy := "float32"
				if mode == "mixed_bfloat16" {
					policy = mode
				}
				m, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: n}}, keras.InputShape(n), keras.DTypePolicy(policy))
				require.NoError(b, err)
				if mode != policy {
					require.NoError(b, m.Quantize(mode))
				}
				values := make([]float32, batch*n)
				for i := range values {
					values[i] = float32(i%17) - 8
				}
				x := data.Arrays(shaped(values, batch, n), nil)
				y, err := m.PredictOnBatch(b.Context(), x)
				require.NoError(b, err)
				for range 3 {
					require.NoError(b, m.PredictOnBatchInto(b.Context(), x, y))
				}
				b.SetBytes(n * n * map[string]int64{"float32": 8, "mixed_bfloat16": 4, "int8": 2, "int4": 1}[mode] / 2)
				b.ReportAllocs()
				for b.Loop() {
					require.NoError(b, m.PredictOnBatchInto(b.Context(), x, y))
				}
			})
		}
	}
}
