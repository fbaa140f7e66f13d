package keras

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

const wideRow = leastLent / 4 // numbers of an example: one is large enough to be written in place

// largeOutputs is a model of x+1, 7, x, and the sum of x, the last one of which is small.
func largeOutputs(t *testing.T) *Model {
	t.Helper()
	in := Input(Shape(wideRow))
	plus := &layers.Rescaling{Scale: []float64{1}, Offset: []float64{1}}
	sevens := &layers.Lambda{Function: func(x *ops.Tensor) *ops.Tensor { return ops.FullLike(x, 7) }}
	sum := &layers.Dense{Units: 1, KernelInitializer: "ones"}
	m, err := NewFunctional(Inputs(in), Outputs(layers.Apply(plus, in), layers.Apply(sevens, in), in, layers.Apply(sum, in)))
	require.NoError(t, err)
	return m
}

func wideExamples(n int) []float32 {
	x := make([]float32, n*wideRow)
	for i := range x {
		x[i] = float32(i%101 + i/wideRow)
	}
	return x
}

func requireLargeOutputs(t *testing.T, x []float32, got []data.Array) {
	t.Helper()
	sums := make([]float32, len(x)/wideRow)
	for i, v := range x {
		sums[i/wideRow] += v // whole numbers below 2^24
		if data.Values[float32](got[0])[i] != v+1 || data.Values[float32](got[1])[i] != 7 || data.Values[float32](got[2])[i] != v {
			require.Fail(t, fmt.Sprint("number ", i))
		}
	}
	require.Equal(t, sums, data.Values[float32](got[3]))
}

// TestLargeOutputsInPlace: large outputs are computed in the memory of the results, of every kind of call, and the
// program's own memory is not touched.
func TestLargeOutputsInPlace(t *testing.T) {
	m := largeOutputs(t)
	for _, n := range []int{1, 3, 7} {
		x := wideExamples(n)
		a := data.Arrays(data.Must(data.ArrayOf(x, n, wideRow)), nil)
		for _, size := range []int{2, 3, 100} { // whole batches, and a last one of fewer
			got, err := m.PredictAll(t.Context(), a, BatchSize(size))
			require.NoError(t, err)
			requireLargeOutputs(t, x, got)
		}
		got := newResults(t, m.mustPredictAll(t, a, n))
		for range 2 {
			require.NoError(t, m.PredictOnBatchInto(t.Context(), a, got...))
			requireLargeOutputs(t, x, got)
		}
	}
	for _, f := range m.predictions.binders.held {
		for i := range 2 {
			memory := f.inst.Output(0, i).Bytes()
			require.Equal(t, len(memory), bytes.Count(memory, []byte{0}), "output %d was not computed in place", i)
		}
	}
	require.NotEmpty(t, m.predictions.binders.held)
}

func (m *Model) mustPredictAll(t *testing.T, a *data.ArraySource, n int) []data.Array {
	all, err := m.PredictAll(t.Context(), a, BatchSize(n))
	require.NoError(t, err)
	return all
}

// TestResultsThatAreInputs: an array that is both an example and a result is read before it is written. An array given
// for two results holds the last output.
func TestResultsThatAreInputs(t *testing.T) {
	m := largeOutputs(t)
	x := wideExamples(3)
	array := data.Must(data.ArrayOf(slices.Clone(x), 3, wideRow))
	a := data.Arrays(array, nil)
	got := newResults(t, m.mustPredictAll(t, a, 3))
	got[0] = array
	require.NoError(t, m.PredictOnBatchInto(t.Context(), a, got...))
	requireLargeOutputs(t, x, got)

	copy(data.Values[float32](array), x)
	got[0] = got[1]
	require.NoError(t, m.PredictOnBatchInto(t.Context(), a, got...))
	require.False(t, slices.ContainsFunc(data.Values[float32](got[1]), func(v float32) bool { return v != 7 }))
}

// TestLargeOutputsAllocateNothing: writing them in place does not allocate either.
func TestLargeOutputsAllocateNothing(t *testing.T) {
	m := largeOutputs(t)
	a := data.Arrays(data.Must(data.ArrayOf(wideExamples(3), 3, wideRow)), nil)
	got := m.mustPredictAll(t, a, 3)
	var err error
	assert.Zero(t, testing.AllocsPerRun(20, func() { err = m.PredictOnBatchInto(t.Context(), a, got...) }))
	require.NoError(t, err)
}
