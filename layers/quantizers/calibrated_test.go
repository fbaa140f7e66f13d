package quantizers_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// calibratedCase is Keras's result for a matrix; see testdata/calibrated.py.
type calibratedCase struct {
	Mode     string
	Settings json.RawMessage
	Kernel   []float64
	X        []float64
	Shape    []int // rows, inputs, outputs

	Values, Scale, Zero, Group, Saliency []float64
}

// statistics adds up rows of inputs.
func statistics(x []float64, inputs int) quantizers.Statistics {
	s := quantizers.Statistics{Rows: len(x) / inputs, Products: make([]float64, inputs*inputs), Magnitudes: make([]float64, inputs)}
	for r := range s.Rows {
		row := x[r*inputs:][:inputs]
		for i, a := range row {
			s.Magnitudes[i] = max(s.Magnitudes[i], math.Abs(a))
			for j, b := range row {
				s.Products[i*inputs+j] += a * b
			}
		}
	}
	return s
}

func configOf(t *testing.T, mode string, settings json.RawMessage) quantizers.Calibrator {
	t.Helper()
	class := map[string]string{"gptq": "GPTQConfig", "awq": "AWQConfig"}[mode]
	c, err := quantizers.Deserialize(json.RawMessage(fmt.Sprintf(`{"class_name":%q,"config":%s}`, class, settings)))
	require.NoError(t, err)
	require.Equal(t, mode, c.Mode())
	return c.(quantizers.Calibrator)
}

func quantizeCalibrated(c quantizers.Calibrator, w kernels.Array, s quantizers.Statistics) (quantizers.Calibrated, error) {
	if g, ok := c.(*quantizers.GPTQConfig); ok {
		return g.Quantize(w, s)
	}
	return c.(*quantizers.AWQConfig).Quantize(w, s)
}

// TestCalibratedMatricesAreThoseOfKeras compares integers, scales, zeros and groups.
func TestCalibratedMatricesAreThoseOfKeras(t *testing.T) {
	cases := recorded.JSON[[]calibratedCase](t, "testdata/calibrated.json.gz")
	require.NotEmpty(t, cases)
	for _, k := range cases {
		t.Run(fmt.Sprintf("%s/%d/%s", k.Mode, k.Shape[1], k.Settings), func(t *testing.T) {
			c := configOf(t, k.Mode, k.Settings)
			for i, v := range k.X {
				k.X[i] = float64(float32(v))
			}
			inputs, outputs := k.Shape[1], k.Shape[2]
			out, err := quantizeCalibrated(c, array(t, ir.Float32, ir.Shape{inputs, outputs}, k.Kernel...), statistics(k.X, inputs))
			require.NoError(t, err)
			near := func(what string, want []float64, got kernels.Array, slack float64) {
				require.Len(t, got.Float64s(), len(want), what)
				for i, v := range got.Float64s() {
					require.InDelta(t, want[i], v, slack*(1e-7+math.Abs(want[i])), "%s [%d]", what, i)
				}
			}
			near("scale", k.Scale, out.Scale, 2e-4)
			require.Equal(t, k.Zero, out.Zero.Float64s())
			require.Equal(t, k.Values, out.Values.Float64s())
			near("group", k.Group, out.Group, 1e-6)
			if k.Mode == "awq" {
				near("saliency", k.Saliency, out.Saliency, 1e-5)
			}
		})
	}
}

// TestCalibrationIsWorthIt: with correlated inputs the products are closer to those of the floats than without
// calibration.
func TestCalibrationIsWorthIt(t *testing.T) {
	const inputs, outputs, rows = 32, 8, 300
	wave := func(i, j int) float64 { return math.Sin(float64(i*37+j*11) + float64(i*j%7)) }
	w, x := make([]float64, inputs*outputs), make([]float64, rows*inputs)
	for i := range w {
		w[i] = wave(i/outputs, i%outputs)
	}
	for r := range rows {
		for i := range inputs {
			x[r*inputs+i] = wave(r, i%4) * math.Exp(float64(i%5)-2)
		}
	}
	s := statistics(x, inputs)
	plain := quantizers.Statistics{Rows: 1, Products: make([]float64, inputs*inputs), Magnitudes: make([]float64, inputs)}
	for i := range inputs {
		plain.Products[i*inputs+i], plain.Magnitudes[i] = 1, 1
	}
	for _, c := range []quantizers.Calibrator{&quantizers.GPTQConfig{GroupSize: 8}, &quantizers.AWQConfig{GroupSize: 8}} {
		loss := func(s quantizers.Statistics) (sum float64) {
			out, err := quantizeCalibrated(c, array(t, ir.Float32, ir.Shape{inputs, outputs}, w...), s)
			require.NoError(t, err)
			q, scale, zero, group := out.Values.Float64s(), out.Scale.Float64s(), out.Zero.Float64s(), out.Group.Float64s()
			for r := range rows {
				for j := range outputs {
					e := 0.0
					for i := range inputs {
						at := j*4 + int(group[i])
						v := (q[j*inputs+i] - zero[at]) * scale[at]
						if out.Saliency.Data != nil {
							v /= out.Saliency.Element(i)
						}
						e += x[r*inputs+i] * (v - w[i*outputs+j])
					}
					sum += e * e
				}
			}
			return sum
		}
		assert.Less(t, loss(s), 0.8*loss(plain), c.Mode())
	}
}

func TestWhatCannotBeCalibrated(t *testing.T) {
	w := array(t, ir.Float32, ir.Shape{2, 2}, 1, 2, 3, 4)
	s := statistics([]float64{1, 2, 3, 4, 5, 7}, 2)
	refused := func(want string, c quantizers.Calibrator, w kernels.Array, s quantizers.Statistics) {
		t.Helper()
		_, err := quantizeCalibrated(c, w, s)
		assert.ErrorContains(t, err, want)
	}
	half := 0.5
	big := 1.5
	refused("WeightBits must be 2, 3, 4 or 8, received 5", &quantizers.GPTQConfig{WeightBits: 5}, w, s)
	refused("HessianDamping must be between 0 and 1, received 1.5", &quantizers.GPTQConfig{HessianDamping: &big}, w, s)
	refused("GroupSize must be positive", &quantizers.GPTQConfig{GroupSize: -2, HessianDamping: &half}, w, s)
	refused("Samples must be positive", &quantizers.AWQConfig{Samples: -1}, w, s)
	refused("SequenceLength must be positive", &quantizers.AWQConfig{SequenceLength: -1}, w, s)
	refused("GridPoints must be between", &quantizers.AWQConfig{GridPoints: -1}, w, s)
	refused("WeightBits must be 4, received 8", &quantizers.AWQConfig{WeightBits: 8}, w, s)
	for _, c := range []quantizers.Calibrator{&quantizers.GPTQConfig{}, &quantizers.AWQConfig{}} {
		refused("a matrix of a float type", c, array(t, ir.Int8, ir.Shape{2, 2}, 1, 2, 3, 4), s)
		refused("calibration saw no inputs", c, w, quantizers.Statistics{Products: make([]float64, 4), Magnitudes: make([]float64, 2)})
		refused("calibration saw inputs of 2 features", c, array(t, ir.Float32, ir.Shape{1, 2}, 1, 2), s)
		refused("the matrix holds NaN", c, array(t, ir.Float32, ir.Shape{2, 2}, 1, math.NaN(), 3, 4), s)
	}
	none := 0.0
	refused("set HessianDamping above 0", &quantizers.GPTQConfig{HessianDamping: &none}, w, statistics([]float64{1, 2, 2, 4}, 2))
	refused("no square matrix", &quantizers.GPTQConfig{}, w, quantizers.Statistics{Rows: 1, Products: make([]float64, 3)})
	refused("calibration saw the input +Inf in feature 1", &quantizers.AWQConfig{}, w, quantizers.Statistics{Rows: 1, Magnitudes: []float64{1, math.Inf(1)}})
	_, err := quantizers.Resolve("gptq")
	assert.ErrorContains(t, err, "calibrates with data; call QuantizeWith")
}
