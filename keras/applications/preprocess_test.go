package applications_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/applications"
	"github.com/gokeras/gokeras/layers"
)

type preprocessing struct {
	Cases []struct {
		Mode        applications.Mode `json:"mode"`
		DataFormat  layers.DataFormat `json:"data_format"`
		Shape       []int             `json:"shape"`
		DType       string            `json:"dtype"`
		Input       []float64         `json:"input"`
		OutputDType string            `json:"output_dtype"`
		Output      []float64         `json:"output"`
	} `json:"cases"`
	Graphs []struct {
		Mode       applications.Mode `json:"mode"`
		DataFormat layers.DataFormat `json:"data_format"`
		Shape      []int             `json:"shape"`
		Config     any               `json:"config"`
		Output     []float64         `json:"output"`
	} `json:"graphs"`
	Decoded [][][3]any `json:"decoded"`
}

func readPreprocessing(t testing.TB) (p preprocessing) {
	t.Helper()
	require.NoError(t, json.Unmarshal(unpack(t, "preprocessing.json"), &p))
	return p
}

func converted[T uint8 | float32 | float64 | int | int32 | int64](in []float64) []T {
	out := make([]T, len(in))
	for i, x := range in {
		out[i] = T(x)
	}
	return out
}

// TestPreprocessInput compares every mode, data format, rank and type with real Keras, bit for bit.
func TestPreprocessInput(t *testing.T) {
	for _, c := range readPreprocessing(t).Cases {
		var backing any
		switch c.DType {
		case "float32":
			backing = converted[float32](c.Input)
		case "float64":
			backing = append([]float64(nil), c.Input...)
		case "uint8":
			backing = converted[uint8](c.Input)
		}
		x := data.Must(data.Must(data.ToArray(backing)).Reshape(c.Shape...))
		before := x.Clone()
		y, err := applications.PreprocessInput(x, applications.PreprocessOptions{Mode: c.Mode, DataFormat: c.DataFormat})
		require.NoError(t, err)
		assert.Equal(t, c.Shape, []int(y.Shape()))
		var want any = c.Output
		if c.OutputDType == "float32" {
			want = converted[float32](c.Output)
		}
		assert.Equal(t, want, y.Elements(), "%s %s %v %s", c.Mode, c.DataFormat, c.Shape, c.DType)
		assert.Equal(t, before.Elements(), x.Elements(), "the images were written over")
	}
}

// TestPreprocessInputOfViews: a row of a batch is prepared alone, and every type of numbers is taken.
func TestPreprocessInputOfViews(t *testing.T) {
	numbers := make([]float32, 24)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	x := data.Must(data.ArrayOf(numbers, 2, 2, 2, 3))
	y, err := applications.PreprocessInput(x.Row(1), applications.PreprocessOptions{Mode: applications.AsIs})
	require.NoError(t, err)
	assert.Equal(t, numbers[12:], y.Elements())
	for name, backing := range map[string]any{"int": converted[int]([]float64{0, 255, 51}), "int32": converted[int32]([]float64{0, 255, 51}), "int64": converted[int64]([]float64{0, 255, 51})} {
		y, err := applications.MobileNet.PreprocessInput(data.Must(data.Must(data.ToArray(backing)).Reshape(1, 1, 3)))
		require.NoError(t, err, name)
		assert.Equal(t, []float32{-1, 1, float32(51)/127.5 - 1}, y.Elements(), name)
	}
}

func TestPreprocessInputErrors(t *testing.T) {
	image := data.Must(data.Zeros[float32](1, 2, 2, 3))
	for _, c := range []struct {
		x    data.Array
		o    applications.PreprocessOptions
		want string
	}{
		{data.Array{}, applications.PreprocessOptions{}, "the zero Array"},
		{image, applications.PreprocessOptions{Mode: "cafe"}, `Mode must be "caffe", "tf", "torch" or "as_is", received "cafe"`},
		{image, applications.PreprocessOptions{DataFormat: "last"}, `DataFormat must be "channels_first" or "channels_last", received "last"`},
		{image, applications.PreprocessOptions{DataFormat: layers.ChannelsFirst}, `mode "caffe" is for 3 channels, received 2 in the shape (1, 2, 2, 3)`},
		{data.Must(data.Zeros[float32](2, 3)), applications.PreprocessOptions{}, "three axes, or four with the batch, received the shape (2, 3)"},
		{data.Must(data.Zeros[bool](2, 2, 3)), applications.PreprocessOptions{}, "images of bool cannot be prepared"},
	} {
		_, err := applications.PreprocessInput(c.x, c.o)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "applications: PreprocessInput: ")
	}
}

func TestFamilies(t *testing.T) {
	assert.Equal(t, "resnet_v2", applications.ResNetV2.String())
	assert.Equal(t, applications.TF, applications.ResNetV2.Mode())
}
