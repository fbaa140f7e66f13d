package applications_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/applications"
)

// exchanged are the models of the test below: those of moderate size.
var exchanged = []string{"ResNet50V2", "MobileNet", "MobileNetV2", "MobileNetV3Small", "EfficientNetB0", "EfficientNetV2B0", "DenseNet121", "NASNetMobile", "ConvNeXtTiny"}

// TestKerasExchangesWeights gives weights to real Keras and takes weights from it, of a model of most families and in
// each kind of file: .weights.h5, .keras and the .h5 of Keras 2, which is that of the published weights. Both predict
// the same.
func TestKerasExchangesWeights(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras: set GOKERAS_PYTHON to a Python that has it")
	}
	var cases []predictionCase
	require.NoError(t, json.Unmarshal(unpack(t, "predictions.json"), &cases))
	cases = slices.DeleteFunc(cases, func(c predictionCase) bool { return !slices.Contains(exchanged, c.Constructor) })
	require.Len(t, cases, len(exchanged))
	folder := t.TempDir()
	predict := func(m *keras.Model) []float32 {
		y, err := m.Predict(t.Context(), data.Arrays(inputsOf(m), nil))
		require.NoError(t, err)
		return y.Elements().([]float32)
	}
	read := func(i int, name string) []float64 {
		y, err := data.LoadNPY(filepath.Join(folder, fmt.Sprint(i, ".", name)))
		require.NoError(t, err)
		return widened(y)
	}
	at := func(i int, name string) string { return filepath.Join(folder, fmt.Sprint(i, ".", name)) }
	var ours [][]float32
	for i, c := range cases {
		cases[i].Output = nil
		m := c.build(t, nil)
		fill(t, m, c.Gain)
		ours = append(ours, predict(m))
		require.NoError(t, m.SaveWeights(at(i, "go.weights.h5")))
		require.NoError(t, m.Save(at(i, "go.keras")))
	}
	list, err := json.Marshal(cases)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cases.json"), list, 0o600))
	out, err := exec.Command(python, "testdata/applications.py", "exchange", folder).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for i, c := range cases {
		t.Run(c.Constructor, func(t *testing.T) {
			near(t, read(i, "go.npy"), ours[i], 1e-5)
			near(t, read(i, "opened.npy"), ours[i], 1e-5)
			want := read(i, "npy")
			for _, form := range []string{"weights.h5", "keras", "legacy.h5"} {
				near(t, want, predict(c.build(t, func(o *applications.Options) { o.Weights = at(i, form) })), 1e-5)
			}
			m, err := keras.LoadModel(at(i, "keras"))
			require.NoError(t, err)
			near(t, want, predict(m), 1e-5)
		})
	}
}

func widened(y data.Array) []float64 {
	in := y.Elements().([]float32)
	out := make([]float64, len(in))
	for i, x := range in {
		out[i] = float64(x)
	}
	return out
}
