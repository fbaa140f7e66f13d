package metrics_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/metrics"
)

// array returns a value in host memory.
func array(t testing.TB, d ir.DType, shape []int, values ...float64) kernels.Array {
	t.Helper()
	a, err := kernels.FromFloat64s(d, shape, values)
	require.NoError(t, err)
	return a
}

func fromVector(t testing.TB, a vectors.Array) kernels.Array {
	t.Helper()
	d, err := ir.ParseDType(a.DType)
	require.NoError(t, err)
	return array(t, d, a.Shape, a.Data...)
}

// mirrored returns a strategy of n logical CPU replicas.
func mirrored(t testing.TB, n int) distribute.Strategy {
	t.Helper()
	s, err := distribute.NewMirroredStrategy(processors(n)...)
	require.NoError(t, err)
	return s
}

func central(t testing.TB, n int) distribute.Strategy {
	t.Helper()
	s, err := distribute.NewCentralStorageStrategy(processors(n)...)
	require.NoError(t, err)
	return s
}

func processors(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("cpu:%d", i)
	}
	return names
}

// update feeds rows from to until-1.
func update(m metrics.Metric, t, p kernels.Array, w *kernels.Array, from, until int) error {
	if w != nil {
		part := w.Slice(from, until)
		w = &part
	}
	return metrics.UpdateState(m, t.Slice(from, until), p.Slice(from, until), w)
}

// resultOf returns the result and its shape.
func resultOf(t testing.TB, m metrics.Metric) ([]float64, []int) {
	t.Helper()
	a, err := metrics.ResultOf(m)
	require.NoError(t, err)
	return a.Float64s(), a.Type.Shape
}

// scalarOf returns a result that is a scalar.
func scalarOf(t testing.TB, m metrics.Metric) float64 {
	t.Helper()
	v, shape := resultOf(t, m)
	require.Empty(t, shape)
	return v[0]
}
