package keras_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

var quantizedShapes = flag.Int("quantized-shapes", 12, "shapes that BenchmarkQuantizedShapes draws")

// quantizedDense returns a function that predicts with a Dense layer in a mode: float32, mixed precision or quantized,
// in blocks of block inputs if the mode supports blocks.
func quantizedDense(b *testing.B, mode string, block, batch, features, units int) func() {
	dense, options := &layers.Dense{Units: units}, []keras.Option{keras.InputShape(features)}
	switch mode {
	case "mixed_bfloat16":
		options = append(options, keras.DTypePolicy(mode))
	case "gptq", "gptq ordered":
		dense.QuantizationConfig = &quantizers.GPTQConfig{GroupSize: block, ActivationOrder: mode != "gptq"}
		dense.DType = fmt.Sprintf("gptq/4/%d_from_float32", block)
	case "gptq 8", "gptq 2":
		bits := int(mode[len(mode)-1] - '0')
		dense.QuantizationConfig, dense.DType = &quantizers.GPTQConfig{GroupSize: block, WeightBits: bits}, fmt.Sprintf("gptq/%d/%d_from_float32", bits, block)
	case "awq":
		dense.QuantizationConfig, dense.DType = &quantizers.AWQConfig{GroupSize: block}, fmt.Sprintf("awq/4/%d_from_float32", block)
	}
	m, err := keras.NewSequential([]layers.Layer{dense}, options...)
	require.NoError(b, err)
	switch mode {
	case "int8", "float8":
		require.NoError(b, m.Quantize(mode))
	case "int4":
		require.NoError(b, m.Quantize(&quantizers.Int4QuantizationConfig{BlockSize: block}))
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

// BenchmarkQuantizedShapes predicts with Dense layers of random shapes, 1 to 512 examples and 64 to 4096 features and
// units, in each mode, with random blocks of 32 to 1024 inputs or none. It reports the time relative to float32: the
// median and the maximum.
func BenchmarkQuantizedShapes(b *testing.B) {
	modes := []string{"float32", "int8", "int4", "gptq", "awq", "float8", "gptq ordered", "gptq 8", "gptq 2"}
	r := rand.New(rand.NewPCG(16, 4))
	between := func(low, high float64) int { return int(low * math.Pow(high/low, r.Float64())) }
	ratios := map[string][]float64{}
	for range *quantizedShapes {
		batch, features, units := between(1, 513), between(64, 4097), between(64, 4097)
		block := -1
		if r.IntN(5) > 0 {
			block = 1 << (5 + r.IntN(6))
		}
		var runs []func()
		for _, mode := range modes {
			runs = append(runs, quantizedDense(b, mode, block, batch, features, units))
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
		line := fmt.Sprintf("%d x %d x %d in blocks of %d, float32 %v:", batch, features, units, block, least[0])
		for i, mode := range modes[1:] {
			ratio := float64(least[i+1]) / float64(least[0])
			ratios[mode] = append(ratios[mode], ratio)
			line += fmt.Sprintf(" %s %.2f", mode, ratio)
		}
		fmt.Println(line)
	}
	for mode, all := range ratios {
		slices.Sort(all)
		name := strings.ReplaceAll(mode, " ", "-")
		b.ReportMetric(all[len(all)/2], name+"-median")
		b.ReportMetric(all[len(all)-1], name+"-most")
	}
	b.ReportMetric(0, "ns/op")
}
