package keras_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

var quantizedShapes = flag.Int("quantized-shapes", 12, "shapes that BenchmarkQuantizedShapes draws")

// quantizedDense returns a function that predicts with a Dense layer in a mode: float32, one of mixed precision or one
// of quantization.
func quantizedDense(b *testing.B, mode string, batch, features, units int) func() {
	dense, options := &layers.Dense{Units: units}, []keras.Option{keras.InputShape(features)}
	switch mode {
	case "mixed_bfloat16":
		options = append(options, keras.DTypePolicy(mode))
	case "gptq":
		dense.QuantizationConfig, dense.DType = &quantizers.GPTQConfig{}, "gptq/4/128_from_float32"
	case "awq":
		dense.QuantizationConfig, dense.DType = &quantizers.AWQConfig{}, "awq/4/128_from_float32"
	}
	m, err := keras.NewSequential([]layers.Layer{dense}, options...)
	require.NoError(b, err)
	if mode == "int8" || mode == "int4" {
		require.NoError(b, m.Quantize(mode))
	}
	values := make([]float32, batch*features)
	for i := range values {
		values[i] = float32(i%17) - 8
	}
	x := data.Arrays(shaped(values, batch, features), nil)
	y, err := m.PredictOnBatch(b.Context(), x)
	require.NoError(b, err)
	return func() { require.NoError(b, m.PredictOnBatchInto(b.Context(), x, y)) }
}

// BenchmarkQuantizedShapes predicts with Dense layers of random shapes, 1 to 256 examples and 64 to 4096 features and
// units, in each mode, and reports how many times as long as float32 that takes: the median and the most.
func BenchmarkQuantizedShapes(b *testing.B) {
	modes := []string{"float32", "int8", "int4", "gptq", "awq"}
	r := rand.New(rand.NewPCG(16, 4))
	between := func(low, high float64) int { return int(low * math.Pow(high/low, r.Float64())) }
	ratios := map[string][]float64{}
	for range *quantizedShapes {
		batch, features, units := between(1, 257), between(64, 4097), between(64, 4097)
		var runs []func()
		for _, mode := range modes {
			runs = append(runs, quantizedDense(b, mode, batch, features, units))
		}
		least := make([]time.Duration, len(modes))
		for round := range 12 {
			for i, run := range runs {
				begin := time.Now()
				run()
				if took := time.Since(begin); round > 2 && (least[i] == 0 || took < least[i]) {
					least[i] = took
				}
			}
		}
		line := fmt.Sprintf("%d x %d x %d, float32 %v:", batch, features, units, least[0])
		for i, mode := range modes[1:] {
			ratio := float64(least[i+1]) / float64(least[0])
			ratios[mode] = append(ratios[mode], ratio)
			line += fmt.Sprintf(" %s %.2f", mode, ratio)
		}
		b.Log(line)
	}
	for mode, all := range ratios {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], mode+"-median")
		b.ReportMetric(all[len(all)-1], mode+"-most")
	}
	b.ReportMetric(0, "ns/op")
}
