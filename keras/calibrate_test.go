package keras_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
	"github.com/gokeras/gokeras/optimizers"
)

// calibratedModel is the result of Keras's GPTQ or AWQ for a model; see testdata/calibration.py.
type calibratedModel struct {
	Name          string
	Config        json.RawMessage
	Before, After string
	X, Predicted  recordedArray
	Examples      recordedArray
	Weights       []recordedArray
	Names         []string
}

func calibratedModels(t *testing.T) []calibratedModel {
	t.Helper()
	cases := recorded.JSON[[]calibratedModel](t, "testdata/calibration.json.gz")
	require.NotEmpty(t, cases)
	return cases
}

// TestCalibratedModelsAreThoseOfKeras opens what Keras calibrated, calibrates the same model, and compares weights,
// predictions and files.
func TestCalibratedModelsAreThoseOfKeras(t *testing.T) {
	for _, c := range calibratedModels(t) {
		t.Run(c.Name, func(t *testing.T) {
			how, err := quantizers.Deserialize(c.Config)
			require.NoError(t, err)
			m := readBase64(t, c.Before)
			stack := m.Layers()
			require.NoError(t, m.QuantizeWith(t.Context(), how.(quantizers.Calibrator), keras.Calibration{Data: data.Arrays(c.Examples.dense(), nil), Before: stack[:1], Blocks: stack[1:3]}))
			var names []string
			for _, v := range m.Weights() {
				names = append(names, v.Path())
			}
			require.Equal(t, lastTwo(c.Names), lastTwo(names))
			arrays, err := m.GetWeights()
			require.NoError(t, err)
			requireGrids(t, c.Weights, arrays, names)
			y, err := m.Predict(t.Context(), data.Arrays(c.X.dense(), nil))
			require.NoError(t, err)
			for i, v := range y.Elements().([]float32) {
				require.InDelta(t, c.Predicted.Values[i], v, 0.02*(1+math.Abs(c.Predicted.Values[i])), "[%d]", i)
			}

			file := t.TempDir() + "/model.keras"
			require.NoError(t, m.Save(file))
			if path := os.Getenv("GOKERAS_WRITE_CALIBRATED"); path != "" {
				require.NoError(t, m.Save(path+"/"+c.Name+".keras"))
			}
			again, err := keras.LoadModel(file)
			require.NoError(t, err)
			requireSameFile(t, m, again)

			// Keras 3.15.1 leaves the zeros out of its files, and cannot open them itself.
			written, err := base64.StdEncoding.DecodeString(c.After)
			require.NoError(t, err)
			_, err = keras.ReadModel(bytes.NewReader(written), int64(len(written)))
			require.ErrorContains(t, err, "Keras 3.15 leaves the zeros of the modes gptq and awq out of files")

			require.NoError(t, again.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "mse"}))
			zeros := shaped(make([]float32, 5*6*4), 5, 6, 4)
			before, err := again.TrainOnBatch(t.Context(), data.Arrays(c.X.dense(), zeros))
			require.NoError(t, err)
			for range 20 {
				_, err = again.TrainOnBatch(t.Context(), data.Arrays(c.X.dense(), zeros))
				require.NoError(t, err)
			}
			after, err := again.TrainOnBatch(t.Context(), data.Arrays(c.X.dense(), zeros))
			require.NoError(t, err)
			require.Less(t, after["loss"], before["loss"], "biases are trained")
		})
	}
}

// requireGrids compares weights with those of Keras. A few numbers may be neighbours, because float32 rounding decides
// about values in the middle.
func requireGrids(t *testing.T, want []recordedArray, got []kernels.Array, names []string) {
	t.Helper()
	for i, w := range want {
		require.Equal(t, w.Shape, []int(got[i].Type.Shape), names[i])
		require.Equal(t, w.DType, got[i].Type.DType.String(), names[i])
		other := 0
		for k, v := range got[i].Float64s() {
			if w.DType != "float32" {
				if v != w.Values[k] {
					other++
				}
				continue
			}
			require.InDelta(t, w.Values[k], v, 2e-3*(1e-3+math.Abs(w.Values[k])), "%s [%d]", names[i], k)
		}
		require.LessOrEqual(t, other, 1+len(w.Values)/30, names[i])
	}
}

// projection calls one layer twice, and another only on request.
type projection struct {
	layers.Base
	Twice, Never *layers.Dense
}

func (p *projection) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	if in[0].Rank() == 7 {
		return []*ops.Tensor{layers.Invoke(p.Never, c, in[0])}
	}
	return []*ops.Tensor{ops.Add(layers.Invoke(p.Twice, c, in[0]), layers.Invoke(p.Twice, c, ops.MultiplyScalar(in[0], 10)))}
}

// denseCell computes each step with a Dense layer.
type denseCell struct {
	layers.Base
	Dense *layers.Dense
}

func (d *denseCell) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	return layers.ForwardCell(c, d, in)
}

func (d *denseCell) StateSizes() []int { return []int{d.Dense.Units} }
func (d *denseCell) OutputSize() int   { return d.Dense.Units }
func (d *denseCell) Start(c *layers.Context, _ int) layers.CellRun {
	return layers.CellRun{Step: func(x *ops.Tensor, states []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
		y := ops.Add(layers.Invoke(d.Dense, c, x), states[0])
		return y, []*ops.Tensor{y}
	}}
}
func (d *denseCell) Build(b *layers.Builder, in []ir.Shape) {
	b.Adopt(d.Dense)
	b.BuildMember(d.Dense, in[0])
}

// TestCalibrationOfWholeModels: without blocks a Sequential model is calibrated layer by layer, and another model as
// one.
func TestCalibrationOfWholeModels(t *testing.T) {
	x := data.Must(data.Zeros[float32](60, 8))
	for i := range x.Elements().([]float32) {
		x.Elements().([]float32)[i] = float32(math.Sin(float64(i * i % 61)))
	}
	functional := func() *keras.Model {
		a, b := keras.Input(keras.Shape(8)), keras.Input(keras.Shape(8))
		hidden := layers.Apply(&layers.Dense{Units: 16, Activation: "relu"}, layers.Apply(&layers.Concatenate{}, a, b))
		m, err := keras.NewFunctional(keras.Inputs(a, b), keras.Outputs(layers.Apply(&layers.Dense{Units: 2}, hidden), layers.Apply(&layers.Dense{Units: 3}, hidden)))
		require.NoError(t, err)
		return m
	}
	stack := func(members ...layers.Layer) *keras.Model {
		m, err := keras.NewSequential(members, keras.InputShape(8))
		require.NoError(t, err)
		return m
	}
	for name, c := range map[string]struct {
		m *keras.Model
		x any
	}{
		"sequential":    {stack(&layers.Dense{Units: 16, Activation: "relu"}, &layers.Dropout{Rate: 0.5}, &layers.Dense{Units: 3}), x},
		"functional":    {functional(), []data.Array{x, x}},
		"called twice":  {stack(&projection{Twice: &layers.Dense{Units: 5}}), x},
		"normalization": {stack(&layers.BatchNormalization{}, &layers.Dense{Units: 5}), x},
	} {
		t.Run(name, func(t *testing.T) {
			source := data.Arrays(c.x, nil)
			want, err := c.m.PredictAll(t.Context(), source)
			require.NoError(t, err)
			batches := source.Elements().Batch(7, false)
			require.NoError(t, c.m.QuantizeWith(t.Context(), &quantizers.GPTQConfig{GroupSize: 8, WeightBits: 8}, keras.Calibration{Data: batches}))
			got, err := c.m.PredictAll(t.Context(), source)
			require.NoError(t, err)
			for i := range want {
				requireNear(t, want[i], got[i], 0.1)
				require.NotEqual(t, want[i].Elements(), got[i].Elements())
			}
		})
	}
}

func requireNear(t *testing.T, want, got data.Array, slack float64) {
	t.Helper()
	for i, v := range want.Elements().([]float32) {
		require.InDelta(t, v, got.Elements().([]float32)[i], slack)
	}
}

func TestModelsThatCannotBeCalibrated(t *testing.T) {
	made := func(members ...layers.Layer) *keras.Model {
		m, err := keras.NewSequential(members, keras.InputShape(3, 4))
		require.NoError(t, err)
		return m
	}
	dense := func() *keras.Model { return made(&layers.Dense{Units: 3}) }
	x := data.Arrays(data.Must(data.ArrayOf(slices.Repeat([]float32{1, 2, 3}, 20), 5, 3, 4)), nil)
	refused := func(want string, m *keras.Model, c keras.Calibration, filters ...func(layers.Layer) bool) {
		t.Helper()
		require.ErrorContains(t, m.QuantizeWith(t.Context(), &quantizers.AWQConfig{}, c, filters...), want)
	}
	refused("nothing to calibrate with; set Data", dense(), keras.Calibration{})
	refused("both Tokens and Data", dense(), keras.Calibration{Data: x, Tokens: []int32{1}})
	refused("no Blocks", dense(), keras.Calibration{Data: x, Before: []layers.Layer{&layers.Dense{Units: 3}}})
	refused("the filters leave none", dense(), keras.Calibration{Data: x}, func(layers.Layer) bool { return false })
	refused("block 0 is nil", dense(), keras.Calibration{Data: x, Blocks: []layers.Layer{nil}})
	refused("cannot be calibrated", made(&layers.EinsumDense{Equation: "abc,cde->abde", OutputShape: []int{-1, 5, 6}}), keras.Calibration{Data: x})
	refused("last axis has length 4", dense(), keras.Calibration{Data: data.Arrays(shaped(make([]float32, 15), 5, 3), nil)})
	refused("is called in a loop", made(&layers.TimeDistributed{Layer: &layers.Dense{Units: 2}}, &layers.RNN{Cell: &denseCell{Dense: &layers.Dense{Units: 2}}}), keras.Calibration{Data: x})
	require.ErrorContains(t, dense().Quantize("awq"), "calibrates with data; call QuantizeWith")
	require.ErrorContains(t, dense().Quantize(&quantizers.GPTQConfig{}), "call QuantizeWith of the model")
	m := dense()
	require.NoError(t, m.QuantizeWith(t.Context(), &quantizers.AWQConfig{}, keras.Calibration{Data: x}))
	refused("is quantized already (awq/4/128_from_float32)", m, keras.Calibration{Data: x})
	require.ErrorContains(t, m.Layers()[0].(layers.LoraEnabler).EnableLora(2), "does not go with LoRA")
	unbuilt, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 3}})
	require.NoError(t, err)
	refused("build it first", unbuilt, keras.Calibration{Data: x})
}
