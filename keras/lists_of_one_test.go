package keras_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
)

// A file of an earlier version, in which the member of a list of one (of a StackedRNNCells, of a Pipeline, of a
// Pipeline in a Pipeline) is not in a list, gives the predictions of that version, also when it is written again.
func TestListsOfOneOfEarlierVersions(t *testing.T) {
	x := data.Must(data.ArrayOf([]float32{0.5, -1, 2, 1, 0.25, -0.75}, 1, 2, 3))
	path := "testdata/lists_of_one.keras"
	for range 2 {
		m, err := keras.LoadModel(path)
		require.NoError(t, err)
		y, err := m.PredictAll(t.Context(), data.Arrays(x, nil))
		require.NoError(t, err)
		require.InDeltaSlice(t, []float64{-0.4673144519329071, 0.1291864514350891, -0.3012736141681671, 0.12997332215309143}, y[0].Float64s(), 1e-6)
		path = t.TempDir() + "/again.keras"
		require.NoError(t, m.Save(path))
	}
}
