package applications_test

import (
	"encoding/json"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
)

// uniform is the generator of testdata/applications.py: n numbers in [-1, 1) from a name.
func uniform(key string, n int) []float64 {
	seed := crc32.ChecksumIEEE([]byte(key))
	out := make([]float64, n)
	for i := range out {
		x := uint32(i)*2654435761 + seed
		x ^= x >> 16
		x *= 0x7FEB352D
		x ^= x >> 15
		x *= 0x846CA68B
		x ^= x >> 16
		out[i] = float64(x>>8)/(1<<23) - 1
	}
	return out
}

// fill sets every weight by its formula, like the function of that name in testdata/applications.py.
func fill(t testing.TB, m *keras.Model, gain float64) {
	t.Helper()
	layers.Walk(m, func(l layers.Layer) {
		if len(layers.Sublayers(l)) > 0 {
			return
		}
		for _, v := range layers.Weights(l) {
			shape, n := v.Type().Shape, v.Size()
			u := uniform(layers.Name(l)+"/"+v.Name(), n)
			switch name := v.Name(); {
			case strings.HasSuffix(name, "kernel"):
				fan := n / shape[len(shape)-1]
				if name == "depthwise_kernel" || strings.Contains(layers.ClassName(l), "Depthwise") {
					fan = shape[0] * shape[1]
				}
				for i := range u {
					u[i] *= math.Sqrt(gain / float64(fan))
				}
			case name == "gamma" || strings.HasSuffix(name, "variance"):
				for i := range u {
					u[i] = 1 + float64(0.25*u[i])
				}
			case name == "count":
				continue
			default:
				for i := range u {
					u[i] *= 0.1
				}
			}
			a, err := kernels.FromFloat64s(v.Type().DType, shape, u)
			require.NoError(t, err)
			require.NoError(t, v.SetValue(a))
		}
	})
}

// inputsOf returns two images of bytes.
func inputsOf(m *keras.Model) data.Array {
	shape := append([]int{2}, m.Inputs()[0].Shape()[1:]...)
	n := 1
	for _, d := range shape {
		n *= d
	}
	x := make([]float32, n)
	for i, u := range uniform("input", n) {
		x[i] = float32(math.Floor((u + 1) * 128))
	}
	return data.Must(data.ArrayOf(x, shape...))
}

type predictionCase struct {
	Constructor string          `json:"constructor"`
	Arguments   json.RawMessage `json:"arguments"`
	Gain        float64         `json:"gain"`
	Shape       []int           `json:"shape"`
	Output      []float64       `json:"output"`
}

var families = map[string]applications.Family{
	"ResNet50": applications.ResNet, "ResNet50V2": applications.ResNetV2, "VGG16": applications.VGG16, "MobileNet": applications.MobileNet,
	"MobileNetV2": applications.MobileNetV2, "MobileNetV3Small": applications.MobileNetV3, "MobileNetV3Large": applications.MobileNetV3,
	"EfficientNetB0": applications.EfficientNet, "DenseNet121": applications.DenseNet, "EfficientNetV2B0": applications.EfficientNetV2,
	"EfficientNetV2S": applications.EfficientNetV2, "Xception": applications.Xception, "InceptionV3": applications.InceptionV3,
	"InceptionResNetV2": applications.InceptionResNetV2, "NASNetMobile": applications.NASNet, "ConvNeXtTiny": applications.ConvNeXt,
}

func (c predictionCase) build(t testing.TB, options func(*applications.Options), extra ...keras.Option) *keras.Model {
	t.Helper()
	var a arguments
	require.NoError(t, json.Unmarshal(c.Arguments, &a))
	o := a.options()
	if options != nil {
		options(&o)
	}
	m, err, known := construct(c.Constructor, a, o, extra...)
	require.True(t, known)
	require.NoError(t, err)
	return m
}

// TestPredictions compares the outputs of a model of each family with those of real Keras, for weights and images given
// by a formula: preprocessing, layers, and classifier.
func TestPredictions(t *testing.T) {
	var cases []predictionCase
	require.NoError(t, json.Unmarshal(unpack(t, "predictions.json"), &cases))
	for _, c := range cases {
		t.Run(c.Constructor, func(t *testing.T) {
			m := c.build(t, nil)
			fill(t, m, c.Gain)
			x, err := families[c.Constructor].PreprocessInput(inputsOf(m))
			require.NoError(t, err)
			y, err := m.Predict(t.Context(), data.Arrays(x, nil))
			require.NoError(t, err)
			require.Equal(t, c.Shape, []int(y.Shape()))
			near(t, c.Output, y.Elements().([]float32), 1e-5)
		})
	}
}

// near compares relative to the largest number.
func near(t testing.TB, want []float64, got []float32, tolerance float64) {
	t.Helper()
	require.Len(t, got, len(want))
	largest, worst, at := 0.0, 0.0, 0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for i, w := range want {
		d := math.Abs(w-float64(got[i])) / largest
		if math.IsNaN(d) {
			t.Fatalf("element %d is %g, Keras has %g", i, got[i], w)
		}
		if d > worst {
			worst, at = d, i
		}
	}
	if !(worst <= tolerance) {
		t.Errorf("the largest difference is %.3g of the largest number, %g: element %d is %g, Keras has %g", worst, largest, at, got[at], want[at])
	}
	t.Logf("largest difference: %.3g of the largest number", worst)
}
