package keras_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distillation"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// defaultDistillation trains a student with structs without values, and with the defaults of Keras's constructor.
func defaultDistillation(t *testing.T, class string, whole map[string]any) {
	run := func(d distillation.Distiller) (numbers []string, name string) {
		d.Teacher, d.Student = oneDense(t, "teacher"), oneDense(t, "student")
		m, err := distillation.New(d)
		require.NoError(t, err)
		require.NoError(t, m.Compile(keras.CompileConfig{Loss: "mse", Optimizer: "sgd"}))
		x, y := spread([]int{4, 3}, 1, ir.Float32), spread([]int{4, 5}, 2, ir.Float32)
		for range 2 {
			logs, err := m.TrainOnBatch(t.Context(), data.Arrays(x, y))
			require.NoError(t, err)
			numbers = append(numbers, fmt.Sprint(logs))
		}
		return append(numbers, fmt.Sprint(predicted(t, d.Student, x))), m.Name()
	}
	var bare, full distillation.Distiller
	logits := &distillation.LogitsDistillation{}
	bare.Losses, full.Losses = []distillation.Loss{logits}, []distillation.Loss{logits}
	switch class {
	case "Distiller":
		require.Nil(t, whole["distillation_loss_weights"])
		share := whole["student_loss_weight"].(float64)
		full.StudentLossWeight, full.LossWeights = &share, []float64{1}
	case "LogitsDistillation":
		full.Losses = []distillation.Loss{&distillation.LogitsDistillation{Temperature: whole["temperature"].(float64), Loss: whole["loss"].(string)}}
	case "FeatureDistillation":
		require.Nil(t, whole["teacher_layer_name"])
		require.Nil(t, whole["student_layer_name"])
		bare.Losses = []distillation.Loss{&distillation.FeatureDistillation{}}
		full.Losses = []distillation.Loss{&distillation.FeatureDistillation{Loss: whole["loss"].(string)}}
	default:
		require.Fail(t, "there is no "+class)
	}
	got, name := run(bare)
	want, _ := run(full)
	require.Equal(t, want, got)
	if class == "Distiller" {
		require.Equal(t, whole["name"], name)
	}
}

// oneDense is a model of one Dense layer, from 3 numbers to 5, whose initial weights depend on its name.
func oneDense(t *testing.T, name string) *keras.Model {
	t.Helper()
	in := keras.Input(keras.Shape(3), keras.InputName("x"))
	m, err := keras.NewFunctional(keras.Inputs(in), keras.Outputs(layers.Apply(&layers.Dense{Name: name, Units: 5}, in)), keras.Name(name))
	require.NoError(t, err)
	return m
}

func predicted(t *testing.T, m *keras.Model, x data.Array) []float32 {
	t.Helper()
	y, err := m.PredictAll(t.Context(), data.Arrays(x, nil))
	require.NoError(t, err)
	return y[0].Elements().([]float32)
}

// defaultQuantizer quantizes a model with a configuration without values, and with the defaults of Keras's constructor.
func defaultQuantizer(t *testing.T, c vectors.Case) {
	var whole map[string]any
	require.NoError(t, json.Unmarshal(c.Config, &whole))
	full := newQuantizer(t, c.Class)
	delete(whole, "quantization_layer_structure") // None: the layers of the model in their order
	if whole["axis"] == nil {
		delete(whole, "axis")
	}
	text, err := json.Marshal(whole)
	require.NoError(t, err)
	require.NoError(t, config.Decode(text, full))
	x := spread([]int{4, 3}, 1, ir.Float32)
	run := func(how any) []float32 {
		m := oneDense(t, "quantized")
		plain := predicted(t, m, x)
		switch q := how.(type) {
		case quantizers.Calibrator:
			rows := spread([]int{16, 3}, 3, ir.Float32)
			require.NoError(t, m.QuantizeWith(context.Background(), q, keras.Calibration{Data: data.Arrays(rows, nil)}))
		case *quantizers.AbsMaxQuantizer:
			require.NoError(t, m.Quantize(&quantizers.Int8QuantizationConfig{WeightQuantizer: q, ActivationQuantizer: q}))
		default:
			require.NoError(t, m.Quantize(how))
		}
		y := predicted(t, m, x)
		require.NotEqual(t, plain, y, "nothing was quantized")
		return y
	}
	require.Equal(t, run(full), run(newQuantizer(t, c.Class)))
}

func newQuantizer(t *testing.T, class string) any {
	switch class {
	case "AbsMaxQuantizer":
		return &quantizers.AbsMaxQuantizer{}
	case "AWQConfig":
		return &quantizers.AWQConfig{}
	case "GPTQConfig":
		return &quantizers.GPTQConfig{}
	case "Float8QuantizationConfig":
		return &quantizers.Float8QuantizationConfig{}
	case "Int8QuantizationConfig":
		return &quantizers.Int8QuantizationConfig{}
	case "Int4QuantizationConfig":
		return &quantizers.Int4QuantizationConfig{}
	}
	require.Fail(t, "there is no "+class)
	return nil
}
