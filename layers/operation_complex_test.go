package layers_test

import (
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// TestComplexOperations: operations that accept complex numbers compute with both parts, also after a round trip
// through a document, and the others return errors.
func TestComplexOperations(t *testing.T) {
	abs, angle := keras.Input(keras.Shape(2), keras.InputName("size")), keras.Input(keras.Shape(2), keras.InputName("turn"))
	z := layers.Op("polar", abs, angle)
	names := []string{"real", "imag", "angle", "absolute", "view_as_real"}
	outputs := []*layers.KerasTensor{z, layers.Op("conj", z), layers.Op("imag", layers.Op("conjugate", z)), layers.Op("imag", layers.Op("view_as_complex", layers.Op("view_as_real", z)))}
	for _, name := range names {
		outputs = append(outputs, layers.Op(name, z))
	}
	m, err := keras.NewFunctional(keras.Inputs(abs, angle), keras.Outputs(outputs...))
	require.NoError(t, err)
	document, err := m.ToJSON()
	require.NoError(t, err)
	again, err := keras.ModelFromJSON(document)
	require.NoError(t, err)
	a, b := [][]float32{{1, 2}, {0.5, 3}}, [][]float32{{2, 3}, {-1, 0.25}}
	for _, m := range []*keras.Model{m, again} {
		out, err := m.PredictAll(t.Context(), data.Arrays([]any{a, b}, nil))
		require.NoError(t, err)
		for i := range 4 {
			w := cmplx.Rect(float64(a[i/2][i%2]), float64(b[i/2][i%2]))
			pair := func(k int) []float64 {
				v := out[k].Elements().([]float32)
				return []float64{float64(v[2*i]), float64(v[2*i+1])}
			}
			one := func(k int) float64 { return float64(out[k].Elements().([]float32)[i]) }
			assert.InDeltaSlice(t, []float64{real(w), imag(w)}, pair(0), 1e-6)
			assert.InDeltaSlice(t, []float64{real(w), imag(w)}, pair(8), 1e-6)
			assert.InDeltaSlice(t, []float64{real(w), -imag(w)}, pair(1), 1e-6)
			for k, want := range map[int]float64{2: -imag(w), 3: imag(w), 4: real(w), 5: imag(w), 6: cmplx.Phase(w), 7: cmplx.Abs(w)} {
				assert.InDelta(t, want, one(k), 1e-6, "output %d", k)
			}
		}
	}
	assert.ErrorContains(t, layers.Op("exp", z).Err(), "Exp does not take complex numbers; take their parts before")
	assert.ErrorContains(t, layers.Apply(&layers.Dense{Units: 2}, z).Err(), "Dense does not take complex numbers")
	assert.ErrorContains(t, layers.Op("view_as_complex", abs, 1).Err(), "view_as_complex")
	assert.ErrorContains(t, layers.Op("view_as_complex", keras.Input(keras.Shape(3))).Err(), "needs a last axis of 2")
}
