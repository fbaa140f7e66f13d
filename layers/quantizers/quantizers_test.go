package quantizers_test

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

func array(t *testing.T, d ir.DType, shape ir.Shape, values ...float64) kernels.Array {
	t.Helper()
	a, err := kernels.FromFloat64s(d, shape, values)
	require.NoError(t, err)
	return a
}

// TestPackingIsThatOfKeras uses the numbers of Keras's documentation.
func TestPackingIsThatOfKeras(t *testing.T) {
	x := array(t, ir.Int8, ir.Shape{3, 2}, -3, 7, 2, -8, 1, 0)
	packed, err := quantizers.PackInt4(x, 0)
	require.NoError(t, err)
	assert.Equal(t, []float64{45, -121, 1, 0}, packed.Float64s())
	back, err := quantizers.UnpackInt4(packed, 3, 0)
	require.NoError(t, err)
	assert.Equal(t, x, back)

	y := array(t, ir.Int8, ir.Shape{2, 3}, -3, 7, 2, -8, 1, 0)
	packed, err = quantizers.PackInt4(y, -1)
	require.NoError(t, err)
	assert.Equal(t, []float64{125, 2, 24, 0}, packed.Float64s())
	back, err = quantizers.UnpackInt4(packed, 3, 1)
	require.NoError(t, err)
	assert.Equal(t, y, back)

	all := array(t, ir.Uint8, ir.Shape{4}, 0, 15, 9, 1)
	packed, err = quantizers.PackInt4(all, 0)
	require.NoError(t, err)
	back, err = quantizers.UnpackInt4(packed, 4, 0)
	require.NoError(t, err)
	assert.Equal(t, all, back)
}

func TestWhatCannotBeQuantized(t *testing.T) {
	whole, float := array(t, ir.Int8, ir.Shape{2, 2}, 1, 2, 3, 4), array(t, ir.Float32, ir.Shape{2, 2}, 1, 2, 3, 4)
	refused := func(want string, err error) { t.Helper(); assert.ErrorContains(t, err, want) }
	_, err := quantizers.PackInt4(float, 0)
	refused("expected int8 or uint8", err)
	_, err = quantizers.PackInt4(whole, 2)
	refused("no axis 2", err)
	_, err = quantizers.UnpackInt4(whole, 7, 0)
	refused("hold 3 or 4 numbers, not 7", err)
	_, err = quantizers.QuantizeGrouped(whole, 2)
	refused("a matrix of a float type", err)
	_, err = quantizers.QuantizeGrouped(float, 0)
	refused("block size must be positive", err)
	_, err = quantizers.Grouped{Values: whole, Scale: float, Zero: whole}.Dequantize(2)
	refused("do not belong together", err)
	_, _, err = (&quantizers.AbsMaxQuantizer{}).QuantizeArray(whole)
	refused("a float type", err)
	_, _, err = (&quantizers.AbsMaxQuantizer{}).QuantizeArray(float, 3)
	refused("are not those of an array", err)
	_, _, err = (&quantizers.AbsMaxQuantizer{ValueRange: []int{-200, 127}}).QuantizeArray(float)
	refused("holds -128 to 127", err)
	_, _, err = (&quantizers.AbsMaxQuantizer{ValueRange: []int{5}}).QuantizeArray(float)
	refused("two numbers", err)
	_, err = quantizers.Resolve("int")
	refused(`unknown mode "int"`, err)
	_, err = quantizers.Resolve(8)
	refused("received the number 8", err)
	_, err = quantizers.Resolve((*quantizers.Int8QuantizationConfig)(nil))
	refused("nil", err)
	_, err = quantizers.Resolve(&quantizers.Int4QuantizationConfig{BlockSize: -2})
	refused("BlockSize must be", err)
	_, err = quantizers.Resolve(&quantizers.Int4QuantizationConfig{ActivationQuantizer: &quantizers.AbsMaxQuantizer{}})
	refused("cannot be combined with custom quantizers", err)
	_, err = quantizers.Resolve(&quantizers.Int4QuantizationConfig{BlockSize: -1, WeightQuantizer: &quantizers.AbsMaxQuantizer{}})
	refused("must have the ValueRange -8 to 7", err)
	_, err = quantizers.Resolve(&quantizers.Int8QuantizationConfig{ActivationQuantizer: &quantizers.AbsMaxQuantizer{OutputDType: "int16"}})
	refused("must give int8", err)
	_, err = quantizers.Get("MinMax")
	refused("unknown quantizer", err)
	_, err = quantizers.Deserialize(json.RawMessage(`{"class_name":"Int5QuantizationConfig","config":{}}`))
	refused("not supported", err)
	_, err = quantizers.Serialize(3)
	refused("received the number 3", err)
}

// TestConfigurationsAreWrittenAsKerasDoes reads and writes configurations with values that fields do not represent
// directly.
func TestConfigurationsAreWrittenAsKerasDoes(t *testing.T) {
	for _, text := range []string{
		`{"module":"keras.quantizers","class_name":"Int8QuantizationConfig","config":{"weight_quantizer":null,"activation_quantizer":null},"registered_name":null}`,
		`{"module":"keras.quantizers","class_name":"Int8QuantizationConfig","config":{"weight_quantizer":null,"activation_quantizer":{"module":"keras.quantizers","class_name":"AbsMaxQuantizer","config":{"value_range":[-127,127],"epsilon":1e-07,"output_dtype":"int8"},"registered_name":null}},"registered_name":null}`,
		`{"module":"keras.quantizers","class_name":"Int4QuantizationConfig","config":{"weight_quantizer":{"module":"keras.quantizers","class_name":"AbsMaxQuantizer","config":{"value_range":[-8,7],"epsilon":1e-07,"output_dtype":"int8","axis":[0]},"registered_name":null},"activation_quantizer":null,"block_size":-1},"registered_name":null}`,
		`{"module":"keras.quantizers","class_name":"Int4QuantizationConfig","config":{"weight_quantizer":null,"activation_quantizer":null,"block_size":128},"registered_name":null}`,
		`{"module":"keras.quantizers","class_name":"Float8QuantizationConfig","config":{},"registered_name":null}`,
	} {
		c, err := quantizers.Deserialize(json.RawMessage(text))
		require.NoError(t, err, text)
		o, err := quantizers.Serialize(c)
		require.NoError(t, err)
		again, err := json.Marshal(o)
		require.NoError(t, err)
		require.JSONEq(t, text, string(again))
	}
}

// TestQuantizingTakesLittleMemory: matrices are quantized one piece at a time, without a copy in float64.
func TestQuantizingTakesLittleMemory(t *testing.T) {
	x := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{1 << 10, 1 << 10}})
	taken := func(f func() error) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.NoError(t, f())
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(len(x.Data))
	}
	for _, axis := range []int{0, 1} {
		assert.Less(t, taken(func() error { _, _, err := (&quantizers.AbsMaxQuantizer{}).QuantizeArray(x, axis); return err }), 0.5, "of float32, axis %d", axis)
	}
	assert.Less(t, taken(func() error { _, err := quantizers.QuantizeGrouped(x, 32); return err }), 0.5, "of float32, in groups")
}
