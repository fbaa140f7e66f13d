package applications_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/applications"
)

// BenchmarkNewResNet50 measures how long it takes to put a large model together, without initial values.
func BenchmarkNewResNet50(b *testing.B) {
	for b.Loop() {
		_, err := applications.NewResNet50(applications.Options{})
		require.NoError(b, err)
	}
}

// BenchmarkFirstPredict measures the first prediction of a new model: initial values, compilation and one image of
// 224x224.
func BenchmarkFirstPredict(b *testing.B) {
	x := data.Must(data.Zeros[float32](1, 224, 224, 3))
	for b.Loop() {
		m, err := applications.NewResNet50(applications.Options{})
		require.NoError(b, err)
		_, err = m.Predict(b.Context(), data.Arrays(x, nil))
		require.NoError(b, err)
	}
}

// BenchmarkPredict measures further predictions of one image.
func BenchmarkPredict(b *testing.B) {
	x := data.Must(data.Zeros[float32](1, 224, 224, 3))
	m, err := applications.NewResNet50(applications.Options{})
	require.NoError(b, err)
	_, err = m.Predict(b.Context(), data.Arrays(x, nil))
	require.NoError(b, err)
	for b.Loop() {
		_, err = m.Predict(b.Context(), data.Arrays(x, nil))
		require.NoError(b, err)
	}
}
